"""Suspended, and people go on: nothing is lost, nobody is asked who must not be (docs/protocol.md §3.7)."""

from __future__ import annotations

from tests.protocol.lives import DAY, HOUR, MINUTE, Life
from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.model.events import EventKind


def test_a_reminder_that_falls_due_while_suspended_is_not_given_and_the_answer_counts() -> None:
    life = Life.in_round_one("human", "proxy")
    life.fail("project")
    life.wait(2 * DAY)

    assert life.events(EventKind.REMINDER) == []
    assert life.says("P01", "what I can do") == ""
    life.by_operator("resume")

    life.succeed("project")
    assert life.turns_asked() == {"P01": "what I can do"}
    life.wait(7 * DAY)
    assert life.events(EventKind.REMINDER) == []


def test_an_answer_given_while_suspended_counts_though_its_time_passes_meanwhile() -> None:
    life = Life.answering("human", "human", residuals="auto", residuals_of_plan=1)
    life.fail("branch")
    assert life.by("P01", "answer_plan", revision=1, answer="commit") == ""
    life.wait(7 * DAY)
    life.by_operator("resume")

    assert life.phase == "answering" and life.state.answers == {"P01": "commit"}
    assert {one.alias for one in life.asked("answer")} == {"P02"}


def test_no_deadline_runs_while_suspended_and_the_time_left_is_told() -> None:
    life = Life.in_round_one("human", "proxy", turn_seconds=3600)
    life.wait(20 * MINUTE)
    life.fail("project", "infrastructure", "no_worker")
    whole = 3600  # the clock stands from when the step was started, which was at once

    assert [(one.due, one.remaining_seconds) for one in life.asked("projection")] == [(None, whole)]
    life.sleep(10 * HOUR)
    life.wait(MINUTE)
    life.succeed("project")

    assert [one.due for one in life.asked("projection")] == [life.world.now + HOUR]


def test_after_resuming_nobody_is_asked_who_left_and_new_words_count() -> None:
    life = Life.in_round_one("proxy", "proxy", "proxy", "human")
    life.says("P04", "first words")
    life.fail("project", code="unreadable_profile")
    for _ in range(3):
        life.fail("project", code="unreadable_profile")
    life.by("P01", "leave")
    life.by("P02", "switch_endpoint", endpoint="human")
    life.says("P02", "I speak myself")
    life.says("P04", "better words")
    life.by_operator("resume")

    assert life.turns_asked() == {"P03": ""}
    life.succeed("project")
    assert life.turns_asked() == {"P02": "I speak myself", "P04": "better words"}


def test_one_unreadable_profile_does_not_block_the_others() -> None:
    life = Life.in_round_one("proxy", "proxy", "proxy")
    life.fail("project", code="unreadable_profile")

    assert [len(given.turns) for given in life.given("project")] == [1, 1, 1]
    life.fail("project", code="unreadable_profile")
    life.succeed("project")
    life.succeed("project")
    assert set(life.outcomes()) == {"P02", "P03"}


def test_the_same_command_to_resume_works_after_every_suspension() -> None:
    life = Life("proxy", "proxy")
    for _ in range(2):
        life.fail("formulate")
        assert life.state.suspended
        assert life.signal("resume") == ""
        assert not life.state.suspended
    assert life.signal("resume") == "not_suspended"


def test_the_records_are_away_for_a_day_and_all_goes_on_without_a_command() -> None:
    life = Life("human", "human", confirm_seconds=300)
    life.succeed("formulate")
    life.world.apply(["tick", 1])
    life.by_demander("revise_tension", tension={"text_id": "better", "grade": "B", "barriers": 1})
    life.fail("record", "infrastructure", "database_away")
    for _ in range(150):
        life.world.apply(["alarm"])
        life.fail("record", "infrastructure", "database_away")

    assert life.phase == "confirming"
    life.world.apply(["alarm"])
    life.world.apply(["succeed", "record", {}])
    assert not life.state.suspended and life.phase == "confirming"


def test_tries_follow_after_ten_seconds_to_ten_minutes() -> None:
    life = Life("proxy", "proxy")
    waits = []
    for _ in range(8):
        life.fail("formulate", "infrastructure", "no_worker")
        life._write()
        at = life.state.causes["formulate"].retry_at
        assert at is not None
        waits.append((at - life.world.now).total_seconds())
        life.world.apply(["tick", waits[-1]])
    assert waits == [10, 30, 60, 120, 300, 600, 600, 600]


def test_a_call_that_began_before_the_resumption_suspends_no_second_time() -> None:
    life = Life.in_round_one("proxy", "proxy")
    life.fail("project")
    life.by_operator("resume")
    first, second = (running.key for running in life.runs("project"))
    life.world.apply(["fail", first, "operator", "no_credit"])
    life.sleep(MINUTE)
    life.by_operator("resume")
    life.world.apply(["fail", second, "operator", "no_credit"])

    assert not life.state.suspended
    assert life.turns_asked() == {"P01": "", "P02": ""}


def test_a_cause_that_changes_its_code_is_told_as_another_cause() -> None:
    life = Life("proxy", "proxy")
    life.fail("formulate", "infrastructure", "no_worker")
    life.world.apply(["alarm"])
    life.fail("formulate", "operator", "bad_key")

    assert [one["code"] for one in life.events(EventKind.SUSPENDED)] == ["no_worker", "bad_key"]
    assert [one["code"] for one in life.events(EventKind.RESUMED)] == ["no_worker"]


def test_the_reason_on_the_row_does_not_tell_how_many_proxies_failed() -> None:
    life = Life.in_round_one("proxy", "proxy")
    life.fail("project")  # from now on each proxy has a step of its own
    life.fail("project", "infrastructure", "no_worker")
    one = snapshot(life.state, life.world.now)
    life.fail("project", "infrastructure", "no_worker")

    assert len(life.state.causes) == 2
    assert one.suspended_reason
    assert snapshot(life.state, life.world.now).suspended_reason == one.suspended_reason


def test_words_that_come_while_suspended_are_written_to_the_records_at_once() -> None:
    life = Life.in_round_one("human", "proxy")
    life.fail("project")
    life._write()
    life.says("P01", "words")

    assert "record" in life.world.running


def test_whoever_left_is_not_asked_again_when_every_endpoint_failed() -> None:
    life = Life.in_round_one("proxy", "human", "proxy", quorum=1)
    life.fail("project")
    life.by_operator("resume")
    life.succeed("project", outcomes={"P01": "failed"})
    life.by("P01", "leave")
    life.by("P02", "leave")
    life.succeed("project", outcomes={"P03": "failed"})

    assert life.state.suspended
    life.by_operator("resume")
    assert life.turns_asked() == {"P03": ""}


def test_whoever_took_over_from_a_proxy_that_failed_is_asked_in_person_when_all_failed() -> None:
    life = Life.in_round_one("proxy", "proxy")
    life.fail("project")
    life.by_operator("resume")
    life.succeed("project", outcomes={"P01": "failed"})
    life.by("P01", "switch_endpoint", endpoint="human")
    life.succeed("project", outcomes={"P02": "failed"})
    life.by_operator("resume")

    assert life.asked_in_person() == {"P01"}
    assert life.turns_asked() == {"P02": ""}
