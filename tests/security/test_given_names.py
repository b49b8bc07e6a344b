"""Nobody may hide ordinary words in what others say, by calling them names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.marking import hiding
from tongyao.app.errors import BadInput
from tongyao.app.messaging.given_names import MOST_GIVEN, check_names
from tongyao.protocol.identity.listed import problem_with_listed
from tongyao.protocol.identity.marks import Hidden, Marker, forms_to_hide
from tongyao.protocol.model.tension import NameFound, Tension

__all__ = ["gateway"]

WORDS = (
    "work on Sundays", "Work On Sundays", "Sundays", "Working", "kein Geld", "nur mit Vertrag", "3000", "lathe", "not", "Money",
    "不收钱", "周日不来", "高价格", "小时", "合同", "签合同", "三千块", "车床", "没有钱", "只要合同",
)  # fmt: skip
NAMES = (
    "Ada Pell", "Uncle Bob", "Dr. Orr", "Will Marsh", "Jean-Luc Ó Briain", "Nguyễn Văn An", "Saskia de Winter-Peng", "Ольга Ким", "김민수",
    "王小明", "欧阳娜娜", "祁永年", "常海燕", "老宋", "张师傅", "阿芳", "阿依古丽", "李默",
)  # fmt: skip
FIRMS = ("Vessel Works", "Low Pump House", "Cooper & Sons", "小石榴幼儿园", "恒泰建材公司", "老张修车铺")
NO_FIRMS = ("Work On Sundays", "No Contract Pumps", "Good Work", "不去医院", "医院", "收钱")


@pytest.mark.parametrize("word", WORDS)
def test_ordinary_words_are_hidden_in_texts_of_whoever_confirmed_them_only(word: str) -> None:
    """The attack: `work on Sundays` made a participant's "I will not work on Sundays" read "I will not [person 3]"."""
    assert problem_with_listed(NameFound(name=word), "I want bread. 我要面包。"), "it stands nowhere"
    text = f"I want {word.lower()}. {word.lower().capitalize()} it is. 我要{word.lower()}吧。"
    assert hiding(word).text(text) == text
    if any(char.isalpha() for char in word):
        assert word not in hiding(word, confirmed=[word]).text(f"I want {word}. 我要{word}吧。")


@pytest.mark.parametrize("word", ["Young", "Cook", "Baker", "Will"])
def test_a_word_that_is_a_name_too_is_hidden_in_other_texts_inside_a_sentence_with_a_capital(word: str) -> None:
    text = f"{word} people came. I asked {word} about {word.lower()} people."
    assert hiding(word).text(text) == f"{word} people came. I asked [person 1] about {word.lower()} people."


def test_who_joins_under_a_name_that_was_an_ordinary_word_so_far_is_hidden_everywhere() -> None:
    """A given name that somebody confirmed of a text of theirs is then the name of somebody who is there."""
    confirmed = Hidden().with_forms(forms_to_hide(Hidden(), [[NameFound(name="慧芳")]]))
    assert Marker(confirmed).text("我问了慧芳。") == "我问了慧芳。"
    joined = confirmed.with_forms(forms_to_hide(confirmed, [[NameFound(name="李慧芳")]], identities=True))
    assert Marker(joined).text("我问了慧芳。") == "我问了[某人 1]。"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("约翰·米勒", "我和约翰·米勒先生、约翰•米勒说过。", "我和[某人 1]先生、[某人 1]说过。"),
        ("阿May", "我和阿May说过。", "我和[某人 1]说过。"),
        ("Lisa姐", "谢谢Lisa姐帮忙。", "谢谢[person 1]帮忙。"),
    ],
)
def test_a_name_in_two_scripts_or_with_a_point_is_found_inside_a_sentence(name: str, text: str, shown: str) -> None:
    assert hiding(name, confirmed=[name]).text(text) == shown


@pytest.mark.parametrize("name", NAMES)
def test_real_names_can_be_hidden(name: str) -> None:
    assert problem_with_listed(NameFound(name=name), f"I asked {name}. 我问过{name}。") == ""


@pytest.mark.parametrize("name", FIRMS)
def test_real_firms_can_be_hidden(name: str) -> None:
    assert problem_with_listed(NameFound(name=name, kind="firm"), f"I asked {name}. 我问过{name}。") == ""


@pytest.mark.parametrize("name", NO_FIRMS)
def test_sentences_are_no_firms(name: str) -> None:
    assert problem_with_listed(NameFound(name=name, kind="firm"), f"{name}. {name}。")


@pytest.mark.parametrize(
    ("name", "text"), [("Ada Pell", "Ada Pellow"), ("Ada", "Canada"), ("王小明", "王小"), ("Bo", "I want bread.")]
)
def test_a_name_that_does_not_stand_in_the_demanders_texts_is_refused(name: str, text: str) -> None:
    assert "stands" in problem_with_listed(NameFound(name=name), text)


async def test_a_process_cannot_be_started_with_names_that_stand_nowhere(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    kim, jo, mo = [await gateway.join(scene, name=f"{one} Example") for one in ("Kim", "Jo", "Mo")]

    def body(
        *names: str, intent: str = "I want bread baked, and somebody to work on Sundays with Ada Pell."
    ) -> dict[str, Any]:
        return {
            "intent": intent,
            "tension": {"transition": "to bake rye bread", "names": [{"name": name} for name in names]},
            "participants": [{"profile_id": one["profile_id"], "endpoint": "human"} for one in (jo, mo)],
        }

    refused = await gateway.ask("POST", "/processes", kim["token"], json=body("Ada Pell", "Ada Pellow"))
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (
        422,
        "not_a_name",
        "tension.names[1]",
    )
    absent = await gateway.ask("POST", "/processes", kim["token"], json=body("Rosa Lund"))
    assert (absent.status_code, absent.json()["code"]) == (422, "not_a_name")
    many = [f"Ada {'Pell' + 'abcdefghijklmnopqrstu'[number]}" for number in range(MOST_GIVEN + 1)]
    too_many = await gateway.ask("POST", "/processes", kim["token"], json=body(*many, intent=" ".join(many)))
    assert (too_many.status_code, too_many.json()["code"]) == (422, "too_many_names")

    started = await gateway.ask("POST", "/processes", kim["token"], json=body("Ada Pell"))
    assert started.status_code == 201, started.text
    pid = started.json()["id"]
    await gateway.stack.until(pid, "confirming")
    for said, expected in ((["Ada Pell"], 200), (["Ada Pell", "Baker Rye"], 422), (["rye breads"], 422)):
        revised = {"kind": "revise_tension", "tension": body(*said)["tension"]}
        answer = await gateway.ask("POST", f"/processes/{pid}/messages", kim["token"], json=revised)
        assert answer.status_code == expected, answer.text


async def test_a_name_that_was_found_stays_wherever_it_stands() -> None:
    tension = Tension(transition="to work with a bird at the mill", names=(NameFound(name="Wren"),))
    await check_names(tension.names, found=tension.names, texts=(), tension=tension)
    with pytest.raises(BadInput):
        await check_names(tension.names, found=(), texts=(), tension=tension)


async def test_nobody_else_learns_by_a_refused_name_what_stands_in_an_intent(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    kim, jo, mo = [await gateway.join(scene) for _ in range(3)]
    said = {
        "intent": "I want bread of Ada Pell.",
        "participants": [{"profile_id": one["profile_id"], "endpoint": "human"} for one in (jo, mo)],
        "settings": {"auto_confirm": True},
    }
    pid = (await gateway.ask("POST", "/processes", kim["token"], json=said)).json()["id"]
    await gateway.stack.until(pid, "crystallizing")
    for name in ("Ada Pell", "Rosa Lund"):
        revised = {"kind": "revise_tension", "tension": {"transition": "x", "names": [{"name": name}]}}
        answer = await gateway.ask("POST", f"/processes/{pid}/messages", jo["token"], json=revised)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), answer.text
