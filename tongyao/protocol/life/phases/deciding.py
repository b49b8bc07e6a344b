"""The phase deciding: rounds cannot continue by themselves, and the demander decides (docs/protocol.md §3.8)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from tongyao.protocol.contracts.process import PROPOSE, DiscoverOutput, ProposeInput
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import planning, rounds, seating
from tongyao.protocol.life.state import State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Decide, Decision
from tongyao.protocol.model.process import DecidingCause, Phase
from tongyao.protocol.rules.convergence import MORE_ROUNDS


def prepare(state: State, cause: DecidingCause, now: datetime) -> None:
    """Let the field look for people who could be added, where it can; then ask."""
    state.deciding_cause = cause
    if not _may_add(state):
        ask(state, now)


def proposals_wanted(state: State) -> dict[str, Step]:
    start = state.start
    seated = tuple(seat.profile.profile_id for seat in state.seats.values() if seat.profile)
    own = (start.demander_profile.profile_id,) if start.demander_profile else ()
    find = ProposeInput(
        process_id=start.process_id,
        scene=start.scene,
        round=state.round,
        limit=start.settings.max_others - len(state.others),
        excluded=(*start.excluded, *seated, *own),
    )
    return {f"propose/{state.round}": Step(PROPOSE, find, "find people near what is open", optional=True)}


def proposed(state: State, output: DiscoverOutput | None, now: datetime) -> None:
    """`output`: None where the field could not be asked; that keeps nobody from deciding."""
    if output is not None:
        seating.note_candidates(state, output, now)
    ask(state, now)


def ask(state: State, now: datetime) -> None:
    assert state.deciding_cause is not None  # set when rounds stopped
    enter(state, Phase.DECIDING, now, seconds=state.start.settings.deciding_seconds)
    note(state, EventKind.DECISION_NEEDED, now, cause=state.deciding_cause.value)


def decide(state: State, message: Decide, now: datetime) -> None:
    if message.decision is Decision.RAISE_BUDGET:
        _set_limits(state, message)
    state.decision = message.decision
    note(state, EventKind.DECIDED, now, decision=message.decision.value, by="person")
    if message.decision is Decision.ADD_PARTICIPANTS:
        seating.ask_consent(state, message.participants, now)
    else:
        _follow(state, now)


def _set_limits(state: State, message: Decide) -> None:
    if message.tokens is not None:
        state.token_budget = message.tokens
    if message.cost is not None:
        state.cost_budget = Decimal(message.cost)


def time_over(state: State, now: datetime) -> None:
    """Silence accepts what there is."""
    state.decision = Decision.ACCEPT_AS_IS
    note(state, EventKind.DECIDED, now, decision=state.decision.value, by="timer")
    _follow(state, now)


def _follow(state: State, now: datetime) -> None:
    if state.decision is Decision.ABANDON:
        enter(state, Phase.ABANDONED, now)
    elif state.decision is Decision.ACCEPT_AS_IS:
        state.unconverged = True
        planning.begin(state, now)
    elif state.decision is Decision.RAISE_BUDGET and state.round >= state.round_limit:
        _ask_for_rounds(state, now)
    else:
        go_on(state)
        enter(state, Phase.CRYSTALLIZING, now)
        rounds.open_round(state, now)


def _ask_for_rounds(state: State, now: datetime) -> None:
    """The budget was not all that was in the way: the rounds are at their limit, and a budget adds none."""
    if state.deciding_cause is DecidingCause.BUDGET:
        state.deciding_cause = DecidingCause.LIMIT
    assert state.deciding_cause is not None  # it is being decided
    note(state, EventKind.DECISION_NEEDED, now, cause=state.deciding_cause.value)


def go_on(state: State) -> None:
    """Rounds go on: two more, unless only the budget was in the way. After too few people, one is enough."""
    if state.deciding_cause is DecidingCause.QUORUM:
        state.quorum_waived = True
    if state.decision is not Decision.RAISE_BUDGET:
        state.round_limit = max(state.round_limit, state.round) + MORE_ROUNDS
    state.budget_refused = False
    state.deciding_cause = None


def _may_add(state: State) -> bool:
    return bool(state.start.scene) and len(state.others) < state.start.settings.max_others
