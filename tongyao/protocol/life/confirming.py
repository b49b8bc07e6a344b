"""The phases formulating and confirming: the raw intent becomes a confirmed tension (docs/protocol.md §3.1)."""

from __future__ import annotations

from datetime import datetime, timedelta

from tongyao.protocol.contracts.process import FORMULATE, FormulateInput, FormulateOutput
from tongyao.protocol.life.clock import ask_until, process_time
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import ReviseTension
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.tension import Grade


def formulation(state: State) -> dict[str, Step]:
    intent = FormulateInput(process_id=state.process_id)
    return {"formulate": Step(FORMULATE, intent, "formulate the intent", take=_formulated)}


def _formulated(state: State, output: FormulateOutput, now: datetime) -> Phase:
    tension = state.tension = output.tension
    figures = {"grade": tension.grade.value, "barriers": tension.barriers, "fallback": output.fallback}
    note(state, EventKind.FORMULATION_READY, now, urgent=False, **figures)
    return Phase.CONFIRMING


def seconds(state: State) -> int | None:
    """The tension confirms itself in time; of grade C it waits for an explicit yes."""
    waits = not _by_itself(state) and not _grade_c(state)
    return state.start.settings.confirm_seconds if waits else None


def open(state: State, now: datetime) -> Phase | None:
    return _confirmed(state, "setting", now) if _by_itself(state) else None


def confirm(state: State, now: datetime) -> Phase:
    return _confirmed(state, "person", now)


def time_over(state: State, now: datetime) -> Phase:
    return _confirmed(state, "timer", now)


def _confirmed(state: State, by: str, now: datetime) -> Phase:
    """Ask those who were named at the start, or let the field find somebody."""
    note(state, EventKind.TENSION_CONFIRMED, now, urgent=False, by=by)
    state.selected = state.start.participants
    return Phase.CONSENTING if state.selected else Phase.DISCOVERING


def revise(state: State, message: ReviseTension, now: datetime) -> None:
    """The revised tension has the whole time to be confirmed. A deadline that was extended beyond that stays.

    The bound on messages of a lane and the deadline of the process bound how often that may happen.
    """
    state.tension = message.tension
    state.revisions += 1
    deadline, whole = state.deadline, state.start.settings.confirm_seconds
    if _grade_c(state):
        state.deadline = None
    elif deadline is None or deadline.due < process_time(state, now) + timedelta(seconds=whole):
        state.deadline = ask_until(state, whole, now)
    note(state, EventKind.TENSION_REVISED, now, grade=message.tension.grade.value)


def _by_itself(state: State) -> bool:
    """With `auto_confirm`, which is a yes beforehand, every grade is confirmed at once; a child's tension too, but of grade C or with
    `confirm_children`."""
    settings = state.start.settings
    quick_child = state.start.lineage is not None and not settings.confirm_children and not _grade_c(state)
    return settings.auto_confirm or quick_child


def _grade_c(state: State) -> bool:
    return state.tension is not None and state.tension.grade is Grade.C
