"""The phase awaiting_children, and what remains to be done for others after the end (docs/protocol.md §3.6)."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from tongyao.protocol.contracts.process import CANCEL_CHILDREN, REMEMBER, CancelChildrenInput, RememberInput
from tongyao.protocol.life.state import State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.process import Phase


def seconds(state: State) -> int | None:
    """Approved children are only started where they are not waited for."""
    waits = state.waits_for_children and (state.children_open or state.completed_children)
    return state.start.settings.children_seconds if waits else None


def open(state: State, now: datetime) -> None:
    state.concluded = False


def time_over(state: State, now: datetime) -> None:
    """Children are waited for no longer."""
    state.concluded = True


def advance(state: State, now: datetime) -> Phase | None:
    if state.child_starting:
        return None
    if state.waits_for_children and state.children_open and not state.concluded:
        return None
    if state.waits_for_children and state.completed_children:  # their plans are folded into one more plan, once
        state.folded = True
        return Phase.PLANNING
    return Phase.COMPLETED


def remembering(state: State) -> dict[str, Step]:
    """After a plan: what was used strengthens the memories of long profiles."""
    long = tuple(alias for alias, seat in sorted(state.seats.items()) if seat.long)
    if not long or not state.start.remember or REMEMBER.name in state.closed:
        return {}
    what = RememberInput(process_id=state.process_id, aliases=long)
    step = Step(REMEMBER, what, "strengthen what was used", take=partial(_close, REMEMBER.name), optional=True)
    return {REMEMBER.name: step}


def cancelling(state: State) -> dict[str, Step]:
    if not state.cancel_branch or CANCEL_CHILDREN.name in state.closed:
        return {}
    what = CancelChildrenInput(process_id=state.process_id)
    close = partial(_close, CANCEL_CHILDREN.name)
    return {CANCEL_CHILDREN.name: Step(CANCEL_CHILDREN, what, "cancel the children", take=close)}


def _close(name: str, state: State, output: Any, now: datetime) -> None:
    state.closed.append(name)
