"""What a person forbade their proxy to disclose is not disclosed, however it is written, and also where a name in it is shown as a mark."""

from __future__ import annotations

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.support.marking import hiding
from tongyao.llm.extractive.steps import project
from tongyao.protocol.guards.checks import complaints_of
from tongyao.protocol.guards.items import item_checks
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.identity.marks import Marker
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import ItemDraft, ItemKind, ProjectionDraft
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.requests import EndpointRequest, Mandate, Material, Piece
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules import request_access

FORBIDDEN = [
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow  prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow\nprison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the **Marlow** prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Mar\u00adlow prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the\u00a0Marlow\u00a0prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow <b>prison</b>."),
    ("the Marlow prison", "I repaired a water wheel after two years in the [Marlow](https://marlow.example) prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the ![Marlow](marlow.png) prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Mar<wbr>low <!-- again -->prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow&nbsp;prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow ~~prison~~."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow\\ prison."),
    ("the Marlow prison", "I repaired a water wheel for | two years | the Marlow | prison |."),
    ("<b>the</b> Marlow prison", "I repaired a water wheel after two years in the Marlow prison."),
    ("my son's debts", "I repair water wheels to pay my son’s debts."),
    ("my son’s  debts", "I repair water wheels to pay my son's debts."),
    ("type 1 diabetes", "I repair water wheels although I have type-1 diabetes."),
    ("type‑1 diabetes", "I repair water wheels although I have Ｔype 1 diabetes."),
    ("cafe\u0301 Mira", "I repair water wheels and owe money to the café Mira."),
    ("糖尿病", "我会修水车，我有糖尿 病。"),
    ("糖尿病", "我会修水车，我有“糖尿”病。"),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow (prison)."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow “prison”."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow[] prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow[^1] prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Mar-low prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the #MarlowPrison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the M a r l o w prison."),
    ("the Marlow prison", "I repaired a water wheel after two years in the Marlow\u3164prison."),
    ("the co-operative", "I repaired a water wheel and owe money to the cooperative."),
    ("debt", "I repair water wheels and am a debtor."),
    ("HIV", "I repair water wheels and am H.I.V. positive."),
    ("hôpital", "I repair water wheels beside l'hôpital."),
    ("1,200 euros", "I repair water wheels for 1200 euros."),
    ("🏦", "I repair water wheels for a 🏦."),
]
OTHER_WORDS = [
    ("art", "I start to repair a water wheel at a party."),
    ("ill", "I'll repair a water wheel."),
    ("earth", "I hear that you repair a water wheel."),
    ("type 1", "I repair a water wheel of type 12."),
    ("5 years", "I repaired a water wheel for 15 years."),
    ("离婚", "我会离开婚礼去修水车。"),
    (" ", "I repair a water wheel."),
]


def whole(profile: str) -> Material:
    return Material(pieces=(Piece(start=0, text=profile),), total_chars=len(profile))


def room() -> Record:
    return Record(
        process_id="p",
        phase=Phase.CRYSTALLIZING,
        round=1,
        tension=Tension(transition="A water wheel turns again", barriers=("nobody can repair a water wheel",)),
        participants=(Participant(alias="P01", identities=("Jo Vandal",)),),
    )


def turn(profile: str, *, never: str, names: Marker | None = None) -> EndpointRequest:
    return request_access.for_endpoint(
        room(), "P01", material=whole(profile), mandate=Mandate(never=(never,), addition=f"Not {never}."), marker=names
    )


def stands(sentence: str, never: str) -> bool:
    """Whether the checks let a proxy say this sentence of its profile."""
    draft = ProjectionDraft(items=[ItemDraft(kind=ItemKind.CAPABILITY, text=sentence, quotes=[sentence])])
    return not complaints_of(draft, turn(sentence, never=never), item_checks(Shown(sentence)))


@pytest.mark.parametrize(("never", "sentence"), FORBIDDEN)
def test_a_forbidden_phrase_is_not_said_however_it_is_written(never: str, sentence: str) -> None:
    assert stands(sentence, "the moon") and not stands(sentence, never)
    said = project(turn(f"I can repair a water wheel in May. {sentence}", never=never)).items
    assert not [item for item in said if any(quote in sentence for quote in item.quotes)]


@pytest.mark.parametrize(("never", "sentence"), OTHER_WORDS)
def test_a_sentence_with_other_words_is_said(never: str, sentence: str) -> None:
    assert stands(sentence, never)


def test_a_forbidden_phrase_is_not_said_in_two_quotes_of_an_item() -> None:
    profile = "I was in Marlow. Prison taught me to repair water wheels."
    quotes = ["I was in Marlow", "Prison taught me"]
    draft = ProjectionDraft(items=[ItemDraft(kind=ItemKind.CAPABILITY, text="repairs wheels", quotes=quotes)])
    found = complaints_of(draft, turn(profile, never="Marlow prison"), item_checks(Shown(profile)))
    assert [one.reason for one in found] == ["disclosed"]


@pytest.mark.parametrize(
    "never",
    ["Rosa Feldman", "Rosa", "Rosa Feldman’s debts", "rosa feldman's debts", "Feldman's debts", "to pay Rosa"],
)
def test_a_forbidden_name_is_forbidden_where_the_proxy_reads_a_mark(never: str) -> None:
    profile = "I can repair a water wheel in May. I repair a water wheel to pay Rosa Feldman's debts."
    names = hiding("Ada Pell", "Bo Quist", "Rosa Feldman")
    request = turn(profile, never=never, names=names)
    assert "[person 3]'s debts" in request.material.text and "Feldman" not in request.material.text
    assert [item.quotes for item in project(request).items] == [["I can repair a water wheel in May."]]
    assert any("[person 3]" in phrase for phrase in request.mandate.never), "a model is told which mark is meant"


def test_a_model_is_told_by_marks_what_a_mandate_says_of_somebody() -> None:
    names = hiding("Ada Pell", "Bo Quist", "Rosa Feldman")
    assert turn("I mend.", never="Rosa Feldman", names=names).mandate.addition == "Not [person 3]."


async def test_what_a_demander_forbade_is_not_taken_from_their_profile_into_the_tension(
    gateway: GatewayHarness,
) -> None:
    scene = await gateway.scene()
    for mandate, reads in ({}, True), ({"never": ["bankruptcy"]}, False), ({"topics": ["wheels"]}, False):
        demander = await gateway.join(scene, "My mill stands still since my bankruptcy. I can give the building.")
        place = f"/profiles/{demander['profile_id']}/mandate"
        assert (await gateway.ask("PUT", place, demander["token"], json=mandate)).status_code == 200
        await gateway.join(scene)
        demand = {"intent": "I want a wheel to turn again.", "scene": scene}
        started = await gateway.ask("POST", "/processes", demander["token"], json=demand)
        await asked(gateway, demander["token"], "confirm_tension")
        [read] = [one for one in gateway.engine.received if one.key.process == started.json()["id"]]
        assert read.mentions("bankruptcy") is reads, mandate
        await gateway.stack.handle(started.json()["id"]).cancel()
