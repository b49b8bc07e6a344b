"""The workflow class itself, driven in process: where suspension, people and timers meet (docs/protocol.md §3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.in_process import SINGLE_BATCH, InProcess, WorkflowTaskFailed
from tests.simulation.rooms import Room
from tongyao.protocol.contracts.process import (
    OPERATOR_NEEDED,
    CheckDeadlineOutput,
    ProjectOutput,
    TurnOutput,
)
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.messages import MAX_MESSAGES
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.rules.refusals import MessageVerdict

HUMAN, PROXY = EndpointKind.HUMAN, EndpointKind.PROXY
RESIDUAL = "plan/1/residual/1"


def accepted(verdict: Any) -> bool:
    return isinstance(verdict, MessageVerdict) and verdict.accepted


# ---- signals


def test_a_second_resume_after_a_second_suspension_takes_effect() -> None:
    room = Room(PROXY, PROXY)
    for _ in range(2):
        room.activate(room.failed(room.named("project")[0], OPERATOR_NEEDED, "no credit"))
        while room.named("project"):
            room.activate(room.failed(room.named("project")[0], OPERATOR_NEEDED, "no credit"))
        assert room.state.suspended
        room.activate(room.signal("resume"))
        assert not room.state.suspended
        assert room.named("project")


# ---- suspension, people and time


def test_a_reminder_that_falls_due_while_suspended_is_not_given_to_who_has_answered() -> None:
    room = Room(HUMAN, HUMAN, PROXY)
    room.activate(room.failed(room.named("project")[0], OPERATOR_NEEDED))
    room.pass_time(hours=40)
    assert accepted(room.words("P01"))
    room.by_operator("resume")
    room.pass_time(hours=30)
    reminded = [event.data["alias"] for event in room.state.outbox if event.kind == "reminder"]
    assert "P01" not in reminded


def test_nobody_is_asked_about_a_plan_that_has_no_part_for_anybody() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers(has_parts=False)
    assert room.state.phase is Phase.COMPLETED
    assert not room.state.asked_for_answers


def test_a_commit_without_a_part_ends_nothing_that_others_are_still_asked() -> None:
    room = Room(HUMAN, HUMAN, residuals="ask")
    room.to_answers(RESIDUAL, has_parts=False)
    assert accepted(room.by_participant("P01", "answer_plan", revision=1, answer="commit"))
    assert room.state.phase is Phase.ANSWERING, "the demander is asked about the residual"

    room = Room(HUMAN, HUMAN, residuals="off")
    room.to_answers()
    assert accepted(room.by_participant("P01", "answer_plan", revision=1, answer="commit"))
    assert room.state.phase is Phase.ANSWERING, "P02 is asked, whoever of them has a part"


def test_an_answer_given_while_suspended_counts_after_days() -> None:
    room = Room(HUMAN, HUMAN, residuals="ask")
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    room.activate(room.failed(room.named("branch")[0], OPERATOR_NEEDED))
    assert room.state.suspended
    assert accepted(room.by_participant("P01", "answer_plan", revision=1, answer="commit"))
    room.pass_time(days=7)
    assert room.state.phase is Phase.ANSWERING
    room.by_operator("resume")
    assert room.state.answers == {"P01": "commit"}
    assert room.state.phase is Phase.ANSWERING


def test_while_the_records_are_away_for_a_day_nothing_lapses_and_all_goes_on_without_a_command() -> None:
    room = Room(HUMAN, HUMAN, turn_seconds=3600 * 12)
    room.pass_time(hours=11)
    room.activate(room.signal("set_mandate"))
    room.activate(room.failed(room.named("record")[0], "DatabaseUnreachable"))
    for _ in range(200):  # a day: every try fails
        room.pass_time(minutes=8)
        for record in room.named("record"):
            room.activate(room.failed(record, "DatabaseUnreachable"))
    assert room.state.suspended
    assert all(turn.open for turn in room.state.turns.values())
    room.pass_time(minutes=11)
    room.write_everything()
    assert not room.state.suspended
    room.pass_time(minutes=30)
    assert all(turn.waits for turn in room.state.turns.values())


def test_a_confirmation_waits_for_a_message_that_was_handed_in_before_its_end() -> None:
    room = Room(HUMAN, HUMAN, confirmed=False)
    room.pass_time(seconds=300)
    room.check_deadline(undelivered=True)
    assert room.phase == "confirming"
    assert accepted(room.by_demander("confirm_tension"))
    assert room.phase == "consenting"


def test_time_in_which_nothing_could_be_handed_in_is_given_back() -> None:
    room = Room(HUMAN, HUMAN)
    room.words("P02")
    room.pass_time(hours=72)
    room.check_deadline(shut_seconds=7200)
    turn = room.state.turns["P01"]
    assert turn.waits
    room.pass_time(hours=1, minutes=59)
    assert turn.waits
    assert not room.named("check_deadline")
    room.pass_time(minutes=1)
    room.check_deadline(shut_seconds=7200)
    assert room.state.turns["P01"].outcome is Outcome.LAPSED


def test_a_late_call_of_before_the_resumption_suspends_no_second_time() -> None:
    room = Room(PROXY, PROXY)
    (both,) = room.named("project")
    room.activate(room.failed(both, OPERATOR_NEEDED))
    room.by_operator("resume")
    first, second = room.named("project")
    room.pass_time(seconds=5)
    room.activate(room.failed(first, OPERATOR_NEEDED))
    assert room.state.suspended
    room.by_operator("resume")
    room.activate(room.failed(second, OPERATOR_NEEDED))  # it began before the resumption
    assert not room.state.suspended


def test_after_a_suspended_step_nobody_is_asked_who_left_and_the_new_words_count() -> None:
    room = Room(PROXY, PROXY, HUMAN, PROXY)
    room.words("P03", "first")
    (proxies,) = (one for one in room.named("project") if len(one.input["turns"]) > 1)
    room.activate(room.failed(proxies, OPERATOR_NEEDED, "no credit"))
    assert accepted(room.by_participant("P01", "leave"))
    assert accepted(room.by_participant("P02", "switch_endpoint", endpoint="human"))
    assert accepted(room.words("P03", "corrected"))
    room.by_operator("resume")
    asked = [turn["alias"] for one in room.named("project") for turn in one.input["turns"]]
    assert asked == ["P04"]
    assert [words.text_id for words in room.state.turns["P03"].words] == ["corrected"]
    assert room.state.turns["P02"].waits


def test_one_profile_that_cannot_be_read_does_not_hold_up_the_others() -> None:
    room = Room(PROXY, PROXY, PROXY)
    room.activate(room.failed(room.named("project")[0], OPERATOR_NEEDED, "profile of P02"))
    room.by_operator("resume")
    for one in list(room.named("project")):
        (turn,) = one.input["turns"]
        if turn["alias"] == "P02":
            room.activate(room.failed(one, OPERATOR_NEEDED, "profile of P02"))
        else:
            output = TurnOutput(alias=turn["alias"], revision=1, outcome=Outcome.REPLIED)
            room.activate(room.completed(one, ProjectOutput(turns=(output,))))
    outcomes = {alias: turn.outcome for alias, turn in room.state.turns.items()}
    assert outcomes == {"P01": Outcome.REPLIED, "P02": None, "P03": Outcome.REPLIED}


def test_two_people_may_correct_themselves_one_after_the_other() -> None:
    room = Room(HUMAN, HUMAN, correcting_seconds=600)
    room.words("P01", "a")
    room.words("P02", "b")
    assert accepted(room.words("P01", "a2"))
    assert accepted(room.words("P02", "b2"))
    room.pass_time(minutes=9)
    assert not room.named("project")
    room.pass_time(minutes=2)
    (step,) = room.named("project")
    assert [turn["submissions"] for turn in step.input["turns"]] == [["a2"], ["b2"]]
    room.project()
    assert room.named("observe")


# ---- a timer and a message in one activation


@pytest.mark.parametrize("flags", [frozenset(), SINGLE_BATCH], ids=["jobs in order", "single batch"])
@pytest.mark.parametrize("message_first", [True, False])
def test_words_that_come_with_the_deadline_count(flags: Any, message_first: bool) -> None:
    room = Room(HUMAN, HUMAN, flags=flags)
    room.words("P02")
    room.pass_time(hours=71, minutes=59)
    author = m.Author(role="participant", alias="P01")
    update = room.update(room.message("submit_projection", author, alias="P01", round=1, text_id="late"))
    jobs = [update, room.fired()] if message_first else [room.fired(), update]
    room.activate(*jobs)
    assert not room.named("check_deadline")
    room.project()
    assert room.state.turns["P01"].outcome is Outcome.REPLIED


# ---- rules and versions


def test_a_rule_that_became_stricter_does_not_change_what_a_history_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(HUMAN, HUMAN)
    update = room.update(room.message("conclude", m.Author(role="demander", alias="P00")))
    monkeypatch.setattr("tongyao.protocol.life.machine.refuse", lambda state, message: "not_now")
    update.do_update.run_validator = False  # a replay: the history holds the acceptance
    room.activate(update)
    assert room.state.concluded


def test_a_message_with_a_new_field_or_of_a_new_kind_is_no_final_refusal() -> None:
    room = Room(HUMAN, HUMAN)
    update = room.update(room.message("conclude", m.Author(role="demander", alias="P00")))
    update.do_update.input[0].data = update.do_update.input[0].data.replace(b'"kind"', b'"new_field":1,"kind"')
    room.activate(update)
    assert isinstance(room.verdicts[str(room.updates)], str)  # a failure, and no verdict
    update = room.update(room.message("conclude", m.Author(role="demander", alias="P00")))
    update.do_update.name = "no_such_kind"
    room.activate(update)
    assert isinstance(room.verdicts[str(room.updates)], str)


def test_a_process_continues_as_new_by_the_upgrade_message_and_loses_nothing() -> None:
    room = Room(HUMAN, HUMAN)
    room.words("P01")
    room.write_everything()
    assert accepted(room.by_operator("upgrade"))
    assert room.continued is None  # not in the task that answered an update
    room.pass_time(seconds=2)
    carried = room.continued
    assert isinstance(carried, State)
    again = InProcess(carried, now=room.now)
    assert [words.text_id for words in again.state.turns["P01"].words] == ["words"]
    assert again.state.turns["P02"].waits
    assert not again.state.upgrade_wanted
    message = room.message(
        "submit_projection", m.Author(role="participant", alias="P02"), alias="P02", round=1, text_id="x"
    )
    assert accepted(again.say(message))
    repeated = again.say(message)
    assert isinstance(repeated, MessageVerdict)
    assert repeated.repeated


def test_two_thousand_switches_by_one_participant_leave_room_for_the_demander() -> None:
    room = Room(HUMAN, HUMAN)
    refused = 0
    for number in range(2_000):
        if room.continued is not None:
            carried = room.continued
            numbers = room.numbers
            room = Room.__new__(Room)
            InProcess.__init__(room, carried)
            room.numbers = numbers
        endpoint = "agent" if number % 2 else "proxy"
        verdict = room.by_participant("P01", "switch_endpoint", endpoint=endpoint)
        refused += not accepted(verdict)
        for step in room.named("project"):
            if number % 50 == 49:
                room.activate(room.failed(step, "DatabaseUnreachable"))
    assert refused >= 2_000 - MAX_MESSAGES
    assert accepted(room.by_demander("cancel"))
    assert room.state.phase is Phase.CANCELLED


def test_switching_to_what_speaks_already_is_refused() -> None:
    room = Room(HUMAN, HUMAN)
    refused = room.by_participant("P01", "switch_endpoint", endpoint="human")
    assert isinstance(refused, MessageVerdict)
    assert refused.code == "no_change"


# ---- the shell


def test_cancelling_in_the_temporal_ui_is_the_message_cancel() -> None:
    room = Room(HUMAN, PROXY)
    room.activate(room.cancel_job())
    room.write_everything()
    assert room.result["outcome"] == "cancelled"
    assert not room.named("project")


def test_a_defect_fails_the_workflow_task_and_not_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(HUMAN, HUMAN)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("tongyao.protocol.life.machine.tick", broken)
    with pytest.raises(WorkflowTaskFailed):
        room.words("P01")


def test_what_runs_and_is_not_wanted_any_more_is_cancelled() -> None:
    room = Room(PROXY, HUMAN)
    assert room.named("project")
    room.by_participant("P01", "leave")
    assert not room.named("project")
    assert [activity.name for activity in room.cancelled] == ["project"]


def test_search_attributes_tell_phase_and_causes_apart() -> None:
    room = Room(HUMAN, PROXY)
    room.activate(room.failed(room.named("project")[0], OPERATOR_NEEDED, "no credit"))
    assert room.attributes["TongyaoPhase"] == "crystallizing"
    assert room.attributes["TongyaoSuspended"] == ["operator_needed"]
    room.by_operator("resume")
    assert not room.attributes["TongyaoSuspended"]


def test_steps_name_the_queue_of_their_role() -> None:
    room = Room(HUMAN, PROXY)
    assert {activity.queue for activity in room.named("project")} == {"tongyao-models"}


def test_a_deadline_is_ended_by_a_step_and_not_by_the_timer() -> None:
    room = Room(HUMAN, HUMAN)
    room.words("P02")
    room.pass_time(hours=72)
    assert room.state.turns["P01"].waits
    (step,) = room.named("check_deadline")
    assert step.input["lanes"][0] == "P01"
    room.activate(room.completed(step, CheckDeadlineOutput()))
    assert room.state.turns["P01"].outcome is Outcome.LAPSED


def test_a_plan_without_everybody_is_not_made() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers()
    for alias in ("P01", "P02"):
        room.by_participant(alias, "answer_plan", revision=1, answer="decline")
    assert room.by_demander("replan", without=("P01", "P02")).code == "nobody_left"
    assert accepted(room.by_demander("replan", without=("P01",)))
