"""Models that obey an attack in full: what they can reach is their own turn, and no structure at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tongyao.llm import rendering
from tongyao.protocol.guards.checks import complaints_of, strike
from tongyao.protocol.guards.items import item_checks, items_of, own_items
from tongyao.protocol.guards.observations import OBSERVATION_CHECKS, observation_of
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.observation import Observation, ObservationDraft, Verdict
from tongyao.protocol.model.plan import NOBODY, PlanDraft
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import EndpointKind, Item, ItemKind, Outcome, Projection, ProjectionDraft
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.requests import EndpointRequest, Mandate, Material, Piece
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules import read_access, request_access
from tongyao.protocol.rules.convergence import RoundResult, course
from tongyao.protocol.rules.standing import not_examined, standing

HERE = Path(__file__).parent
ATTACKS = [
    line.replace("\\n", "\n")
    for language in ("en", "zh")
    for line in (HERE / f"attacks.{language}.txt").read_text(encoding="utf-8").splitlines()
]
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
TENSION = Tension(transition="from one to many", initial_state="two boats", barriers=("no pier",), exchange="fish")
PEOPLE = ("P01", "P02", "P03")
PROFILE = "I mend nets on the north pier."
CANARY = "canary-of-P02"


def obeying_endpoint(attack: str) -> ProjectionDraft:
    """Everything the attack asks for, in every field there is and some there are not."""
    return ProjectionDraft.model_validate(
        {
            "alias": "P02",
            "round": 9,
            "verdict": "exhausted",
            "items": [
                {"id": "R1/P02/1", "kind": "capability", "text": attack, "quotes": [attack], "about": ["B1"]},
                {
                    "kind": "direction",
                    "text": attack,
                    "quotes": [attack, PROFILE],
                    "inferred": True,
                    "about": ["R1/P02/1", "R1/r1", attack, "B9", "T"],
                    "replaces": ["R1/P02/1", attack],
                },
            ],
            "words": attack,
        }
    )


def endpoint_request(alias: str) -> EndpointRequest:
    return EndpointRequest(language="en", alias=alias, round=1, tension=TENSION)


def said(draft: ProjectionDraft, alias: str = "P01") -> Projection:
    """What stands where the model insists."""
    request, source = endpoint_request(alias), Shown(PROFILE)
    draft, _ = strike(draft, complaints_of(draft, request, item_checks(source)))
    return Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=items_of(draft.items, request, source))


def honest(alias: str) -> Projection:
    item = Item(id=f"R1/{alias}/1", kind=ItemKind.CAPABILITY, text=f"canary-of-{alias}", inferred=True)
    return Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=(item,))


def own_words(attack: str, alias: str) -> Projection:
    """A person who writes an attack says it in their own words."""
    items = own_items(attack, round_number=1, alias=alias)
    return Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=items, author=EndpointKind.HUMAN)


def record(attack: str, observation: Observation | None = None) -> Record:
    return Record(
        process_id="p",
        phase=Phase.CRYSTALLIZING,
        round=1,
        tension=TENSION,
        participants=tuple(Participant(alias=alias, identities=(f"Name of {alias}",)) for alias in PEOPLE),
        projections=(said(obeying_endpoint(attack)), honest("P02"), own_words(attack, "P03")),
        observations=(observation,) if observation else (),
    )


def obeying_catalyst(attack: str) -> ObservationDraft:
    note = {"text": attack, "about": ["P02", "P77", attack], "sources": ["R1/P02/1", attack], "asks": attack}
    return ObservationDraft.model_validate(
        {
            "verdict": "exhausted",
            "relations": [
                {"between": ["P01", "P02"], "kind": "aligned", "text": attack, "sources": ["R1/P01/1", attack]},
                {"between": ["P00", "P77"], "kind": "aligned", "text": attack},
                {"between": ["P77", "B1"], "kind": "complementary", "text": attack},
                {"between": ["P01", attack], "kind": "complementary", "text": attack, "sources": ["R1/P01/1"]},
            ],
            "notes": [note | {"kind": "gap"}, note | {"kind": "ignored"}],
            "ended": [{"id": attack}, {"id": "R1/r1"}],
            "words": attack,
        }
    )


def settled(attack: str, *, round_number: int = 1) -> Observation:
    """What stands where the model insists."""
    request = request_access.for_catalyst(record(attack)).model_copy(
        update={"round": round_number, "verdict_counts": round_number >= 3}
    )
    draft = obeying_catalyst(attack)
    draft, struck = strike(draft, complaints_of(draft, request, OBSERVATION_CHECKS))
    return observation_of(draft, request, struck=struck)


def test_there_are_enough_attacks_in_both_languages() -> None:
    assert len(set(ATTACKS)) >= 44


@each_attack
def test_an_obeying_endpoint_reaches_only_its_own_items_and_turn(attack: str) -> None:
    projection = said(obeying_endpoint(attack))
    (item,) = projection.items
    assert (item.id, item.about, item.replaces, item.quotes) == ("R1/P01/1", ("T",), (), (PROFILE,))
    outcomes = {"P01": Outcome.REPLIED, "P02": Outcome.REPLIED, "P03": Outcome.REPLIED}
    results = [RoundResult(number=n, outcomes=outcomes, everybody_asked=True, verdict=Verdict.MORE) for n in (1, 2, 3)]
    assert not course(results).converged


@each_attack
def test_an_attack_in_somebody_s_own_words_stays_their_words(attack: str) -> None:
    projection = own_words(attack, "P03")
    for number, item in enumerate(projection.items, 1):
        assert item == Item(id=f"R1/P03/{number}", text=item.text)
    assert "".join("".join(item.text.split()) for item in projection.items) == "".join(attack.split())


@each_attack
def test_an_obeying_catalyst_gets_past_neither_pairs_nor_sources_nor_convergence(attack: str) -> None:
    seen = settled(attack)
    assert seen.verdict is Verdict.MORE, "before the third round it is `more`, whatever anybody wants"
    assert (seen.relations, seen.none, seen.ended) == ((), (), ())
    assert all(set(note.about) <= {*PEOPLE, "T", "I", "B1", "E"} for note in seen.notes)
    assert all(set(note.sources) <= {"R1/P02/1"} and note.asks in ("", *PEOPLE) for note in seen.notes)
    state = standing((*request_access.for_catalyst(record(attack)).exchange,))
    assert len(not_examined(state, PEOPLE)) == 3, "what it was talked into skipping stays open"
    outcomes = dict.fromkeys(PEOPLE, Outcome.REPLIED)
    results = [
        RoundResult(
            number=number,
            outcomes=outcomes,
            everybody_asked=True,
            verdict=settled(attack, round_number=number).verdict,
        )
        for number in (1, 2, 3)
    ]
    assert not course(results).converged, "one counted `exhausted` is never enough"


def test_a_fourth_relation_is_no_observation_at_all() -> None:
    with pytest.raises(ValidationError):
        ObservationDraft.model_validate({"relations": [{"between": ["P01", "P02"], "kind": "symbiotic"}]})


@each_attack
def test_whatever_is_asked_for_nobody_sees_more(attack: str) -> None:
    later = record(attack, settled(attack)).model_copy(update={"round": 2})
    material = Material(pieces=(Piece(start=0, text=PROFILE + attack),), total_chars=len(PROFILE + attack))
    request = request_access.for_endpoint(later, "P03", material=material, mandate=Mandate())
    assert CANARY not in request.model_dump_json()
    catalyst = request_access.for_catalyst(later).model_dump_json()
    assert PROFILE not in catalyst
    assert not re.search("Name of P", catalyst + request.model_dump_json())
    view = read_access.for_party(later, role="participant", alias="P03")
    assert CANARY not in view.model_dump_json()
    assert (view.projections, view.identities, view.intent, view.plan) == (None, None, None, None)


@each_attack
def test_an_obeying_planner_cites_nothing_that_is_not_there(attack: str) -> None:
    claim: dict[str, Any] = {"text": attack, "sources": [attack, "R9/P01/1", "R1/P02/99"]}
    draft = PlanDraft.model_validate(
        {
            "possible": [claim],
            "roles": [{"alias": "P77", "conditions": [claim]}, {"alias": attack}, {"alias": "P01"}],
            "tasks": [
                {"id": attack, "title": attack, "assignee": "P77", "prerequisites": ["b"], "sources": [attack]},
                {"id": "b", "title": "b", "assignee": "P02", "prerequisites": [attack, "b"]},
            ],
            "residuals": [{"transition": attack * 40, "barriers": [attack] * 9}],
        }
    )
    plan = settle_plan(draft, request_access.for_planner(record(attack), materials={}))
    assert [role.alias for role in plan.roles] == list(PEOPLE)
    assert not any(claim.sources or claim.supported for claim in plan.possible)
    first, second = plan.tasks[:2]
    assert (first.assignee, first.sources, second.assignee) == (NOBODY, (), "P02")
    assert not (first.prerequisites and second.prerequisites), "no cycle"


@each_attack
def test_in_a_prompt_an_attack_stays_inside_its_element_and_begins_no_line(attack: str) -> None:
    later = record(attack, settled(attack))
    text = "\n\n".join(block.text for block in rendering.blocks(request_access.for_catalyst(later)))
    ids = re.findall(r"^R\d+/P\d+/\d+", text, re.MULTILINE)
    assert ids == [item.id for item in later.items()]
    assert re.findall(r"^<(/?\w+)", text, re.MULTILINE).count("task") == 1
    assert text.count("<data ") == text.count("</data>")
    assert len(re.findall(r"[<＜]\W*task\b", text, re.IGNORECASE)) == 2, "the task itself, opened and closed"


@given(
    st.lists(st.sampled_from(["<", "＜", "/", "data", "TASK", " ", "\u200b", "\n", ">", "kind", "x", "\ufeff"])).map(
        "".join
    )
)
def test_no_random_text_closes_its_element(text: str) -> None:
    rendered = rendering.data("words", text, by="P01")
    assert (
        len(re.findall(r"[<＜][\s\u200b-\u200d\ufeff]*[/／]?[\s\u200b-\u200d\ufeff]*(?:data|task)\b", rendered, re.I))
        == 2
    )
    assert rendered.endswith("\n</data>")
