"""Steps whose model calls wait for answers from outside (docs/protocol.md §8.5).

Such a step returns `Pending` and is parked. The process does not run a parked step until messages report that all its
calls are answered. Then the step runs again and finds the answers in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tongyao.protocol.contracts.process import Pending
from tongyao.protocol.life import clock
from tongyao.protocol.life.rounds import NOT_ANSWERED
from tongyao.protocol.life.state import Cause, Deadline, Parked, State, WantedStep, note
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import CALLS_LANE, CallAnswered


def runnable(state: State, steps: Mapping[str, WantedStep]) -> dict[str, WantedStep]:
    """Return the steps that are not parked, and the parked steps whose deadline for answers has passed."""
    return {key: step for key, step in steps.items() if key not in state.parked or not state.parked[key].deadline}


def park(state: State, key: str, pending: Pending, now: datetime) -> None:
    """Park a step that returned without answers. If all its calls have been answered since, the step runs again at
    once."""
    state.parked.pop(key, None)
    early = [call for call in pending.waiting_calls if call in state.answered_calls]
    for call in early:
        note(state, EventKind.CALL_ANSWERED, now, call=call)
    state.answered_calls = tuple(call for call in state.answered_calls if call not in early)
    if waits := tuple(call for call in pending.waiting_calls if call not in early):
        deadline = clock.ask_until(state, state.start.settings.delegated_seconds, now, whose=CALLS_LANE)
        state.parked[key] = Parked(calls=waits, deadline=deadline)
        note(state, EventKind.CALLS_WAITING, now, step=key, calls=len(waits))


def answered(state: State, message: CallAnswered, now: datetime) -> None:
    """Record an answered call. After the last answer its step is wanted again. A suspension because nobody answered
    its calls then ends."""
    for key, parked in state.parked.items():
        if message.call in parked.calls:
            parked.calls = tuple(call for call in parked.calls if call != message.call)
            note(state, EventKind.CALL_ANSWERED, now, call=message.call)
            if parked.deadline is None:  # the step may run again already, and have looked before the answer came
                state.answered_calls = (*state.answered_calls, message.call)
            if not parked.calls:
                del state.parked[key]
                cause = state.causes.get(key)
                clock.clear(state, [key] if cause is not None and cause.code == NOT_ANSWERED else [], now)
            return
    state.answered_calls = (*state.answered_calls, message.call)


def time_over(state: State, deadline: Deadline, steps: Mapping[str, WantedStep], now: datetime) -> None:
    """Apply a passed deadline of parked calls. Turns fail. Any other step suspends the process and waits anew after
    `resume`.

    `steps`: the steps wanted in the phase.
    """
    key, parked = next((key, parked) for key, parked in state.parked.items() if parked.deadline is deadline)
    parked.deadline = None
    if (unanswered := steps[key].unanswered) is not None:
        unanswered(state, now)
        return
    reason = f"nobody answered the model calls of step {key}: answer them (`tongyao calls`), or `resume` to wait anew"
    cause = Cause(kind="operator", code=NOT_ANSWERED, reason=reason, since=now)
    clock.suspend(state, key, cause, now)


def drop(state: State, wanted: Mapping[str, WantedStep]) -> None:
    """Remove parked steps that are not in `wanted`."""
    state.parked = {key: parked for key, parked in state.parked.items() if key in wanted}
