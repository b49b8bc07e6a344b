"""Process time, and the causes of suspensions. Process time stops during a suspension (docs/protocol.md §3.7)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from tongyao.protocol.life.state import Cause, Deadline, State, note
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process_settings import REMINDERS

RETRY_AFTER: Final = tuple(timedelta(seconds=seconds) for seconds in (10, 30, 60, 120, 300, 600))
"""Delays before retries of a step that failed because of infrastructure. The last delay repeats."""

CHECK_AGAIN: Final = timedelta(seconds=60)
"""Delay before a passed deadline is checked again for undelivered messages."""


def process_time(state: State, now: datetime) -> timedelta:
    """Return the time since the start of the process, without the time of suspensions."""
    return (state.stopped_at or now) - state.started_at - state.stopped_for


def wall_time(state: State, at: timedelta) -> datetime:
    """Return the wall time at which process time reaches `at`, if no suspension comes before."""
    return state.started_at + state.stopped_for + at


def ask_until(state: State, seconds: int, now: datetime, *, whose: str = "") -> Deadline:
    """Return a new deadline `seconds` from now. `whose`: as in `Deadline`."""
    state.deadlines_set += 1
    asked, term = process_time(state, now), timedelta(seconds=seconds)
    return Deadline(number=state.deadlines_set, whose=whose, asked_at=now, asked=asked, term=term)


def deadlines(state: State) -> list[Deadline]:
    """Return all running deadlines: of the phase, of turns, of invitations, of waiting model calls."""
    turns = [turn.deadline for turn in state.turns.values() if turn.waits and turn.deadline is not None]
    invitations = [one.deadline for one in state.invitations if one.waits and one.deadline is not None]
    calls = [parked.deadline for parked in state.parked.values() if parked.deadline is not None]
    return [*([state.deadline] if state.deadline is not None else []), *turns, *invitations, *calls]


def next_event(deadline: Deadline) -> timedelta | None:
    """Return the process time of the deadline's next reminder, or of its end; None while a step checks the deadline."""
    if deadline.passed:
        return None
    if deadline.reminds and deadline.reminders < len(REMINDERS):
        return min(_reminder(deadline, deadline.reminders), deadline.next_check)
    return deadline.next_check


def reminder_due(deadline: Deadline, at: timedelta) -> float | None:
    """Return the share of the deadline at which a reminder is due, and count the reminder as sent; None if none is due.

    If several reminders are due at once, only the last is sent.
    """
    share: float | None = None
    while deadline.reminders < len(REMINDERS) and at >= _reminder(deadline, deadline.reminders):
        share = REMINDERS[deadline.reminders]
        deadline.reminders += 1
    return share if at < deadline.due else None


def _reminder(deadline: Deadline, number: int) -> timedelta:
    return deadline.asked + (deadline.due - deadline.asked) * REMINDERS[number]


def pass_if_over(deadline: Deadline, at: timedelta) -> None:
    """Mark a deadline as passed if its time is over. A step then checks the deadline before it has an effect."""
    if not deadline.passed and at >= deadline.next_check:
        deadline.passed = True
        deadline.checks += 1


def suspend(state: State, name: str, cause: Cause, now: datetime) -> None:
    """Add or renew a cause of suspension. Process time stops at `cause.since`, or at the last resumption if it is
    later."""
    old, since = state.causes.get(name), cause.since
    known = any((one.kind, one.code) == (cause.kind, cause.code) for one in state.causes.values())
    if old is not None:
        cause.since, cause.tries = old.since, old.tries + 1
    if cause.kind == "infrastructure":
        cause.retry_at = now + RETRY_AFTER[min(cause.tries, len(RETRY_AFTER) - 1)]
    state.causes[name] = cause
    if state.stopped_at is None:
        state.stopped_at = max(since, state.resumed_at or state.started_at, state.started_at + state.stopped_for)
        for deadline in deadlines(state):  # process time may have been set back to before the end of these deadlines
            deadline.passed = deadline.passed and process_time(state, now) >= deadline.due
    if old is not None:
        _note_resumed(state, old, now)
    if not known:
        stopped = state.stopped_at.isoformat()
        note(state, EventKind.SUSPENDED, now, code=cause.code, kind=cause.kind, reason=cause.reason, since=stopped)


def _note_resumed(state: State, gone: Cause, now: datetime) -> None:
    """Note that a code has no cause any more. An event for each cause would reveal the number of proxies."""
    if all((one.kind, one.code) != (gone.kind, gone.code) for one in state.causes.values()):
        note(state, EventKind.RESUMED, now, code=gone.code)


def clear(state: State, names: list[str], now: datetime) -> None:
    """Remove causes of suspension. Process time continues when no cause is left."""
    for name in names:
        _note_resumed(state, state.causes.pop(name), now)
    if not state.causes and state.stopped_at is not None:
        state.stopped_for += now - state.stopped_at
        state.stopped_at = None
        state.resumed_at = now


def succeeded(state: State, name: str, now: datetime) -> None:
    """Record the success of a step: remove its cause, and retry other steps with infrastructure causes at once."""
    if name in state.causes:
        clear(state, [name], now)
        for cause in state.causes.values():
            cause.retry_at = None
