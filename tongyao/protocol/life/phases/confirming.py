"""The phases formulating and confirming: the raw intent becomes a confirmed tension (docs/protocol.md §3.1)."""

from __future__ import annotations

from datetime import datetime, timedelta

from tongyao.protocol.contracts.process import FORMULATE, FormulateInput, FormulateOutput
from tongyao.protocol.life.clock import ask_until, process_time
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import seating
from tongyao.protocol.life.state import State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import ReviseTension
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.tension import Grade


def wanted(state: State) -> dict[str, Step]:
    if state.phase is Phase.FORMULATING:
        return {"formulate": Step(FORMULATE, FormulateInput(process_id=state.process_id), "formulate the intent")}
    return {}


def formulated(state: State, output: FormulateOutput, now: datetime) -> None:
    state.tension = output.tension
    note(
        state,
        EventKind.FORMULATION_READY,
        now,
        urgent=False,
        grade=output.tension.grade.value,
        barriers=output.tension.barriers,
        fallback=output.fallback,
    )
    open_confirmation(state, now)


def open_confirmation(state: State, now: datetime) -> None:
    """The demander may revise. The tension confirms itself in time; of grade C it waits for an explicit yes.

    With `auto_confirm`, which is such a yes beforehand, every grade is confirmed at once; a child's tension too, but of grade C
    or with `confirm_children`.
    """
    settings = state.start.settings
    quick_child = state.start.lineage is not None and not settings.confirm_children and not _grade_c(state)
    by_itself = settings.auto_confirm or quick_child
    waits = not by_itself and not _grade_c(state)
    enter(state, Phase.CONFIRMING, now, seconds=settings.confirm_seconds if waits else None)
    if by_itself:
        confirm(state, now, by="setting")


def confirm(state: State, now: datetime, *, by: str) -> None:
    """`by`: `person`, `timer` or `setting`."""
    note(state, EventKind.TENSION_CONFIRMED, now, urgent=False, by=by)
    seating.find_participants(state, now)


def revise(state: State, message: ReviseTension, now: datetime) -> None:
    """The revised tension has the whole time to be confirmed. A deadline that was extended beyond that stays.

    The bound on messages of a lane and the deadline of the process bound how often that may happen.
    """
    state.tension = message.tension
    deadline, seconds = state.deadline, state.start.settings.confirm_seconds
    if _grade_c(state):
        state.deadline = None
    elif deadline is None or deadline.due < process_time(state, now) + timedelta(seconds=seconds):
        state.deadline = ask_until(state, seconds, now)
    note(state, EventKind.TENSION_REVISED, now, grade=message.tension.grade.value)


def _grade_c(state: State) -> bool:
    return state.tension is not None and state.tension.grade is Grade.C
