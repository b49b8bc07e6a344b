"""A message that answers what is over is refused and says what is open now (docs/protocol.md §8.3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.rooms import Room
from tests.workflows.test_shell import accepted
from tests.workflows.test_shell_children import child_of
from tongyao.protocol.model.projection import EndpointKind

HUMAN = EndpointKind.HUMAN
RESIDUAL = "plan/1/residual/1"


def over(verdict: Any, now: str) -> bool:
    """Whether the message was refused because what it answers is over, and says in both languages what is open."""
    return verdict.code == "ask_over" and now in verdict.en and now in verdict.zh


def test_a_conclude_of_round_1_that_arrives_late_does_not_end_the_answers() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers()
    assert over(room.by_demander("conclude", ask="conclude/crystallizing/1"), "conclude/answering/1")
    assert room.phase == "answering"
    assert accepted(room.by_demander("conclude", ask="conclude/answering/1"))


def test_a_conclude_of_round_1_does_not_end_the_rounds_in_round_2() -> None:
    room = Room(HUMAN, HUMAN)
    for alias in ("P01", "P02"):
        room.words(alias)
    room.project()
    room.observe()
    assert over(room.by_demander("conclude", ask="conclude/crystallizing/1"), "conclude/crystallizing/2")
    assert accepted(room.by_demander("conclude", ask="conclude/crystallizing/2"))


def test_a_conclude_that_names_the_rounds_alone_ends_them_in_any_round_and_nothing_after_them() -> None:
    room = Room(HUMAN, HUMAN)
    for alias in ("P01", "P02"):
        room.words(alias)
    room.project()
    room.observe()
    assert accepted(room.by_demander("conclude", ask="conclude/crystallizing"))
    later = Room(HUMAN, HUMAN)
    later.to_answers()
    assert over(later.by_demander("conclude", ask="conclude/crystallizing"), "conclude/answering/1")


def test_two_presses_of_conclude_while_answers_are_awaited_do_not_give_up_running_children() -> None:
    room = Room(HUMAN, HUMAN, wait_for_children=True)
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    room.finish("branch", child_of(room))
    room.activate(room.child_started(next(iter(room.children))))
    assert accepted(room.by_demander("conclude", ask="conclude/answering/1"))
    assert room.phase == "awaiting_children"
    assert over(room.by_demander("conclude", ask="conclude/answering/1"), "conclude/awaiting_children/1")
    assert room.phase == "awaiting_children"
    assert accepted(room.by_demander("conclude", ask="conclude/awaiting_children/1"))
    room.write_everything()
    assert room.phase == "completed"


def test_a_new_plan_is_of_the_revision_that_was_answered() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers()
    room.by_participant("P01", "answer_plan", revision=1, answer="decline")
    assert over(room.by_demander("replan", without=("P01",), ask="replan/2"), "replan/1")
    assert accepted(room.by_demander("replan", without=("P01",), ask="replan/1"))


def test_more_time_is_given_to_the_turn_that_was_shown_and_not_to_the_next() -> None:
    room = Room(HUMAN, HUMAN)
    more = {"seconds": 3600, "ask": "extend_deadline/crystallizing/1/P01"}
    assert accepted(room.by_participant("P01", "extend_deadline", **more))
    for alias in ("P01", "P02"):
        room.words(alias)
    room.project()
    room.observe()
    assert over(room.by_participant("P01", "extend_deadline", **more), "extend_deadline/crystallizing/2/P01")


def to_deciding(room: Room) -> None:
    while room.phase != "deciding":
        for alias in ("P01", "P02"):
            room.words(alias)
        room.project()
        room.observe()


def test_more_time_to_confirm_is_none_to_decide() -> None:
    room = Room(HUMAN, HUMAN, confirmed=False, max_rounds=2)
    more = {"alias": "P00", "seconds": 3600, "ask": "extend_deadline/confirming/0/P00"}
    assert accepted(room.by_demander("extend_deadline", **more))
    room.by_demander("confirm_tension")
    room.seat()
    to_deciding(room)
    assert over(room.by_demander("extend_deadline", **more), "extend_deadline/deciding/2/P00")


def test_a_decision_answers_the_question_that_was_shown() -> None:
    room = Room(HUMAN, HUMAN, max_rounds=2)
    to_deciding(room)
    assert accepted(room.by_demander("decide", decision="extend", ask="decide/1"))
    to_deciding(room)
    assert over(room.by_demander("decide", decision="extend", ask="decide/1"), "decide/2")


@pytest.mark.parametrize("kind", ["conclude", "extend_deadline"])
def test_whoever_names_nothing_answers_what_is_open(kind: str) -> None:
    room = Room(HUMAN, HUMAN)
    fields: dict[str, Any] = {"alias": "P01", "seconds": 60} if kind == "extend_deadline" else {}
    assert accepted(room.by_demander(kind, **fields))
