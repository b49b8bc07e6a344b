"""The phase deciding: rounds cannot continue by themselves, and the demander decides (docs/protocol.md §3.8)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Decide, Decision
from tongyao.protocol.model.process import DEMANDER, DecidingCause, Phase


def seconds(state: State) -> int:
    """A room of proxies waits for nobody but the demander, so it waits for a shorter time."""
    settings = state.start.settings
    people = any(alias != DEMANDER for alias in state.people)
    return settings.deciding_seconds if people else min(settings.deciding_seconds, settings.deciding_alone_seconds)


def open(state: State, now: datetime) -> Phase | None:
    """In a fork it is decided at once: as in the origin after this round, else what there is is accepted as it is."""
    assert state.deciding_cause is not None  # set when rounds stopped
    state.decisions += 1
    fork = state.start.fork
    if fork is None:
        note(state, EventKind.DECISION_NEEDED, now, cause=state.deciding_cause.value)
        return None
    state.decision = Decision.ACCEPT_AS_IS
    if state.deciding_cause is not DecidingCause.BUDGET:
        decided = fork.decisions.get(state.round, Decision.ACCEPT_AS_IS)
        state.decision = Decision.EXTEND if decided is Decision.RAISE_BUDGET else decided
    note(state, EventKind.DECIDED, now, decision=state.decision.value, by="origin")
    if state.decision is not Decision.ADD_PARTICIPANTS:
        return _follow(state, now)
    joins = any(seat.joined_round == state.round + 1 for seat in fork.seats)
    return Phase.CONSENTING if joins else Phase.CRYSTALLIZING


def decide(state: State, message: Decide, now: datetime) -> Phase | None:
    if message.decision is Decision.RAISE_BUDGET:
        _set_limits(state, message)
    state.decision = message.decision
    note(state, EventKind.DECIDED, now, decision=message.decision.value, by="person")
    if message.decision is Decision.ADD_PARTICIPANTS:
        state.selected = message.participants
        return Phase.CONSENTING
    return _follow(state, now)


def _set_limits(state: State, message: Decide) -> None:
    if message.tokens is not None:
        state.token_budget = message.tokens
    if message.cost is not None:
        state.cost_budget = Decimal(message.cost)


def time_over(state: State, now: datetime) -> Phase | None:
    """Silence accepts what there is."""
    state.decision = Decision.ACCEPT_AS_IS
    note(state, EventKind.DECIDED, now, decision=state.decision.value, by="timer")
    return _follow(state, now)


def _follow(state: State, now: datetime) -> Phase | None:
    if state.decision is Decision.ABANDON:
        return Phase.ABANDONED
    if state.decision is Decision.ACCEPT_AS_IS:
        state.unconverged = True
        return Phase.PLANNING
    if state.decision is Decision.RAISE_BUDGET and state.round >= state.round_limit:
        # The budget was not all that was in the way: the rounds are at their limit, and a budget adds none.
        if state.deciding_cause is DecidingCause.BUDGET:
            state.deciding_cause = DecidingCause.LIMIT
        open(state, now)
        return None
    return Phase.CRYSTALLIZING
