"""Nobody may change or break the record of others by the name they choose, and nobody is found out by a name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.support.marking import hiding
from tongyao.app.errors import BadInput
from tongyao.app.people.profile_versions import checked_name
from tongyao.protocol.identity.marks import HIDDEN
from tongyao.protocol.identity.names import forms_of, name_in_heading, problem_with
from tongyao.protocol.model.observation import Observation, Relation, RelationKind
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import Material, Piece
from tongyao.protocol.model.rewrite import FREE_TEXT
from tongyao.protocol.model.tension import Tension

HARMFUL = ("en", "will not", "R1", "P01", "T/B1", "B2", "replied", "lapsed", "complementary", "data_insufficient", "plan/1",
           "R2/P03/4", "catalyst", "nurse", "the", "我们", "高兴", "张力", "x", "李", "42", "!!", "A\u202eB", "a\x00b", "a" * 81)  # fmt: skip
REAL = ("Ann Bell", "Will Marsh", "Bo", "李默", "王小明", "欧阳娜娜", "Jean-Luc Ó Briain", "Işık Öz", "Ольга Ким", "김민수", "さくら",
        "Perpetua Vane", "Saskia de Winter-Peng", "Nguyễn Văn An", "Ada", "青鱼", "阿像素", "Level Lin")  # fmt: skip


@pytest.mark.parametrize("name", HARMFUL)
def test_a_name_that_is_an_alias_an_id_a_closed_or_common_word_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(BadInput) as refused:
        checked_name(name)
    assert refused.value.details.get("field", "name") == "name"
    assert ":" in str(refused.value)


@pytest.mark.parametrize("name", REAL)
def test_real_names_are_accepted(name: str) -> None:
    assert checked_name(f"  {name} ") == name


@pytest.mark.parametrize("name", [*HARMFUL, "ı", "İ", "ß"])
def test_no_name_changes_a_closed_value_or_breaks_a_view(name: str) -> None:
    names = hiding(name, people={"P00": [name], "P01": [name, "Ann Bell"], "P02": [name.upper(), name.lower()]})
    seen = _observation()
    for model in (seen, _projection("We will not offer it."), _tension()):
        shown = names.model(model, author="P01")
        assert type(model).model_validate(shown.model_dump()) == shown
        assert _closed(shown) == _closed(model)
    assert names.text("Will you? R1/P01/3, T/B1: replied, en route, will not; ıiİI") == (
        "Will you? R1/P01/3, T/B1: replied, en route, will not; ıiİI"
    )


@given(st.text(max_size=60), st.sampled_from(REAL), st.text(max_size=60), st.sampled_from(["", "P01", "P02"]))
def test_no_name_of_the_room_is_readable_in_what_others_get(before: str, name: str, after: str, author: str) -> None:
    names = hiding(people={"P01": [name], "P02": ["Zebulon Quist"]})
    shown = names.text(f"{before} {name} {after}", author=author)
    assert f" {name} " not in f" {shown} "
    assert names.text(shown, author=author) == shown, "what is hidden stays hidden"


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_text_and_no_name_raises(text: str, name: str) -> None:
    problem_with(name)
    list(forms_of(name))
    hiding(name, people={"P01": [name]}).text(text, author="P01")


@pytest.mark.parametrize(
    "written",
    ["Ann Bell", "ann bell", "ANN BELL", "Ann\u200b Be\u00adll", "Ａｎｎ Ｂｅｌｌ", "Ánn Bëll", "Ann  Bell", "Bell, Ann", "AnnBell", "Ann_Bell", "Ann", "ANN"],
)  # fmt: skip
def test_a_name_is_recognised_however_it_is_written(written: str) -> None:
    names = hiding(people={"P01": ["Ann Bell"]})
    assert names.text(f"I asked {written} today") == "I asked [person 1] today"
    assert names.text(f"I asked {written} today", author="P01") == "I asked P01 today"


def test_a_first_name_without_a_capital_is_recognised_in_a_text_that_has_none() -> None:
    names = hiding(people={"P01": ["Ann Bell"], "P02": ["Bo"]})
    assert names.text("i asked ann, and bo knows it") == "i asked [person 1], and [person 2] knows it"
    assert names.text("I asked ann") == "I asked ann"


@pytest.mark.parametrize(
    "name",
    ["Wheels Lathe Crowns Restore", "wheels lathe crowns restore", "Wheels", "Whe Els", "Lathe Wheels", "Crowns"],
)
def test_nobody_takes_words_out_of_what_others_say_by_being_called_by_them(name: str) -> None:
    said = "I restore water wheels with my lathe. I will not work for less than 3000 crowns. Restore them yourself."
    kept = (
        said.replace("Restore", "[person 1]") if "restore" in name.lower() else said
    )  # with a capital it may be a name
    assert hiding(people={"P01": [name]}).text(said) == kept
    assert hiding(people={"P01": ["Ann Bell"]}).text(said) == said


def test_a_part_of_a_name_in_a_script_without_capitals_is_recognised() -> None:
    assert hiding(people={"P01": ["محمد علي"]}).text("A: محمد, B") == "A: [person 1], B"


def test_a_title_alone_is_nobodys_name() -> None:
    """Two people are not one because both are called 婆婆."""
    names = hiding("罗婆婆", "周奶奶")
    told = names.text("罗婆婆没吃饭。店是从婆婆手里接的，奶奶教的水位。", author="")
    assert "从婆婆手里" in told and "奶奶教" in told and "罗婆婆" not in told


def test_chinese_names_are_recognised_in_full_by_the_given_name_and_by_title() -> None:
    names = hiding(people={"P01": ["王小明"], "P02": ["欧阳娜娜"], "P03": ["李默"]})
    said = "王小明和小明说，王先生找过欧阳娜娜，娜娜认识李默"
    assert names.text(said, author="P03") == "[某人 1]和[某人 1]说，[某人 1]找过[某人 2]，[某人 2]认识P03"


def test_words_inside_other_words_and_common_parts_of_a_name_stay() -> None:
    names = hiding(people={"P01": ["Ann Bell"], "P02": ["Will Marsh"], "P03": ["Hope de la Cruz"]})
    said = "planning a marsh walk: I will hope, and de facto will not"
    assert names.text(said) == said
    assert names.text("Will said so, and Hope too") == "[person 2] said so, and [person 3] too"


def test_whether_a_material_is_whole_does_not_depend_on_the_names_in_it() -> None:
    text = "Ann Bell mends nets"
    whole = Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))
    shown = hiding(people={"P01": ["Ann Bell"]}).model(whole, author="P01")
    assert shown.text == "P01 mends nets"
    assert shown.is_whole


@pytest.mark.parametrize(
    ("profile", "name"),
    [("# Ann Bell\n\nI mend nets.", "Ann Bell"), ("# Ann Bell — community nurse\n", "Ann Bell"), ("# 郗春明 · 修理铺二十年\n", "郗春明"),
     ("I mend nets.", ""), ("## Skills\n\nnets", "")],
)  # fmt: skip
def test_a_profile_has_the_name_of_its_heading_and_none_without_one(profile: str, name: str) -> None:
    assert name_in_heading(profile) == name


def _projection(text: str, *, alias: str = "P01") -> Projection:
    item = Item(id=f"R1/{alias}/1", kind=ItemKind.CAPABILITY, text=text, about=("B1",))
    return Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=(item,))


def _observation() -> Observation:
    return Observation(
        round=1,
        relations=(
            Relation(
                id="R1/r1", between=("P01", "P02"), kind=RelationKind.COMPLEMENTARY, text="", sources=("R1/P01/1",)
            ),
            Relation(id="R1/r2", between=("P01", "B1"), kind=RelationKind.COMPLEMENTARY, text="", sources=()),
        ),
    )


def _tension() -> Tension:
    return Tension(transition="one will not do", language="en")


def _closed(model: BaseModel) -> object:
    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(inner) for name, inner in value.items() if name not in FREE_TEXT}
        return [bare(inner) for inner in value] if isinstance(value, list | tuple) else value

    return bare(model.model_dump())


def test_an_address_is_hidden_and_no_part_of_it_is_a_name() -> None:
    names = hiding(people={"P02": ["Derek Miller", "derek@miller.example"]})
    assert names.text("write to derek@miller.example, an example") == f"write to {HIDDEN}, an example"
