"""Steps whose model calls wait for answers from outside (docs/protocol.md §8.5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tongyao.protocol.contracts.process import (
    CheckDeadlineOutput,
    ConsentOutput,
    FormulateOutput,
    FreezeOutput,
    ObserveOutput,
    Pending,
    ProcessInput,
    ProjectOutput,
    TurnOutput,
)
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.life.state import RECORD_KEY, State, StepFailure, Success
from tongyao.protocol.life.why import why
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Author, CallAnswered, Resume
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Choice, ProfileRef, Seat, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.tension import Grade

NOW = datetime(2026, 11, 24, tzinfo=UTC)
DAY = timedelta(days=1)
ALIASES = ("P01", "P02", "P03")
TENSION = TensionRef(text_id="t", grade=Grade.A, barriers=1)


def begun(**settings: Any) -> State:
    start = ProcessInput(
        process_id="p", demander="d", intent_text_id="i",
        participants=tuple(Choice(profile_id=alias.lower()) for alias in ALIASES),
        settings=ProcessSettings.model_validate({"auto_confirm": True, "residuals": "off", **settings}),
    )  # fmt: skip
    return machine.begin(start, NOW, "seed")


def steps(state: State) -> list[str]:
    return [key for key, step in machine.wanted(state).items() if key != RECORD_KEY and not step.held]


def ended(state: State, key: str, output: Any, at: datetime = NOW) -> None:
    assert key in steps(state)
    machine.finish(state, key, Success(output, tuple(event.seq for event in state.outbox)), at)


def answered(state: State, call: str, at: datetime = NOW) -> None:
    number = state.lanes.get("calls", 0) + 1
    message = CallAnswered(
        key=call, author=Author(role="answerer", alias="calls"), lane="calls", number=number, call=call
    )
    assert machine.refuse(state, message) is None
    machine.hear(state, message, at)


def in_round_1(**settings: Any) -> State:
    state = begun(**settings)
    ended(state, "formulate", FormulateOutput(tension=TENSION))
    ended(state, "consent/1", ConsentOutput())
    seats = [Seat(alias=alias, profile=ProfileRef(profile_id=alias.lower(), version=1)) for alias in ALIASES]
    ended(state, "seat/1", FreezeOutput(seats=tuple(seats)))
    return state


def spoke(*aliases: str) -> ProjectOutput:
    return ProjectOutput(
        turns=tuple(TurnOutput(alias=one, revision=1, outcome=Outcome.REPLIED, items=1) for one in aliases)
    )


def over(state: State, at: datetime) -> None:
    """Let the time of what waits run out, with nothing on its way."""
    machine.tick(state, at)
    for key in [key for key in steps(state) if key.startswith("check_deadline/")]:
        ended(state, key, CheckDeadlineOutput(), at)


def test_a_step_is_parked_until_its_call_is_answered() -> None:
    state = begun()
    ended(state, "formulate", Pending(waiting_calls=("call-1",)))
    assert steps(state) == []
    [ask] = snapshot(state, NOW).inbox
    assert (ask.ask, ask.alias, ask.subject, ask.due) == ("calls", "", "call-1", NOW + 7 * DAY)
    assert snapshot(state, NOW).waiting
    [reason] = why(state, NOW)
    assert "the model calls that wait (1)" in reason.sentence and "`tongyao calls next`" in reason.sentence
    answered(state, "call-2")
    assert steps(state) == [], "another call"
    answered(state, "call-1")
    assert steps(state) == ["formulate"]
    ended(state, "formulate", Pending(waiting_calls=("call-3",)))  # its one repair
    answered(state, "call-3")
    ended(state, "formulate", FormulateOutput(tension=TENSION))
    assert not state.parked and steps(state) == ["consent/1"]


def test_an_answer_that_comes_before_its_step_has_returned_is_not_lost() -> None:
    state = begun()
    answered(state, "call-1")
    ended(state, "formulate", Pending(waiting_calls=("call-1",)))
    assert steps(state) == ["formulate"] and state.answered_calls == ()
    assert [event.data for event in state.outbox if event.kind is EventKind.CALL_ANSWERED] == [{"call": "call-1"}]


def test_each_proxy_of_a_round_waits_by_itself() -> None:
    state = in_round_1()
    ended(state, "project/1/1", Pending(waiting_calls=("call-1", "call-2", "call-3")))
    assert steps(state) == ["project/1/2", "project/1/3", "project/1/4"]
    for number in (1, 2, 3):
        ended(state, f"project/1/{number + 1}", Pending(waiting_calls=(f"call-{number}",)))
    assert snapshot(state, NOW).inbox[0].subject == "call-1 call-2 call-3"
    answered(state, "call-2")
    assert steps(state) == ["project/1/3"]
    ended(state, "project/1/3", spoke("P02"))
    for number, alias in ((1, "P01"), (3, "P03")):
        answered(state, f"call-{number}")
        ended(state, f"project/1/{number + 1}", spoke(alias))
    assert steps(state) == ["observe/1"]


def test_a_turn_that_nobody_answers_in_time_has_failed() -> None:
    state = in_round_1(delegated_seconds=3600)
    ended(state, "project/1/1", Pending(waiting_calls=("a", "b", "c")))
    for number, alias in enumerate(ALIASES, 2):
        ended(state, f"project/1/{number}", Pending(waiting_calls=(f"call-{alias}",)))
    answered(state, "call-P01")
    ended(state, "project/1/2", spoke("P01"))
    over(state, NOW + timedelta(seconds=3601))
    assert {alias: turn.outcome for alias, turn in state.turns.items()} == {
        "P01": Outcome.REPLIED, "P02": Outcome.FAILED, "P03": Outcome.FAILED
    }  # fmt: skip
    assert steps(state) == ["observe/1"] and not state.suspended


def test_an_observation_that_nobody_answers_suspends_the_process_and_the_answer_goes_on() -> None:
    at = NOW + timedelta(seconds=3601)
    for by in ("answer", "resume"):
        state = in_round_1(delegated_seconds=3600)
        ended(state, "project/1/1", spoke(*ALIASES))
        ended(state, "observe/1", Pending(waiting_calls=("call-1",)))
        over(state, at)
        assert [cause.code for cause in state.causes.values()] == ["not_answered"] and steps(state) == []
        assert "tongyao calls" in snapshot(state, at).suspended_reason
        assert {one.ask for one in snapshot(state, at).inbox} == {"calls", "resume"}, "it can still be answered"
        if by == "answer":
            answered(state, "call-1", at + DAY)
        else:
            machine.hear(state, Resume(author=Author(role="operator")), at + DAY)
        assert not state.suspended and steps(state) == ["observe/1"]
        if by == "resume":
            ended(state, "observe/1", Pending(waiting_calls=("call-1",)), at + DAY)
            assert snapshot(state, at + DAY).inbox[0].due == at + DAY + timedelta(seconds=3600)
            answered(state, "call-1", at + DAY)
        ended(state, "observe/1", ObserveOutput(verdict=Verdict.MORE), at + DAY)
        assert state.round == 2


def resumed_without_answer() -> State:
    """A process whose observation runs again after `resume`, because nobody answered `call-1` in time."""
    state = in_round_1(delegated_seconds=60)
    ended(state, "project/1/1", spoke(*ALIASES))
    ended(state, "observe/1", Pending(waiting_calls=("call-1",)))
    over(state, NOW + DAY)
    machine.hear(state, Resume(author=Author(role="operator")), NOW + DAY)
    return state


def test_an_answer_that_comes_while_the_step_runs_again_is_not_lost() -> None:
    """After `resume` the step looks for its answer, does not find it, and returns after the answer has come."""
    state = resumed_without_answer()
    answered(state, "call-1", NOW + DAY)
    ended(state, "observe/1", Pending(waiting_calls=("call-1",)), NOW + DAY)
    assert not state.parked and steps(state) == ["observe/1"]


def test_an_answer_does_not_end_a_suspension_that_has_another_cause() -> None:
    """The step runs again after `resume`, and fails of a key. A late answer does not mend the key."""
    state = resumed_without_answer()
    machine.finish(state, "observe/1", StepFailure("operator", "bad_key", "the key is refused", NOW + DAY), NOW + DAY)
    answered(state, "call-1", NOW + DAY)
    assert [cause.code for cause in state.causes.values()] == ["bad_key"] and steps(state) == []


def test_what_nobody_wants_any_more_is_not_asked_for() -> None:
    state = in_round_1()
    ended(state, "project/1/1", Pending(waiting_calls=("a", "b", "c")))
    for number, alias in enumerate(ALIASES, 2):
        ended(state, f"project/1/{number}", Pending(waiting_calls=(f"call-{alias}",)))
    machine.hear(state, _to_human("P01"), NOW)
    assert "call-P01" not in snapshot(state, NOW).inbox[0].subject
    assert {one.alias for one in snapshot(state, NOW).inbox if one.ask == "projection"} == {"P01"}


def _to_human(alias: str) -> Any:
    from tongyao.protocol.model.messages import MESSAGE

    author = {"role": "participant", "alias": alias}
    return MESSAGE.validate_python({"kind": "switch_endpoint", "alias": alias, "endpoint": "human", "author": author})


@pytest.mark.parametrize("reload", [False, True])
def test_a_parked_step_survives_in_the_state_that_a_new_run_gets(reload: bool) -> None:
    state = begun()
    ended(state, "formulate", Pending(waiting_calls=("call-1",)))
    if reload:
        state = State.model_validate_json(state.model_dump_json())
    answered(state, "call-1")
    assert steps(state) == ["formulate"]
