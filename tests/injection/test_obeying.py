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
from tongyao.protocol.guards.advice import strike
from tongyao.protocol.guards.evidence import check_items
from tongyao.protocol.guards.observation_review import settle_observation
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.model.observation import Observation, ObservationDraft, Relation, Verdict
from tongyao.protocol.model.plan import NOBODY, PlanDraft
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, ProjectionDraft
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.requests import Mandate, Material, Piece
from tongyao.protocol.model.tension import Lineage, Tension
from tongyao.protocol.rules import read_access, request_access
from tongyao.protocol.rules.convergence import RoundResult, course

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
                {"id": "R1/P02/1", "dimension": "capability", "claim": attack, "quotes": [attack], "targets": ["B1"]},
                {
                    "dimension": "direction",
                    "claim": attack,
                    "inferred": True,
                    "starts_from": ["R1/P02/1", "R1/catalyst/1", attack],
                    "targets": [attack, "B9", "T"],
                    "mapping": [attack],
                },
            ],
            "markdown": attack,
        }
    )


def said(draft: ProjectionDraft, alias: str = "P01") -> Projection:
    checked = check_items(
        draft.items,
        text=PROFILE,
        source="profile",
        round_number=1,
        alias=alias,
        targets=TENSION.target_names(),
        known_ids=(),
    )
    return Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=checked.items)


def honest(alias: str) -> Projection:
    item = Item(id=f"R1/{alias}/1", dimension=Dimension.CAPABILITY, claim=f"canary-of-{alias}", inferred=True)
    return Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=(item,))


def record(attack: str, observation: Observation | None = None) -> Record:
    return Record(
        process_id="p",
        phase=Phase.CRYSTALLIZING,
        round=1,
        tension=TENSION,
        participants=tuple(Participant(alias=alias, identities=(f"Name of {alias}",)) for alias in PEOPLE),
        projections=(said(obeying_endpoint(attack)), honest("P02"), honest("P03")),
        observations=(observation,) if observation else (),
    )


def obeying_catalyst(attack: str) -> ObservationDraft:
    note = {"text": attack, "name": attack, "about": ["P02", "P77", attack], "sources": ["R1/P02/1", attack]}
    return ObservationDraft.model_validate(
        {
            "verdict": "exhausted",
            "pairs": [
                {"a": "P01", "b": "P02", "relation": "aligned", "text": attack, "sources": ["R1/P01/1", attack]},
                {"a": "P01", "b": "P02", "relation": "complementary", "sources": ["R1/P01/1", "R1/P02/1"]},
                {"a": "P00", "b": "P77", "relation": "aligned", "text": attack},
            ],
            "contributions": [
                {"alias": "P77", "target": "B1", "effect": "helps", "text": attack},
                {"alias": "P01", "target": attack, "effect": "helps", "text": attack},
            ],
            "gaps": [{"kind": "absent", "target": attack, "text": attack}],
            "ignored": [note],
            "markdown": attack,
        }
    )


def settled(attack: str, *, round_number: int = 1) -> Observation:
    request = request_access.for_catalyst(record(attack)).model_copy(
        update={"round": round_number, "verdict_counts": round_number >= 3}
    )
    draft, struck = strike(obeying_catalyst(attack))
    return settle_observation(draft, request, struck=struck)


def test_there_are_enough_attacks_in_both_languages() -> None:
    assert len(set(ATTACKS)) >= 44


@each_attack
def test_an_obeying_endpoint_reaches_only_its_own_items_and_turn(attack: str) -> None:
    projection = said(obeying_endpoint(attack))
    (item,) = projection.items
    assert (item.id, item.targets, item.starts_from, item.spans) == ("R1/P01/1", ("T",), (), ())
    others = {alias: honest(alias) for alias in ("P02", "P03")}
    told = {one.alias: one for one in record(attack).projections if one.alias != "P01"}
    assert told == others
    outcomes = {"P01": Outcome.REPLIED, "P02": Outcome.REPLIED, "P03": Outcome.REPLIED}
    assert not course([RoundResult(number=n, outcomes=outcomes, verdict=Verdict.MORE) for n in (1, 2, 3)]).converged


@each_attack
def test_an_obeying_catalyst_gets_past_neither_pairs_nor_sources_nor_convergence(attack: str) -> None:
    seen = settled(attack)
    assert seen.verdict is Verdict.MORE, "before the third round it is `more`, whatever anybody wants"
    assert [(pair.a, pair.b, pair.relation) for pair in seen.pairs] == [
        ("P01", "P02", Relation.NONE_FOUND),
        ("P01", "P03", Relation.NOT_EXAMINED),
        ("P02", "P03", Relation.NOT_EXAMINED),
    ]
    assert not seen.contributions
    assert not seen.gaps
    assert all(set(note.about) <= set(PEOPLE) and set(note.sources) <= {"R1/P02/1"} for note in seen.ignored)
    assert all(element.startswith("R1/catalyst/") for element in seen.texts())
    outcomes = dict.fromkeys(PEOPLE, Outcome.REPLIED)
    verdicts = [settled(attack, round_number=number).verdict for number in (1, 2, 3)]
    results = [RoundResult(number=n, outcomes=outcomes, verdict=v) for n, v in enumerate(verdicts, 1)]
    assert not course(results).converged, "one counted `exhausted` is never enough"


def test_a_fourth_relation_is_no_observation_at_all() -> None:
    with pytest.raises(ValidationError):
        ObservationDraft.model_validate({"pairs": [{"a": "P01", "b": "P02", "relation": "symbiotic"}]})


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
            "panorama": [claim],
            "roles": [{"alias": "P77", "contributions": [claim]}, {"alias": attack}, {"alias": "P01"}],
            "tasks": [
                {"id": attack, "title": attack, "assignee": "P77", "prerequisites": ["b"], "sources": [attack]},
                {"id": "b", "title": "b", "assignee": "P02", "prerequisites": [attack, "b"]},
            ],
            "residuals": [{"transition": attack * 40, "barriers": [attack] * 9}],
        }
    )
    plan = settle_plan(
        draft,
        revision=1,
        language="en",
        contributors=PEOPLE,
        known=record(attack).item_ids(),
        lineage=Lineage(root="p", parent="p", residual="plan/1/residual/0", depth=1),
    )
    assert [role.alias for role in plan.roles] == list(PEOPLE)
    assert not any(claim.sources or claim.supported for claim in plan.claims())
    first, second = plan.tasks
    assert (first.assignee, first.sources, second.assignee) == (NOBODY, (), "P02")
    assert not (first.prerequisites and second.prerequisites), "no cycle"


@each_attack
def test_in_a_prompt_an_attack_stays_inside_its_element_and_begins_no_line(attack: str) -> None:
    later = record(attack, settled(attack))
    text = "\n\n".join(block.text for block in rendering.catalyst(request_access.for_catalyst(later)))
    ids = re.findall(r"^R\d+/P\d+/\d+", text, re.MULTILINE)
    assert ids == ["R1/P01/1", "R1/P02/1", "R1/P03/1"]
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
