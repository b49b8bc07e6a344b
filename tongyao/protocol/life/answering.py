"""People answer the plan: commit, decline or propose (docs/protocol.md §7.5). In a room of proxies the demander is asked about residuals alone."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import Replan as ReplanWish
from tongyao.protocol.life.state import Residual, State
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import hole_id
from tongyao.protocol.model.messages import AnswerPlan, Replan
from tongyao.protocol.model.process import DEMANDER, Phase


def seconds(state: State) -> int:
    return state.start.settings.answering_seconds


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
        hole = hole_id(message.revision, message.alias)  # what they leave in the plan is a residual like every other
        state.residuals[hole] = Residual()
        note(state, EventKind.RESIDUAL_OPEN, now, residual=hole)


def replan(state: State, message: Replan, now: datetime) -> Phase:
    """Once: without some who declined, with what others proposed. Who is left out is not asked again."""
    state.replan = ReplanWish(without=message.without, proposals=message.proposals)
    state.left_out = message.without
    state.replanned = True
    note(state, EventKind.DECIDED, now, decision="replan", by="person", without=list(message.without))
    return Phase.PLANNING


def time_over(state: State, now: datetime) -> None:
    """Answers are waited for no longer."""
    state.concluded = True


def advance(state: State, now: datetime) -> Phase | None:
    over = state.concluded or (state.all_answered and not state.open_points and not state.only_residuals)
    return state.after_answers if over else None
