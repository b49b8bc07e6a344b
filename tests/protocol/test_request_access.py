"""What engines read is made of what holds: own items, statements of the catalyst, the gaps that ask now; nobody's profile but one's own."""

from __future__ import annotations

from typing import Any

import pytest

from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind, Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.requests import EndpointRequest, Mandate, Material, Piece
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules import request_access

QUOTE = "verbatim words of a profile"


def said(round_number: int, alias: str, *items: Item, outcome: Outcome = Outcome.REPLIED) -> Projection:
    return Projection(round=round_number, alias=alias, outcome=outcome, items=items)


def item(id: str, **fields: Any) -> Item:
    return Item(id=id, kind=ItemKind.CAPABILITY, text=f"said as {id}", quotes=(QUOTE,), **fields)


def relation(id: str, a: str, b: str, *sources: str) -> Relation:
    return Relation(id=id, between=(a, b), kind=RelationKind.ALIGNED, text=f"text of {id}", sources=sources)


def gap(id: str, asks: str = "") -> Note:
    return Note(id=id, kind=NoteKind.GAP, text=f"text of {id}", asks=asks)


FIRST = Observation(
    round=1,
    relations=(
        relation("R1/r1", "P01", "P02", "R1/P01/1", "R1/P02/1"),
        relation("R1/r2", "P02", "P03", "R1/P02/2", "R1/P03/1"),
    ),
    notes=(gap("R1/n1", "P01"), gap("R1/n2", "P00"), gap("R1/n3")),
    words="Words of round 1: [person 1] has a barge.",
)


def record(*later: Projection, observations: tuple[Observation, ...] = (FIRST,), round_number: int = 2) -> Record:
    return Record(
        process_id="p",
        phase=Phase.CRYSTALLIZING,
        round=round_number,
        intent="We need a pier.",
        tension=Tension(transition="t", barriers=("no pier",)),
        participants=tuple(
            Participant(alias=alias, identities=(name,))
            for alias, name in (("P01", "Ada Lund"), ("P02", "Vera Holm"), ("P03", "Cy Moe"))
        ),
        projections=(
            said(1, "P01", item("R1/P01/1"), item("R1/P01/2")),
            said(1, "P02", item("R1/P02/1"), item("R1/P02/2")),
            said(1, "P03", item("R1/P03/1")),
            *later,
        ),
        observations=observations,
    )


def asked(of: Record, alias: str = "P01") -> EndpointRequest:
    material = Material(pieces=(Piece(start=0, text="own profile"),), total_chars=11)
    return request_access.for_endpoint(of, alias, material=material, mandate=Mandate())


def test_an_endpoint_reads_what_holds_without_sources_and_nothing_that_others_said() -> None:
    request = asked(record())
    assert [one.id for one in request.items] == ["R1/P01/1", "R1/P01/2"]
    assert [one.id for one in request.stands] == ["R1/r1", "R1/r2", "R1/n1", "R1/n2", "R1/n3"]
    assert all(one.sources == () for one in request.stands)
    assert "said as R1/P02" not in request.model_dump_json()
    assert request.asked == ("R1/n1",)
    assert not request.first
    assert not request.exhausted
    assert request.words == "Words of round 1: [person 1] has a barge.", "as it is stored: reading masks nothing"


def test_what_was_replaced_falls_with_the_statements_that_rest_on_it() -> None:
    later = record(
        said(2, "P01", item("R2/P01/1", replaces=("R1/P01/2",))),
        said(2, "P02", item("R2/P02/1", replaces=("R1/P02/1",))),
        observations=(FIRST, Observation(round=2, verdict=Verdict.EXHAUSTED)),
        round_number=3,
    )
    request = asked(later)
    assert [one.id for one in request.items] == ["R1/P01/1", "R2/P01/1"]
    assert "R1/r1" not in [one.id for one in request.stands]
    assert request.asked == (), "a gap is asked in one round"
    assert request.exhausted


def test_what_was_said_in_the_same_round_is_not_read() -> None:
    request = asked(record(said(2, "P01", item("R2/P01/1")), said(2, "P02", item("R2/P02/1"))))
    assert [one.id for one in request.items] == ["R1/P01/1", "R1/P01/2"]


@pytest.mark.parametrize(("seated", "answers_only"), [(False, True), (True, False)])
def test_the_demander_without_a_seat_only_answers_what_asks_them(seated: bool, answers_only: bool) -> None:
    of = record()
    if seated:
        of = of.model_copy(update={"participants": (Participant(alias="P00"), *of.participants)})
    request = asked(of, "P00")
    assert (request.answers_only, request.asked, request.first) == (answers_only, ("R1/n2",), True)


def test_the_demander_with_a_seat_who_has_spoken_has_a_role_in_the_plan() -> None:
    spoken = record(said(2, "P00", item("R2/P00/1")))
    seated = spoken.model_copy(update={"participants": (Participant(alias="P00"), *spoken.participants)})
    roles = [request_access.for_planner(of, materials={}).aliases for of in (spoken, seated)]
    assert roles == [("P01", "P02", "P03"), ("P00", "P01", "P02", "P03")]


def test_a_long_profile_is_searched_for_what_the_round_is_about() -> None:
    second = Observation(round=2, notes=(gap("R2/n1"), gap("R2/n2", "P01")))

    def focus(*turns: Projection) -> list[str]:
        of = record(*turns, observations=(FIRST, second), round_number=3)
        return [text.removeprefix("text of ") for text in request_access.focus_of(of, "P01")]

    assert focus(said(2, "P01", item("R2/P01/1"))) == ["R2/n2", "R2/n1"], "what names them first"
    assert focus() == ["R1/r1", "R1/n1", "R2/n2", "R1/n2", "R1/n3", "R2/n1"], "since their last turn"
    assert request_access.focus_of(record(round_number=1), "P01") == ()


def test_the_catalyst_and_the_planner_read_what_was_said_and_nothing_of_a_profile() -> None:
    of = record(said(2, "P00", item("R2/P00/1", about=("R1/n2",))), said(2, "P02", outcome=Outcome.FAILED))
    catalyst = request_access.for_catalyst(of, strategy="look for boats")
    assert [one.round for one in catalyst.exchange] == [1, 2]
    assert catalyst.exchange[1].observation is None
    assert catalyst.contributors == ("P01", "P02", "P03"), "the demander's answers are no contribution"
    assert (catalyst.verdict_counts, catalyst.strategy) == (False, "look for boats")
    assert catalyst.exchange[1].projections[-1].outcome is Outcome.LAPSED, "a failed turn reads as a lapsed one"
    planner = request_access.for_planner(of, materials={}, without=["P03"])
    assert planner.aliases == ("P01", "P02")
    for request in (catalyst, planner):
        assert "said as R1/P02/1" in request.model_dump_json()
        assert QUOTE not in request.model_dump_json()
        assert "Vera Holm" not in request.model_dump_json(), "no request names who takes part"


def test_the_verdict_counts_from_the_third_round() -> None:
    of = record(said(3, "P01"), observations=(FIRST, Observation(round=2)), round_number=3)
    assert request_access.for_catalyst(of).verdict_counts
