"""Checks of deadlines that have passed (docs/protocol.md §3.3).

Before a deadline has an effect, a step looks for stored messages that are not delivered yet. It also measures the time
in which no gateway ran. That time is added to the deadline.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from pydantic import JsonValue

from tongyao.protocol.contracts.process import CHECK_DEADLINE, CheckDeadlineInput, CheckDeadlineOutput
from tongyao.protocol.life import before_rounds, parking, turns
from tongyao.protocol.life.clock import CHECK_AGAIN, deadlines, next_event, process_time, reminder_due, wall_time
from tongyao.protocol.life.phases import PHASES
from tongyao.protocol.life.state import Deadline, State, WantedStep, note
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import invitation_of
from tongyao.protocol.model.messages import CALLS_LANE
from tongyao.protocol.model.process import DEMANDER, Phase


def wanted(state: State) -> dict[str, WantedStep]:
    """Return one step for each passed deadline."""
    steps = {}
    for deadline in deadlines(state):
        if deadline.passed:
            lanes = _lanes(state, deadline)
            what = CheckDeadlineInput(process_id=state.process_id, lanes=lanes, since=deadline.asked_at)
            summary = f"the time of {deadline.whose or state.phase.value} is over: look for messages on their way"
            step = WantedStep(CHECK_DEADLINE, what, summary, take=partial(_checked, deadline.number))
            steps[f"check_deadline/{deadline.number}/{deadline.checks}"] = step
    return steps


def _lanes(state: State, deadline: Deadline) -> tuple[str, ...]:
    """Return the lanes of all parties whose messages can still change the effect of the deadline."""
    if deadline.whose == CALLS_LANE:
        return (CALLS_LANE,)
    if deadline.whose:
        return (*_lanes_of(deadline.whose), DEMANDER)
    answers = state.asked_for_answers if state.phase is Phase.ANSWERING else ()
    people = [DEMANDER, *(alias for alias in answers if alias != DEMANDER)]
    lanes = [lane for name in people for lane in _lanes_of(name)]
    return (*lanes, *(one.child for one in state.residuals.values() if one.status == "started"))


def _lanes_of(name: str) -> tuple[str, str, str]:
    return (name, f"{name}/agent", f"{name}/control")


def _checked(number: int, state: State, output: CheckDeadlineOutput, now: datetime) -> Phase | None:
    """Extend the deadline by the time without gateway, or wait for undelivered messages, or apply the deadline."""
    deadline = next(one for one in deadlines(state) if one.number == number)
    deadline.given_back = max(deadline.given_back, timedelta(seconds=output.shut_seconds))
    at = process_time(state, now)
    if deadline.due > at:
        deadline.passed, deadline.check_at = False, None
        if deadline.whose != CALLS_LANE:
            due = wall_time(state, deadline.due).isoformat()
            note(state, EventKind.DEADLINE_EXTENDED, now, alias=deadline.whose or DEMANDER, due=due)
    elif output.undelivered:
        deadline.passed, deadline.check_at = False, at + CHECK_AGAIN
    elif not deadline.whose:
        state.deadline = None
        return PHASES[state.phase].time_over(state, now)
    elif deadline.whose == CALLS_LANE:
        parking.time_over(state, deadline, PHASES[state.phase].wanted(state), now)
    elif deadline.whose in state.turns:
        turns.fall_back(state, state.turns[deadline.whose], now)
    else:
        return before_rounds.answer_invitation(state, deadline.whose, None, now)
    return None


def remind(state: State, at: timedelta, now: datetime) -> None:
    """Remind people at half and at nine tenths of their time."""
    for deadline in deadlines(state):
        if deadline.reminds and (share := reminder_due(deadline, at)) is not None:
            whom: dict[str, JsonValue] = {"alias": deadline.whose, "round": state.round}
            if deadline.whose not in state.turns:
                whom = {"number": invitation_of(deadline.whose)}
            note(state, EventKind.REMINDER, now, **whom, share=share)


def next_due(state: State) -> timedelta:
    """Return the process time of the next timed event. The last one is the deadline of the whole process."""
    due = [at for deadline in deadlines(state) if (at := next_event(deadline)) is not None]
    corrected = [] if state.correcting_until is None else [state.correcting_until]
    return min([*due, *corrected, timedelta(seconds=state.start.settings.process_seconds)])
