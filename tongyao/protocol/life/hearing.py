"""Applies accepted messages to the state (docs/protocol.md §8.3)."""

from __future__ import annotations

from datetime import datetime, timedelta

from tongyao.protocol.life import clock
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import answering, children, confirming, deciding, planning, seating, turns
from tongyao.protocol.life.state import State, Words
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Phase


def apply(state: State, message: m.Message, now: datetime) -> None:
    """Apply a message that `refusing.refuse` has nothing against."""
    match message:
        case m.ReviseTension():
            confirming.revise(state, message, now)
        case m.ConfirmTension():
            confirming.confirm(state, now, by="person")
        case m.SelectParticipants():
            seating.ask_consent(state, message.participants, now)
        case m.Consent():
            seating.answer_invitation(state, message.invitation, message.endpoint if message.allow else None, now)
        case m.SubmitProjection():
            _submit(state, message, now)
        case m.SwitchEndpoint():
            turns.switch(state, message.alias, message.endpoint, message.fallback, now, own=m.is_own(message))
        case m.ExtendDeadline():
            _extend(state, message, now)
        case m.Leave():
            turns.leave(state, message.alias, now)
        case m.Decide():
            deciding.decide(state, message, now)
        case m.Conclude():
            _conclude(state, now)
        case m.AnswerPlan():
            answering.answer(state, message, now)
        case m.Replan():
            answering.replan(state, message, now)
        case m.ApproveResidual():
            children.approve(state, message, now)
        case m.ChildEnded():
            children.ended(state, message, now)
        case m.SetMandate():
            note(state, EventKind.MANDATE_CHANGED, now, alias=message.alias)
        case m.Resume():
            _resume(state, now)
        case m.Cancel():
            state.cancel_branch = message.branch
            enter(state, Phase.CANCELLED, now)
        case m.Upgrade():
            state.upgrade_wanted = True


def _submit(state: State, message: m.SubmitProjection, now: datetime) -> None:
    """Words enter the open round. Where its gate is closed they are kept for the next one. The event names the round they enter."""
    said = Words(lane=message.lane, round=message.round, text_id=message.text_id)
    if message.alias == DEMANDER:
        state.demander_asked = 0
    open_now = state.phase is Phase.CRYSTALLIZING and state.gate_open
    entered = state.round if open_now else state.round + 1
    note(state, EventKind.WORDS_ARRIVED, now, urgent=False, alias=message.alias, round=entered)
    if open_now:
        turns.hear_words(state, message.alias, said, now)
    else:
        state.late_words.setdefault(message.alias, []).append(said)


def _extend(state: State, message: m.ExtendDeadline, now: datetime) -> None:
    """Give somebody more time: in a turn, or the demander in a phase that waits for them.

    Where nobody is waited for, nothing changes: the sender cannot tell a proxy from a person by it.
    """
    turn = state.turns.get(message.alias)
    deadline = turn.deadline if turn is not None and turn.waits else None
    if deadline is None and message.alias == DEMANDER:
        deadline = state.deadline
    if deadline is None:
        return
    late = max(timedelta(0), clock.process_time(state, now) - deadline.due)
    deadline.extended += late + timedelta(seconds=message.seconds)
    deadline.passed, deadline.check_at = False, None
    if turn is not None and message.author.role == "participant":
        turn.extended_by_self = True
    due = clock.wall_time(state, deadline.due).isoformat()
    note(state, EventKind.DEADLINE_EXTENDED, now, alias=message.alias, due=due)


def _conclude(state: State, now: datetime) -> None:
    state.concluded = True
    note(state, EventKind.CONCLUDED, now, round=state.round, phase=state.phase.value)
    if state.phase is Phase.CRYSTALLIZING and state.deciding_cause is not None:  # the rounds have stopped already
        state.unconverged = True
        planning.begin(state, now)


def _resume(state: State, now: datetime) -> None:
    """Operators' causes are gone; what infrastructure failed is tried again at once."""
    clock.clear(state, [name for name, cause in state.causes.items() if cause.kind == "operator"], now)
    for cause in state.causes.values():
        cause.retry_at = None
