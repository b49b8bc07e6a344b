"""Transitions between phases (docs/protocol.md §3)."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.life.clock import ask_until
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import NEXT_PHASES, Phase


class IllegalTransition(ValueError):
    """A transition that the protocol does not know. The message names both phases."""

    def __init__(self, origin: Phase, target: Phase) -> None:
        super().__init__(f"a process cannot go from {origin} to {target}")


_ALWAYS = frozenset({Phase.CANCELLED, Phase.EXPIRED})


def enter(state: State, target: Phase, now: datetime, *, seconds: int | None = None) -> None:
    """Go to `target`; `seconds`: how long somebody is waited for there. Raises `IllegalTransition`."""
    origin = state.phase
    if origin.ended or (target not in NEXT_PHASES[origin] and target not in _ALWAYS):
        raise IllegalTransition(origin, target)
    state.phase = target
    state.deadline = ask_until(state, seconds, now) if seconds is not None else None
    note(
        state,
        EventKind.PHASE_CHANGED,
        now,
        urgent=target in _WAITING_PHASES or target.ended,
        **{"from": origin.value, "to": target.value},
    )
    if target is Phase.PLANNING or target.ended:
        _end_rounds(state, now)
    if target.ended:
        _end(state, now)


def _end_rounds(state: State, now: datetime) -> None:
    """No round follows: whoever spoke for one is told that their words were not used, and nothing is asked of the demander."""
    unused = {alias for alias, turn in state.turns.items() if turn.open and turn.words} | set(state.late_words)
    for alias in sorted(unused):
        note(state, EventKind.WORDS_UNUSED, now, urgent=False, alias=alias, round=state.round)
    state.late_words = {}
    state.demander_asked, state.ask_demander = 0, False


def _end(state: State, now: datetime) -> None:
    state.turns = {}
    state.invitations = []
    state.correcting_until = None
    state.causes = {}
    state.stopped_at = None
    note(state, EventKind.PROCESS_ENDED, now, outcome=state.phase.value)


_WAITING_PHASES = frozenset(
    {Phase.CONFIRMING, Phase.SELECTING, Phase.DECIDING, Phase.ANSWERING, Phase.AWAITING_CHILDREN}
)
"""Phases that wait for somebody. No other step may start for days, so that they were entered is written at once."""
