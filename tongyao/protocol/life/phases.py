"""The table of phases (docs/protocol.md §3, docs/phases.md). A row has the opening of a phase, its wanted steps, open
asks, automatic transitions, deadline, effect of the deadline, and possible next phases.

Every function of a phase changes the state, and returns the next phase, or None if the phase stays. Only `enter`
changes the phase, with one exception: reconciliation writes FAILED to the records. Modules of phases do not import each
other. A process begins in `formulating`, or with a given tension in `confirming` (`machine.begin`). All rounds are
within `crystallizing`. Before `time_over`, a step checks the passed deadline (`passed_deadlines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tongyao.protocol.life import after_rounds, asks, before_rounds, rounds
from tongyao.protocol.life.clock import ask_until
from tongyao.protocol.life.state import State, WantedStep, note
from tongyao.protocol.model.events import AskName, EventKind
from tongyao.protocol.model.process import Phase


def _nothing(*_: object) -> None:
    return None


def _no_steps(state: State) -> dict[str, WantedStep]:
    return {}


@dataclass(frozen=True)
class PhaseRules:
    """The rules of one phase.

    `advance`: called after every input; returns the next phase if the state requires a transition. In the rounds it
    also assigns turns to steps and closes the gate.

    Messages and steps can also end a phase. The effects of messages are in the table `KINDS` of `machine.py`. The
    effect of a step is the function `take` of the wanted step.
    """

    follows: tuple[Phase, ...] = ()
    opens: Callable[[State, datetime], Phase | None] = _nothing
    wanted: Callable[[State], dict[str, WantedStep]] = _no_steps
    asks: tuple[AskName, ...] = ()
    advance: Callable[[State, datetime], Phase | None] = _nothing
    seconds: Callable[[State], int | None] = _nothing
    time_over: Callable[[State, datetime], Phase | None] = _nothing


P = Phase
PHASES: Final[dict[Phase, PhaseRules]] = {
    P.FORMULATING: PhaseRules(
        follows=(P.CONFIRMING,),  # the step `formulate`
        wanted=before_rounds.formulation,
    ),
    P.CONFIRMING: PhaseRules(
        follows=(P.DISCOVERING, P.CONSENTING),  # `confirm_tension` or the deadline; consenting if people are named
        opens=before_rounds.open_confirming,
        asks=(AskName.CONFIRM_TENSION,),
        seconds=before_rounds.confirm_seconds,
        time_over=lambda state, now: before_rounds.confirm(state, "timer", now),
    ),
    P.DISCOVERING: PhaseRules(
        follows=(P.SELECTING, P.CONSENTING),  # the step `discover`; consenting with `auto_start`
        wanted=before_rounds.discovery,
    ),
    P.SELECTING: PhaseRules(
        follows=(P.CONSENTING,),  # `select_participants`
        asks=(AskName.SELECT_PARTICIPANTS,),
    ),
    P.CONSENTING: PhaseRules(
        follows=(P.SELECTING, P.CRYSTALLIZING, P.DECIDING),  # the step `seat`; too few: selecting, later deciding
        opens=before_rounds.open_consenting,
        wanted=before_rounds.seating,
        asks=(AskName.CONSENT,),
    ),
    P.CRYSTALLIZING: PhaseRules(
        follows=(P.DECIDING, P.PLANNING),  # the end of a round (`_close_round`); deciding at a limit
        opens=rounds.open_rounds,
        wanted=rounds.wanted,
        asks=(AskName.GAP, AskName.PROJECTION),
        advance=rounds.advance,
    ),
    P.DECIDING: PhaseRules(
        follows=(P.CONSENTING, P.CRYSTALLIZING, P.PLANNING, P.ABANDONED),  # `decide` or the deadline
        opens=rounds.open_deciding,
        asks=(AskName.DECISION,),
        seconds=rounds.deciding_seconds,
        time_over=rounds.decide_by_itself,
    ),
    P.PLANNING: PhaseRules(
        follows=(P.DELIVERING,),  # the step `plan`
        wanted=after_rounds.plan,
    ),
    P.DELIVERING: PhaseRules(
        follows=(P.ANSWERING, P.AWAITING_CHILDREN, P.COMPLETED),  # the step `deliver`; nobody to ask: the later ones
        opens=after_rounds.open_delivering,
        wanted=after_rounds.deliveries,
    ),
    P.ANSWERING: PhaseRules(
        follows=(P.PLANNING, P.AWAITING_CHILDREN, P.COMPLETED),  # `replan`; all answers, `conclude` or the deadline
        asks=(AskName.RESIDUAL, AskName.HOLE, AskName.ANSWER, AskName.REPLAN),
        advance=after_rounds.answers_complete,
        seconds=lambda state: state.start.settings.answering_seconds,
        time_over=after_rounds.wait_no_longer,
    ),
    P.AWAITING_CHILDREN: PhaseRules(
        follows=(P.PLANNING, P.COMPLETED),  # the ends of all children, `conclude` or the deadline
        asks=(AskName.RESIDUAL, AskName.HOLE),
        advance=after_rounds.children_ended,
        seconds=after_rounds.children_seconds,
        time_over=after_rounds.wait_no_longer,
    ),
    P.COMPLETED: PhaseRules(wanted=after_rounds.remembering),
    P.ABANDONED: PhaseRules(),
    P.CANCELLED: PhaseRules(wanted=after_rounds.cancelling),
    P.EXPIRED: PhaseRules(),
    P.FAILED: PhaseRules(),  # only `app/operators/reconcile.py` sets this phase, and only in the records
}
"""The rules by phase. From every open phase a process may also become cancelled or expired, and start children."""

ALWAYS: Final = (AskName.RESUME, AskName.CALLS)
"""Kinds of asks that may be open in every phase before the end."""


class IllegalTransition(ValueError):
    """A transition that the table does not permit. The error's text names both phases."""

    def __init__(self, origin: Phase, target: Phase) -> None:
        super().__init__(f"a process cannot go from {origin} to {target}")


def enter(state: State, target: Phase | None, now: datetime) -> None:
    """Enter `target`, and then every phase that follows at once. Does nothing if `target` is None. Raises
    `IllegalTransition`."""
    while target is not None:
        origin = state.phase
        if origin.ended or target not in (*PHASES[origin].follows, Phase.CANCELLED, Phase.EXPIRED):
            raise IllegalTransition(origin, target)
        rules = PHASES[target]
        seconds = rules.seconds(state)
        state.phase, state.concluded = target, False
        state.deadline = ask_until(state, seconds, now) if seconds is not None else None
        changed = {"from": origin.value, "to": target.value}
        at_once = rules.wanted is _no_steps or target.ended  # the phase has no step that could write the event
        note(state, EventKind.PHASE_CHANGED, now, **changed)
        if at_once:
            state.urgent = state.seq
        if target is Phase.PLANNING or target.ended:
            rounds.end_rounds(state, now)
        if target.ended:
            _end(state, now)
        target = rules.opens(state, now)


def _end(state: State, now: datetime) -> None:
    state.turns, state.invitations, state.causes = {}, [], {}
    state.correcting_until = state.stopped_at = None
    note(state, EventKind.PROCESS_ENDED, now, outcome=state.phase.value)


def open_asks(state: State) -> Iterator[asks.Open]:
    """Yield every open ask with its deadline. Asks stay open during a suspension, which may add further asks."""
    for kind in () if state.phase.ended else (*ALWAYS, *PHASES[state.phase].asks):
        yield from asks.ASK_KINDS[kind].open(state)
