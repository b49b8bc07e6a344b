"""The row and the inbox of a process, computed from its state (docs/protocol.md §11.3)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tongyao.protocol.life.clock import process_time, wall_time
from tongyao.protocol.life.phases import open_asks
from tongyao.protocol.life.state import Deadline, State
from tongyao.protocol.model.events import AskName, Snapshot, Waiting
from tongyao.protocol.model.process import Phase


def snapshot(state: State, now: datetime) -> Snapshot:
    """Return the row of the process as of the last event."""
    deadline = state.deadline if not state.suspended else None
    return Snapshot(
        process_id=state.process_id,
        seq=state.seq,
        phase=state.phase,
        round=state.round,
        waiting=waiting(state),
        grade=state.tension.grade.value if state.tension else "",
        tension_text_id=state.tension.text_id if state.tension else "",
        suspended=suspended_codes(state),
        suspended_reason=_suspended_reason(state),
        deadline=wall_time(state, deadline.due) if deadline is not None else None,
        tokens=state.spent.tokens,
        cost=str(state.spent.cost),
        inbox=inbox(state, now),
    )


def suspended_codes(state: State) -> tuple[str, ...]:
    """Return the codes of all causes, each once, in alphabetical order."""
    return tuple(sorted({cause.code for cause in state.causes.values()}))


def _suspended_reason(state: State) -> str:
    """Return the oldest reason of each code. All reasons of one code would reveal how many people have proxies."""
    reasons: dict[str, str] = {}
    for cause in sorted(state.causes.values(), key=lambda cause: cause.since):
        reasons.setdefault(cause.code, cause.reason or cause.code)
    return "; ".join(dict.fromkeys(reasons.values()))


def inbox(state: State, now: datetime) -> tuple[Waiting, ...]:
    """Return all open asks, with their deadlines."""
    return tuple(ask.model_copy(update=_until(state, deadline, now)) for ask, deadline in open_asks(state))


def waiting(state: State) -> bool:
    """Whether the process waits for a person or an operator. It never waits for the demander's answers to gaps."""
    return state.phase is Phase.ANSWERING or any(ask.ask is not AskName.GAP for ask, _ in open_asks(state))


def _until(state: State, deadline: Deadline | None, now: datetime) -> dict[str, Any]:
    """Return the deadline as a date, or the remaining seconds while the process is suspended."""
    if deadline is None:
        return {}
    if state.suspended:
        left = deadline.due - process_time(state, now)
        return {"remaining_seconds": max(0, round(left.total_seconds()))}
    return {"due": wall_time(state, deadline.due)}
