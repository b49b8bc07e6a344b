"""Checks of deadlines that have passed (docs/protocol.md §3.3).

Before a deadline has an effect, a step looks for messages that were handed in and are not delivered yet, and for the time in
which no message could be handed in. That time is added to the deadline.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from tongyao.protocol.contracts.process import CHECK_DEADLINE, CheckDeadlineInput, CheckDeadlineOutput
from tongyao.protocol.life import seating, turns
from tongyao.protocol.life.clock import CHECK_AGAIN, deadlines, next_event, process_time, reminder_due, wall_time
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import PHASES
from tongyao.protocol.life.state import Deadline, State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import invited_alias
from tongyao.protocol.model.process import DEMANDER, Phase


def wanted(state: State) -> dict[str, Step]:
    """One step for each deadline that has passed."""
    steps = {}
    for deadline in deadlines(state):
        if deadline.passed:
            number, lanes = deadline.number, _lanes(state, deadline)
            what = CheckDeadlineInput(process_id=state.process_id, lanes=lanes, since=deadline.asked_at)
            whose = state.phase.value if deadline is state.deadline else _of(state, deadline)
            summary = f"the time of {whose} is over: look for messages on their way"
            step = Step(CHECK_DEADLINE, what, summary, take=partial(_checked, number))
            steps[f"check_deadline/{number}/{deadline.checks}"] = step
    return steps


def _lanes(state: State, deadline: Deadline) -> tuple[str, ...]:
    """Lanes of everybody whose word could still change what the deadline ends."""
    if deadline is not state.deadline:
        name = _of(state, deadline)
        return (name, f"{name}/agent", f"{name}/control", DEMANDER)
    people = [DEMANDER]
    if state.phase is Phase.ANSWERING:
        people += [alias for alias in state.asked_for_answers if alias != DEMANDER]
    lanes = [lane for name in people for lane in (name, f"{name}/agent", f"{name}/control")]
    return (*lanes, *(one.child for one in state.residuals.values() if one.status == "started"))


def _of(state: State, deadline: Deadline) -> str:
    for turn in state.turns.values():
        if turn.deadline is deadline:
            return turn.alias
    return next(invited_alias(one.number) for one in state.invitations if one.deadline is deadline)


def _checked(number: int, state: State, output: CheckDeadlineOutput, now: datetime) -> Phase | None:
    """Give time back, or wait for messages on their way; where there is neither, what was to follow the deadline follows."""
    deadline = next(one for one in deadlines(state) if one.number == number)
    deadline.given_back = max(deadline.given_back, timedelta(seconds=output.shut_seconds))
    at = process_time(state, now)
    if deadline.due > at:
        deadline.passed, deadline.check_at = False, None
        _note_moved(state, deadline, now)
    elif output.undelivered:
        deadline.passed, deadline.check_at = False, at + CHECK_AGAIN
    elif deadline is state.deadline:
        state.deadline = None
        return PHASES[state.phase].time_over(state, now)
    else:
        return _person_over(state, deadline, now)
    return None


def _note_moved(state: State, deadline: Deadline, now: datetime) -> None:
    whose = DEMANDER if deadline is state.deadline else _of(state, deadline)
    due = wall_time(state, deadline.due).isoformat()
    note(state, EventKind.DEADLINE_EXTENDED, now, alias=whose, due=due)


def _person_over(state: State, deadline: Deadline, now: datetime) -> Phase | None:
    for turn in list(state.turns.values()):
        if turn.deadline is deadline:
            turns.fall_back(state, turn, now)
    for invitation in list(state.invitations):
        if invitation.deadline is deadline:
            return seating.answer_invitation(state, invitation.number, None, now)
    return None


def remind(state: State, at: timedelta, now: datetime) -> None:
    """Remind people who are late: at half and at nine tenths of their time."""
    for turn in state.waiting_for:
        if turn.deadline is not None and (share := reminder_due(turn.deadline, at)) is not None:
            note(state, EventKind.REMINDER, now, alias=turn.alias, round=state.round, share=share)
    for invitation in state.invitations:
        deadline = invitation.deadline if invitation.waits else None
        if deadline is not None and (share := reminder_due(deadline, at)) is not None:
            note(state, EventKind.REMINDER, now, number=invitation.number, share=share)


def next_due(state: State) -> timedelta:
    """Process time at which something is due by itself: at the latest the end of the whole process."""
    due = [timedelta(seconds=state.start.settings.process_seconds)]
    for deadline in deadlines(state):
        if (at := next_event(deadline, reminds=deadline is not state.deadline)) is not None:
            due.append(at)
    if state.correcting_until is not None:
        due.append(state.correcting_until)
    return min(due)
