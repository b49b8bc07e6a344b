"""Somebody's time is ended by a step that looks for messages on their way, never by the timer alone (docs/protocol.md §3.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.protocol.lives import DAY, HOUR, MINUTE, Life
from tongyao.protocol.model.events import EventKind


def test_a_message_stored_a_minute_before_the_deadline_and_delivered_after_it_counts() -> None:
    life = Life.in_round_one("human", "proxy", turn_seconds=3600)
    life.succeed("project")
    life.wait(59 * MINUTE)
    life.store("P01", "submit_projection", round=1, text_id="in time")
    life.wait(5 * MINUTE)
    life.succeed("check_deadline")

    assert life.outcomes() == {"P02": "replied"}
    assert life.deliver("P01") == ""
    life.succeed("project")
    assert life.events(EventKind.ESCALATED) == []


def test_a_tension_does_not_confirm_itself_over_a_revision_on_its_way() -> None:
    life = Life("proxy", "proxy")
    life.succeed("formulate")
    life.wait(4 * MINUTE)
    life.store("P00", "extend_deadline", seconds=3600)
    life.wait(2 * MINUTE)
    life.succeed("check_deadline")
    assert life.phase == "confirming"

    life.deliver("P00")
    life.wait(58 * MINUTE)
    assert life.phase == "confirming"
    life.wait(3 * MINUTE)
    life.succeed("check_deadline")
    assert life.events(EventKind.TENSION_CONFIRMED) == [{"by": "timer"}]


def _revise(life: Life, grade: str = "B") -> None:
    revised = {"text_id": f"at {life.world.now}", "grade": grade, "barriers": 1}
    assert life.by_demander("revise_tension", tension=revised) == ""


def test_a_revision_gives_the_whole_time_to_confirm_again() -> None:
    life = Life("proxy", "proxy")
    life.succeed("formulate")
    life.wait(4 * MINUTE)
    _revise(life)
    [asked] = life.asked("confirm_tension")
    assert asked.due == life.world.now + 5 * MINUTE

    life.wait(4 * MINUTE)
    assert life.phase == "confirming" and not life.runs("check_deadline")
    life.wait(MINUTE)
    life.succeed("check_deadline")
    assert life.events(EventKind.TENSION_CONFIRMED) == [{"by": "timer"}]


def test_a_revision_never_shortens_the_time_to_confirm() -> None:
    life = Life("proxy", "proxy")
    life.succeed("formulate")
    life.by_demander("extend_deadline", alias="P00", seconds=3600)
    life.wait(30 * MINUTE)
    _revise(life)
    life.wait(34 * MINUTE)
    assert life.phase == "confirming" and not life.runs("check_deadline")
    life.wait(MINUTE)
    assert life.runs("check_deadline")


def test_a_revision_while_the_passed_deadline_is_checked_gives_the_whole_time_again() -> None:
    life = Life("proxy", "proxy")
    life.succeed("formulate")
    life.wait(5 * MINUTE)
    assert life.runs("check_deadline")
    _revise(life)
    assert not life.runs("check_deadline")
    life.wait(4 * MINUTE)
    assert life.phase == "confirming"


def test_revising_again_and_again_ends_with_the_process() -> None:
    life = Life("proxy", "proxy", process_seconds=3600, turn_seconds=600)
    life.succeed("formulate")
    for _ in range(15):
        life.wait(4 * MINUTE)
        if life.phase == "confirming":
            _revise(life)
    assert life.phase == "expired"


def test_time_in_which_no_message_could_be_handed_in_is_given_back() -> None:
    life = Life.in_round_one("human", "proxy", turn_seconds=3600)
    life.succeed("project")
    life.wait(HOUR)
    life.succeed("check_deadline", shut=1800)

    assert life.asked_in_person() == {"P01"}
    life.wait(29 * MINUTE)
    assert not life.runs("check_deadline")
    life.wait(MINUTE)
    life.succeed("check_deadline", shut=1800)
    assert life.events(EventKind.ESCALATED) == [{"alias": "P01", "round": 1}]


@pytest.mark.parametrize("fallback", ["lapse", "proxy", "leave"])
def test_at_the_end_of_their_time_follows_what_a_person_chose(fallback: str) -> None:
    life = Life.in_round_one("human", "human", "human", fallback=fallback)
    life.says("P02", "words")
    life.wait(3 * DAY)
    life.succeed("check_deadline")

    assert life.events(EventKind.ESCALATED) == [{"alias": "P01", "round": 1}]
    if fallback == "proxy":
        assert life.turns_asked()["P01"] == ""
    else:
        assert life.outcomes()["P01"] == {"lapse": "lapsed", "leave": "left"}[fallback]


def test_people_are_reminded_at_half_and_at_nine_tenths_of_their_time() -> None:
    life = Life.in_round_one("human", "proxy")
    life.succeed("project")
    life.wait(3 * DAY)

    assert [one["share"] for one in life.events(EventKind.REMINDER)] == [0.5, 0.9]


def test_of_two_reminders_that_are_due_at_once_the_later_is_given() -> None:
    life = Life.in_round_one("human", "proxy")
    life.succeed("project")
    life.sleep(2.9 * DAY)
    life.world.apply(["tick", 0])

    assert [one["share"] for one in life.events(EventKind.REMINDER)] == [0.9]


def test_whoever_is_waited_for_extends_their_turn_once_and_at_most_by_its_length() -> None:
    life = Life.in_round_one("human", "proxy", turn_seconds=3600)

    assert life.by("P01", "extend_deadline", seconds=3601) == "too_long"
    assert life.by("P01", "extend_deadline", seconds=3600) == ""
    assert life.by("P01", "extend_deadline", seconds=60) == "extended_already"
    assert [(one.alias, one.due) for one in life.asked("projection")] == [("P01", life.world.now + 2 * HOUR)]


def test_the_same_extension_in_a_later_round_takes_effect_again() -> None:
    life = Life.in_round_one("human", "proxy", turn_seconds=3600)
    for number in (1, 2):
        assert life.state.round == number
        assert life.by_operator("extend_deadline", alias="P01", seconds=7200) == ""
        assert [one.due for one in life.asked("projection")] == [life.world.now + 3 * HOUR]
        life.succeed("project")
        life.says("P01", "words")
        life.succeed("project")
        life.succeed("observe")


def test_a_demander_in_the_room_extends_the_time_to_decide() -> None:
    life = Life.in_round_one("proxy", "proxy", demander_takes_part=True, max_rounds=2, turn_seconds=3600)
    for _ in range(2):
        life.by_demander("submit_projection", alias="P00", round=life.state.round, text_id="words")
        life.succeed("project")
        life.succeed("project")
        life.succeed("observe", verdict="more")
    assert life.phase == "deciding"

    assert life.by_demander("extend_deadline", alias="P00", seconds=3600) == ""
    assert [one.due for one in life.asked("decision")] == [life.world.now + 2 * HOUR], "nobody else is a person"


@pytest.mark.parametrize(("other", "term"), [("proxy", HOUR), ("human", 7 * DAY), ("agent", 7 * DAY)])
def test_a_decision_is_waited_for_a_week_where_somebody_else_is_a_person_and_an_hour_otherwise(
    other: str, term: timedelta
) -> None:
    life = Life.in_round_one("proxy", other, max_rounds=2)
    while life.phase == "crystallizing":
        if life.asked_in_person():
            life.says("P02", "words")
        life.succeed(
            "project" if life.runs("project") else "observe", **({} if life.runs("project") else {"verdict": "more"})
        )
    assert [one.due for one in life.asked("decision")] == [life.world.now + term]


@pytest.mark.parametrize("timer_first", [True, False])
def test_a_timer_and_words_in_one_moment_in_either_order(timer_first: bool) -> None:
    life = Life.in_round_one("human", "proxy", turn_seconds=3600)
    life.succeed("project")
    life.sleep(HOUR)
    if timer_first:
        life.world.apply(["tick", 0])
        assert life.runs("check_deadline")
    assert life.says("P01", "at the last moment") == ""
    life.world.apply(["tick", 0])

    assert not life.runs("check_deadline")
    assert life.turns_asked() == {"P01": "at the last moment"}


def test_a_process_nobody_helps_ends_by_its_own_deadline() -> None:
    life = Life.in_round_one("human", "proxy", process_seconds=400_000)
    life.succeed("project")
    life.wait(5 * DAY)

    assert life.phase == "expired" and life.wakes() is None
