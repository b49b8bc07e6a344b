"""What an accepted message does to the state of a process (docs/protocol.md §8.3). Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid5

from pydantic import JsonValue

from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, State
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.rules.lineage import hole_id

Effect = tuple[EventKind, dict[str, JsonValue]]

_TEXTS = UUID("7d2b1c52-2f0e-5e0c-9a55-6f2f6c7e61aa")


def text_id(process_id: str, name: str) -> str:
    """The id of a text that a process names itself: the same name is the same text, so writing it twice is harmless."""
    return str(uuid5(_TEXTS, f"{process_id}/{name}"))


def apply(state: State, message: m.Message, *, now: datetime) -> list[Effect]:
    """Apply a message that `refusals.refuse` has nothing against; return what is to be noted."""
    match message:
        case m.ReviseTension(tension=tension):
            state.tension = tension
            return [(EventKind.TENSION_REVISED, {"grade": tension.grade.value})]
        case m.ConfirmTension():
            state.confirmed = True
            return [(EventKind.TENSION_CONFIRMED, {"by": "person"})]
        case m.SelectParticipants(participants=participants):
            state.selected = participants
            return []
        case m.SubmitProjection():
            return _submit(state, message)
        case m.SwitchEndpoint(alias=alias, endpoint=endpoint, fallback=fallback):
            seat = state.seats[alias]
            seat.endpoint = endpoint
            seat.fallback = fallback or seat.fallback
            return [(EventKind.ENDPOINT_SWITCHED, {"alias": alias, "to": endpoint.value})]
        case m.ExtendDeadline(alias=alias, seconds=seconds):
            turn = state.turns[alias]
            assert turn.due is not None  # refused otherwise
            turn.due = max(turn.due, now) + timedelta(seconds=seconds)
            return [(EventKind.DEADLINE_EXTENDED, {"alias": alias, "due": turn.due.isoformat()})]
        case m.Leave(alias=alias):
            return leave(state, alias)
        case m.Decide():
            return _decide(state, message)
        case m.Conclude():
            state.concluded = True
            return [(EventKind.CONCLUDED, {"round": state.round, "phase": state.phase.value})]
        case m.SetMandate(alias=alias):
            return [(EventKind.MANDATE_CHANGED, {"alias": alias})]
        case m.Resume():
            assert state.resume_to is not None  # only a suspended process gets here
            target = state.resume_to
            state.move(target)
            _give_back(state, now)
            state.suspended_reason, state.suspended_at = "", None
            state.resumptions += 1
            return [(EventKind.RESUMED, {"to": target.value})]
        case m.Cancel():
            state.cancel_requested = True
            state.cancel_branch = message.branch
            return []
        case m.AnswerPlan(alias=alias, answer=answer, revision=revision, text_id=said):
            state.answers[alias] = answer
            data: dict[str, JsonValue] = {"alias": alias, "decision": answer, "revision": revision, "text_id": said}
            return [(EventKind.ANSWER_RECEIVED, data), *_hole(state, message)]
        case m.ApproveResidual(residual=residual, approve=approve):
            if approve:
                state.approved = (*state.approved, residual)
                return []
            state.refused_residuals = (*state.refused_residuals, residual)
            return [(EventKind.CHILD_REFUSED, {"residual": residual, "reason": DEMANDER})]
        case m.Replan(without=without):
            state.replan_without = without
            return [(EventKind.DECIDED, {"decision": "replan", "by": "person"})]


def leave(state: State, alias: str) -> list[Effect]:
    """`alias` leaves the room: their open turn ends as `left`, what they said before stays."""
    state.seats[alias].active = False
    turn = state.turns.get(alias)
    if turn is not None and turn.open:
        turn.outcome = Outcome.LEFT
    return [(EventKind.PARTICIPANT_LEFT, {"alias": alias, "round": state.round})]


def _give_back(state: State, now: datetime) -> None:
    """Nobody's time runs while the process stands still."""
    pause = now - state.suspended_at if state.suspended_at else timedelta(0)
    for turn in state.waiting_for:
        if turn.due is not None:
            turn.due += pause


def _submit(state: State, message: m.SubmitProjection) -> list[Effect]:
    turn = state.turns[message.alias]
    turn.submission = message.text_id
    turn.nothing_new = message.nothing_new
    turn.author = state.seats[message.alias].endpoint
    turn.revision += 1
    turn.outcome = None
    return [(EventKind.WORDS_ARRIVED, {"alias": turn.alias, "round": turn.round})]


def _hole(state: State, message: m.AnswerPlan) -> list[Effect]:
    """What somebody leaves who declines: the demander is asked about it, as about every residual."""
    if message.answer != "decline" or not state.may_branch or message.alias == DEMANDER:
        return []
    hole = hole_id(message.revision, message.alias)
    state.residuals = (*state.residuals, hole)
    return [(EventKind.RESIDUAL_OPEN, {"residual": hole})]


def _decide(state: State, message: m.Decide) -> list[Effect]:
    state.decision = message.decision.value
    if message.tokens is not None:
        state.token_budget = message.tokens
    if message.cost is not None:
        state.cost_budget = Decimal(message.cost)
    if message.decision is m.Decision.ADD_PARTICIPANTS:
        state.newcomers = message.participants
    return [(EventKind.DECIDED, {"decision": message.decision.value, "by": "person"})]
