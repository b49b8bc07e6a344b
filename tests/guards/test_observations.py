"""The catalyst's answer: every pair looked at once, relations that rest on both sides, protected collisions, one framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tongyao.protocol.guards.checks import complaints_of, strike
from tongyao.protocol.guards.observations import OBSERVATION_CHECKS, observation_of
from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.observation import (
    Note,
    NoteKind,
    Observation,
    ObservationDraft,
    Relation,
    RelationKind,
    Verdict,
)
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import CatalystRequest, Exchange
from tongyao.protocol.model.tension import Tension

TENSION = Tension(transition="t", initial_state="i", barriers=("b", "c"), exchange="e")


def item(id: str, **fields: Any) -> Item:
    return Item(id=id, text=f"said as {id}", **fields)


def exchange(round_number: int, *items: Item, seen: Observation | None = None) -> Exchange:
    aliases = sorted({speaker_of(one.id) for one in items})
    turns = tuple(
        Projection(
            round=round_number,
            alias=alias,
            outcome=Outcome.REPLIED,
            items=tuple(one for one in items if speaker_of(one.id) == alias),
        )
        for alias in aliases
    )
    return Exchange(round=round_number, projections=turns, observation=seen)


def request(*rounds: Exchange) -> CatalystRequest:
    said = {turn.alias for one in rounds for turn in one.projections}
    return CatalystRequest(
        language="en",
        round=len(rounds),
        tension=TENSION,
        exchange=rounds,
        contributors=tuple(sorted(said - {"P00"})),
        verdict_counts=len(rounds) >= 3,
    )


FIRST = exchange(1, item("R1/P01/1"), item("R1/P02/1", kind=ItemKind.BOUNDARY), item("R1/P00/1"))


def relation(*between: str, **fields: Any) -> dict[str, Any]:
    known = {"kind": "complementary", "text": "One has it.", "sources": ["R1/P01/1", "R1/P02/1"]}
    return {"between": list(between), **known, **fields}


def draft(**fields: Any) -> ObservationDraft:
    return ObservationDraft.model_validate(fields)


def reasons(asked: CatalystRequest, answer: ObservationDraft) -> list[str]:
    return [one.reason for one in complaints_of(answer, asked, OBSERVATION_CHECKS)]


def seen(asked: CatalystRequest, answer: ObservationDraft) -> Observation:
    """What stands where no second answer comes."""
    answer, struck = strike(answer, complaints_of(answer, asked, OBSERVATION_CHECKS))
    return observation_of(answer, asked, struck=struck)


def test_a_pair_that_was_not_looked_at_is_asked_for() -> None:
    first = exchange(1, item("R1/P01/1"), item("R1/P02/1"), item("R1/P03/1"))
    answer = draft(relations=[relation("P02", "p01 (the potter)")], none=[["P03", "P01"]])
    (missing,) = complaints_of(answer, request(first), OBSERVATION_CHECKS)
    assert missing.text == "The pair P02-P03 stands neither in `relations` nor in `none`."
    observation = seen(request(first), answer)
    assert (observation.relations[0].between, observation.none) == (("P01", "P02"), (("P01", "P03"),))


def test_a_pair_is_looked_at_once() -> None:
    before = FIRST.model_copy(update={"observation": Observation(round=1, none=(("P01", "P02"),))})
    asked = request(before, exchange(2, item("R2/P01/1")))
    assert reasons(asked, draft()) == []
    assert seen(asked, draft(none=[["P01", "P02"]])).none == ()


def test_a_pair_with_a_relation_is_not_among_those_without() -> None:
    answer = draft(relations=[relation("P01", "P02")], none=[["P01", "P02"]])
    assert seen(request(FIRST), answer).none == ()


def test_relations_and_notes_get_ids_by_code_and_sources_are_read_however_they_are_written() -> None:
    answer = draft(
        relations=[relation("P01", "P02", sources=["[r1/p01/1]", "R1/P02/1, R1/P09/1"]), relation("P02", "T/B2")],
        notes=[
            {"kind": "gap", "text": "g", "about": ["B1", "P01", "P07"], "sources": ["R1/P00/1", "x"], "asks": "P00"}
        ],
    )
    observation = seen(request(FIRST), answer)
    assert [one.id for one in observation.statements] == ["R1/r1", "R1/r2", "R1/n1"]
    assert observation.relations[0].sources == ("R1/P01/1", "R1/P02/1")
    assert observation.relations[1].between == ("P02", "B2")
    (gap,) = observation.notes
    assert (gap.about, gap.sources, gap.asks) == (("B1", "P01"), ("R1/P00/1",), "P00")


@pytest.mark.parametrize(
    "between", [["P01"], ["P01", "P01"], ["P00", "P01"], ["P01", "P77"], ["B1", "B2"], ["P01", "B9"]]
)
def test_a_relation_is_between_two_contributors_or_one_and_a_line(between: Sequence[str]) -> None:
    answer = draft(relations=[relation(*between)], none=[["P01", "P02"]])
    assert reasons(request(FIRST), answer) == ["between"]
    assert seen(request(FIRST), answer).relations == ()


@pytest.mark.parametrize(
    ("between", "sources", "told"),
    [
        (("P01", "P02"), ["R1/P01/1"], "no item of P02 that holds"),
        (("P01", "P02"), ["R1/r1"], "no item of P01, P02 that holds"),
        (("P01", "B1"), ["R1/P02/1"], "no item of P01 that holds"),
    ],
)
def test_a_relation_rests_on_an_item_of_each_participant_in_it(
    between: tuple[str, str], sources: list[str], told: str
) -> None:
    answer = draft(relations=[relation(*between, sources=sources)], none=[["P01", "P02"]])
    (fault,) = complaints_of(answer, request(FIRST), OBSERVATION_CHECKS)
    assert told in fault.text
    assert seen(request(FIRST), answer).relations == ()


def test_an_item_that_was_replaced_bears_nothing() -> None:
    asked = request(FIRST, exchange(2, item("R2/P02/1", replaces=("R1/P02/1",))))
    assert reasons(asked, draft(relations=[relation("P01", "P02")])) == ["one_sided"]
    assert reasons(asked, draft(relations=[relation("P01", "P02", sources=["R1/P01/1", "R2/P02/1"])])) == []


def test_what_replaces_or_ends_names_what_holds() -> None:
    stated = Observation(
        round=1,
        relations=(
            Relation(id="R1/r1", between=("P01", "P02"), kind=RelationKind.ALIGNED, text="…", sources=("R1/P01/1",)),
        ),
    )
    asked = request(FIRST.model_copy(update={"observation": stated}), exchange(2, item("R2/P01/1")))
    answer = draft(
        relations=[relation("P01", "P02", replaces=["R1/r1", "R1/r7"])],
        ended=[{"id": "[r1/R1]", "why": "dissolved"}, {"id": "R1/r9"}],
    )
    observation = seen(asked, answer)
    assert observation.relations[0].replaces == ("R1/r1",)
    assert [(one.id, one.why) for one in observation.ended] == [("R1/r1", "dissolved")]


COLLISION = Observation(
    round=1,
    relations=(
        Relation(
            id="R1/r1",
            between=("P01", "P02"),
            kind=RelationKind.OFFSETTING,
            text="No noise after ten.",
            sources=("R1/P01/1", "R1/P02/1"),
        ),
    ),
)


@pytest.mark.parametrize(
    ("later", "may_fall"),
    [
        (item("R2/P03/1"), False),
        (item("R2/P01/1", kind=ItemKind.CAPABILITY, inferred=True), False),
        (item("R2/P01/1", kind=ItemKind.CAPABILITY), True),
        (item("R2/P02/1"), True),
    ],
)
def test_a_stated_boundary_keeps_its_collision_until_one_of_the_two_says_more(later: Item, may_fall: bool) -> None:
    asked = request(FIRST.model_copy(update={"observation": COLLISION}), exchange(2, later))
    none = [[a, b] for a in asked.contributors for b in asked.contributors if "P03" in (a, b) and a < b]
    ended = draft(ended=[{"id": "R1/r1", "why": "gone"}], none=none)
    replaced = draft(relations=[relation("P01", "P02", replaces=["R1/r1"])], none=none)
    assert reasons(asked, ended) == reasons(asked, replaced) == ([] if may_fall else ["protected"])
    assert bool(seen(asked, ended).ended) is bool(seen(asked, replaced).relations) is may_fall


@pytest.mark.parametrize(("corrected", "may_fall"), [(("R1/P02/1",), True), ((), False)])
def test_who_corrects_what_a_collision_rests_on_frees_it_although_the_correction_is_inferred(
    corrected: tuple[str, ...], may_fall: bool
) -> None:
    boundaries = [item(f"R1/P02/{number}", kind=ItemKind.BOUNDARY) for number in (1, 2)]
    (relation,) = COLLISION.relations
    both = relation.model_copy(update={"sources": ("R1/P01/1", "R1/P02/1", "R1/P02/2")})
    first = exchange(1, item("R1/P01/1"), *boundaries).model_copy(
        update={"observation": Observation(round=1, relations=(both,))}
    )
    asked = request(first, exchange(2, item("R2/P02/1", inferred=True, replaces=corrected)))
    assert reasons(asked, draft(ended=[{"id": "R1/r1", "why": "taken back"}])) == ([] if may_fall else ["protected"])


def test_a_collision_may_be_worded_anew_as_a_collision_of_the_same_two() -> None:
    asked = request(FIRST.model_copy(update={"observation": COLLISION}), exchange(2, item("R2/P03/1")))
    none = [[a, b] for a in asked.contributors for b in asked.contributors if "P03" in (a, b) and a < b]
    again = draft(relations=[relation("P01", "P02", kind="offsetting", replaces=["R1/r1"])], none=none)
    assert reasons(asked, again) == []


def test_a_framework_that_replaces_one_is_not_the_second_of_its_round() -> None:
    framework = {"kind": "framework", "sources": ["R1/P01/1", "R1/P02/1"]}
    first = Observation(round=1, notes=(Note(id="R1/n1", kind=NoteKind.FRAMEWORK, text="old"),))
    asked = request(exchange(1, item("R1/P01/1"), item("R1/P02/1"), seen=first), exchange(2))
    again = framework | {"text": "old, mended", "replaces": ["R1/n1"]}
    assert reasons(asked, draft(notes=[again, framework | {"text": "new"}], none=[["P01", "P02"]])) == []


def test_a_note_takes_the_place_of_a_relation_that_is_not_protected() -> None:
    items = (item("R1/P01/1", kind=ItemKind.BOUNDARY), item("R1/P02/1"))
    for kind, found in ((RelationKind.OFFSETTING, ["protected"]), (RelationKind.ALIGNED, [])):
        old = Relation(id="R1/r1", between=("P01", "P02"), kind=kind, text="was", sources=("R1/P01/1", "R1/P02/1"))
        asked = request(exchange(1, *items, seen=Observation(round=1, relations=(old,))), exchange(2))
        answer = draft(notes=[{"kind": "ignored", "text": "is", "replaces": ["R1/r1"]}])
        assert reasons(asked, answer) == found
        assert [note.replaces for note in seen(asked, answer).notes] == ([] if found else [("R1/r1",)])


def test_of_two_frameworks_the_first_stands_and_nobody_is_asked_again() -> None:
    framework = {"kind": "framework", "sources": ["R1/P01/1", "R1/P02/1"]}
    answer = draft(notes=[framework | {"text": "first"}, framework | {"text": "second"}], none=[["P01", "P02"]])
    found = complaints_of(answer, request(FIRST), OBSERVATION_CHECKS)
    assert [(one.reason, one.text, one.entry) for one in found] == [("second_framework", "", 1)]
    observation = seen(request(FIRST), answer)
    assert ([note.text for note in observation.notes], observation.struck) == (["first"], 1)


@pytest.mark.parametrize(("kind", "asks", "kept"), [("gap", "p02", "P02"), ("gap", "P77", ""), ("ignored", "P02", "")])
def test_only_a_gap_asks_and_only_somebody_who_is_here(kind: str, asks: str, kept: str) -> None:
    (note,) = seen(request(FIRST), draft(notes=[{"kind": kind, "text": "x", "asks": asks}])).notes
    assert note.asks == kept
    assert note.kind is NoteKind(kind)


@pytest.mark.parametrize(("asks", "kept"), [("P02", ""), ("P01", "P01")])
def test_what_is_left_of_a_gap_asks_somebody_else(asks: str, kept: str) -> None:
    gap = Note(id="R1/n1", kind=NoteKind.GAP, text="Who drives at night and on Sundays?", asks="P02")
    before = FIRST.model_copy(update={"observation": Observation(round=1, notes=(gap,))})
    left = {"kind": "gap", "text": "Who drives on Sundays?", "asks": asks, "replaces": ["R1/n1"]}
    (note,) = seen(request(before, exchange(2, item("R2/P02/1", about=("R1/n1",)))), draft(notes=[left])).notes
    assert (note.asks, note.replaces) == (kept, ("R1/n1",))


@pytest.mark.parametrize(("rounds", "verdict"), [(1, Verdict.MORE), (2, Verdict.MORE), (3, Verdict.EXHAUSTED)])
def test_the_verdict_counts_from_the_third_round(rounds: int, verdict: Verdict) -> None:
    asked = request(FIRST, *(exchange(number, item(f"R{number}/P01/1")) for number in range(2, rounds + 1)))
    observation = observation_of(draft(verdict="exhausted", why="over"), asked)
    assert observation.verdict is verdict
    assert observation.why == ("over" if verdict is Verdict.EXHAUSTED else "")


def test_an_answer_that_could_not_be_had_states_nothing() -> None:
    observation = observation_of(ObservationDraft(), request(FIRST, exchange(2), exchange(3)))
    assert not (observation.statements or observation.none or observation.words)
    assert observation.verdict is Verdict.MORE


def test_advice_is_complained_of_once_and_struck_sentence_by_sentence() -> None:
    answer = draft(
        relations=[relation("P01", "P02", text="P01 lacks a lathe. They should meet on Monday. P02 has one of 2.4 m.")],
        notes=[{"kind": "ignored", "text": "P02 is lazy and arrogant."}],
        words="同向。\n建议P01和P02合作。\n",
    )
    found = complaints_of(answer, request(FIRST), OBSERVATION_CHECKS)
    assert [one.reason for one in found] == ["recommendation", "judgement", "recommendation"]
    assert "“should”" in found[0].text
    assert "“They should meet on Monday.”" in found[0].text
    observation = seen(request(FIRST), answer)
    assert observation.relations[0].text == "P01 lacks a lathe. P02 has one of 2.4 m."
    assert (observation.words, observation.notes, observation.struck) == ("同向。", (), 3)
