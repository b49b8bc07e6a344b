"""Steps whose model calls wait for answers from outside (docs/protocol.md §8.5).

Such a step returns `Pending` and is parked: it is not wanted, until a message says of each of its calls that it is answered. Then it
runs again, under a key that counts the tries; the ledger has the answers under keys that do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from tongyao.protocol.contracts.process import Pending
from tongyao.protocol.life import clock
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.rounds import NOT_ANSWERED
from tongyao.protocol.life.state import Cause, Deadline, Parked, State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import CALLS_LANE, CallAnswered

_TRY: Final = "~"


def without_try(key: str) -> str:
    """The key of a step as it is without the number of its try."""
    return key.partition(_TRY)[0]


def with_tries(state: State, steps: Mapping[str, Step]) -> dict[str, Step]:
    """The steps that may run: without those that wait, and those that waited under the key of their next try."""
    return {
        key if (parked := state.parked.get(key)) is None else f"{key}{_TRY}{parked.tries}": step
        for key, step in steps.items()
        if key not in state.parked or state.parked[key].deadline is None
    }


def park(state: State, key: str, pending: Pending, now: datetime) -> None:
    """A step has returned without its answers. `key`: without its try."""
    early = {call for call in pending.waiting_calls if call in state.answered_calls}
    state.answered_calls = tuple(call for call in state.answered_calls if call not in early)
    waits = tuple(call for call in pending.waiting_calls if call not in early)
    tries = state.parked[key].tries + 1 if key in state.parked else 2
    deadline = clock.ask_until(state, state.start.settings.delegated_seconds, now, whose=CALLS_LANE) if waits else None
    state.parked[key] = Parked(calls=waits, tries=tries, deadline=deadline)
    if waits:
        note(state, EventKind.CALLS_WAITING, now, step=key, calls=len(waits))


def answered(state: State, message: CallAnswered, now: datetime) -> None:
    """A call is answered; with the last one its step is wanted again, also where its time was over and the process is suspended for it."""
    for key, parked in state.parked.items():
        if message.call in parked.calls:
            parked.calls = tuple(call for call in parked.calls if call != message.call)
            if not parked.calls:
                parked.deadline = None
                name = f"{key}{_TRY}{parked.tries}"
                if name in state.causes:
                    clock.clear(state, [name], now)
            note(state, EventKind.CALL_ANSWERED, now, urgent=False, call=message.call)
            return
    state.answered_calls = (*state.answered_calls, message.call)


def time_over(state: State, deadline: Deadline, steps: Mapping[str, Step], now: datetime) -> None:
    """Nobody answered in time: a turn has failed; any other step suspends the process, and asks again when it is resumed.

    `steps`: that are wanted in the phase, by their keys without tries.
    """
    key, parked = next((key, parked) for key, parked in state.parked.items() if parked.deadline is deadline)
    parked.deadline = None
    if (unanswered := steps[key].unanswered) is not None:
        unanswered(state, now)
        return
    reason = f"nobody answered the model calls of step {key}: answer them (`tongyao calls`), or `resume` to wait anew"
    cause = Cause(kind="operator", code=NOT_ANSWERED, reason=reason, since=now)
    clock.suspend(state, f"{key}{_TRY}{parked.tries}", cause, now, since=now)


def drop(state: State, wanted: Mapping[str, Step]) -> None:
    """Forget steps that are not wanted any more. `wanted`: without tries."""
    state.parked = {key: parked for key, parked in state.parked.items() if key in wanted}
