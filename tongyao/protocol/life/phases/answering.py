"""People answer the plan: commit, decline or propose (docs/protocol.md §7.5)."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import children, planning
from tongyao.protocol.life.state import Replan as ReplanWish
from tongyao.protocol.life.state import Residual, State
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import AnswerPlan, Replan
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.plans.lineage import hole_id


def ask(state: State, now: datetime) -> None:
    enter(state, Phase.ANSWERING, now, seconds=state.start.settings.answering_seconds)


def answer(state: State, message: AnswerPlan, now: datetime) -> None:
    state.answers[message.alias] = message.answer
    note(
        state,
        EventKind.ANSWER_RECEIVED,
        now,
        alias=message.alias,
        decision=message.answer,
        revision=message.revision,
        text_id=message.text_id,
    )
    if message.answer == "decline" and state.may_branch and message.alias != DEMANDER:
        hole = hole_id(
            message.revision, message.alias
        )  # the hole they leave in the plan is a residual like every other
        state.residuals[hole] = Residual()
        note(state, EventKind.RESIDUAL_OPEN, now, residual=hole)


def replan(state: State, message: Replan, now: datetime) -> None:
    """Once: without some who declined, with what others proposed. Who is left out is not asked again."""
    state.replan = ReplanWish(without=message.without, proposals=message.proposals)
    state.left_out = message.without
    state.replanned = True
    note(state, EventKind.DECIDED, now, decision="replan", by="person", without=list(message.without))
    planning.begin(state, now)


def open_points(state: State) -> tuple[str, ...]:
    """Aliases whose decline or proposal the demander may still answer by a new plan, and has said nothing of."""
    if state.replanned:
        return ()
    return tuple(
        alias
        for alias, given in sorted(state.answers.items())
        if given == "propose" or (given == "decline" and _hole_is_open(state, alias))
    )


def last_hole(state: State) -> str | None:
    """The hole on which a decision ends the answers, because nothing else is waited for; None: there is no such hole."""
    points = open_points(state)
    if state.phase is not Phase.ANSWERING or len(points) != 1 or not _all_answered(state):
        return None
    hole = hole_id(state.plan_revision, points[0])
    return hole if hole in state.undecided else None


def _all_answered(state: State) -> bool:
    return set(state.asked_for_answers) <= set(state.answers)


def _hole_is_open(state: State, alias: str) -> bool:
    hole = state.residuals.get(hole_id(state.plan_revision, alias))
    return hole is None or hole.status == "open"


def advance(state: State, now: datetime) -> None:
    if state.phase is not Phase.ANSWERING:
        return
    if state.concluded or (_all_answered(state) and not open_points(state)):
        children.wait_or_complete(state, now)
