"""Whether a message of each kind may be applied now, as far as its author may send it (docs/protocol.md §8.3).

Reads the state only, not the clock. First the phase is looked at, then whether the message is complete.
"""

from __future__ import annotations

from typing import Final

from tongyao.protocol.life.after_rounds import residual_of
from tongyao.protocol.life.seating import enough
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import to_proxy
from tongyao.protocol.rules.refusals import Refusal

_CONCLUDABLE: Final = frozenset({Phase.CRYSTALLIZING, Phase.ANSWERING, Phase.AWAITING_CHILDREN})
"""Where the demander may end the waiting: for more rounds, for answers, for children."""


def nothing(state: State, message: m.Message) -> Refusal | None:
    """Nothing stands in the way of it as long as the process lives."""
    return None


def resume(state: State, message: m.Resume) -> Refusal | None:
    return None if state.suspended else Refusal.NOT_SUSPENDED


def mandate(state: State, message: m.SetMandate) -> Refusal | None:
    return None if message.alias in state.seats else _nobody(state, message.alias)


def selection(state: State, message: m.SelectParticipants) -> Refusal | None:
    return _people(state, message.participants) if state.phase is Phase.SELECTING else Refusal.NOT_NOW


def leaving(state: State, message: m.Leave) -> Refusal | None:
    alone = message.alias == DEMANDER and not state.others
    return _seat(state, message.alias) or (Refusal.DEMANDER_ALONE if alone else None)


def conclusion(state: State, message: m.Conclude) -> Refusal | None:
    return None if state.phase in _CONCLUDABLE and not state.concluded else Refusal.NOT_NOW


def approval(state: State, message: m.ApproveResidual) -> Refusal | None:
    return None if message.residual in state.undecided else Refusal.UNKNOWN_RESIDUAL


def end_of_child(state: State, message: m.ChildEnded) -> Refusal | None:
    return None if residual_of(state, message.child) is not None else Refusal.UNKNOWN_CHILD


def _nobody(state: State, alias: str) -> Refusal:
    if not state.seats:
        return Refusal.NO_SEATS_YET
    return Refusal.DEMANDER_APART if alias == DEMANDER else Refusal.UNKNOWN_ALIAS


def _seat(state: State, alias: str) -> Refusal | None:
    seat = state.seats.get(alias)
    if seat is None:
        return _nobody(state, alias)
    return None if seat.active else Refusal.HAS_LEFT


def confirmation(state: State, message: m.ReviseTension | m.ConfirmTension) -> Refusal | None:
    if state.phase is Phase.CONFIRMING:
        return None
    return Refusal.NOT_NOW if state.phase is Phase.FORMULATING else Refusal.ALREADY_CONFIRMED


def _people(state: State, choices: tuple[Choice, ...]) -> Refusal | None:
    settings = state.start.settings
    named = [choice.profile_id for choice in choices]
    seated = {seat.profile.profile_id for seat in state.seats.values() if seat.profile}
    if len(set(named)) < len(named) or seated & set(named):
        return Refusal.TWICE
    profile = state.start.demander_profile
    if state.start.demander in named or (profile is not None and profile.profile_id in named):
        return Refusal.HIMSELF
    if len(named) + len(state.others) > settings.max_others:
        return Refusal.TOO_MANY
    return None if enough(state, len(named)) else Refusal.NO_PARTICIPANTS


def consent(state: State, message: m.Consent) -> Refusal | None:
    waits = any(one.number == message.invitation and one.waits for one in state.invitations)
    return None if waits else Refusal.UNKNOWN_INVITATION


def words(state: State, message: m.SubmitProjection) -> Refusal | None:
    answers_gaps = message.alias == DEMANDER and DEMANDER not in state.seats
    if answers_gaps and not (state.demander_asked or DEMANDER in state.turns):
        return Refusal.DEMANDER_APART if state.seats else Refusal.NO_SEATS_YET
    if not answers_gaps and (refusal := _seat(state, message.alias)) is not None:
        return refusal
    if message.nothing_new and message.text_id:
        return Refusal.TWO_ANSWERS
    if not message.nothing_new and not message.text_id:
        return Refusal.NOTHING_SAID
    if message.round > state.round:
        return Refusal.WRONG_ROUND
    if state.phase not in (Phase.CRYSTALLIZING, Phase.DECIDING, Phase.CONSENTING):
        return Refusal.ROUND_OVER
    gate_open = state.phase is Phase.CRYSTALLIZING and state.gate_open
    late = message.round < state.round or not gate_open
    if message.nothing_new and late and not answers_gaps:
        return Refusal.ROUND_OVER
    if state.endpoint_of(message.alias) is EndpointKind.PROXY:
        return Refusal.PROXY_SPEAKS
    turn = state.turns.get(message.alias) if gate_open else None
    if turn is not None and turn.author is EndpointKind.PROXY and turn.outcome is not None and turn.outcome.spoken:
        return Refusal.TURN_OVER  # what a proxy has said is not taken back
    often = turn.revision if turn is not None else len(state.late_words.get(message.alias, ()))
    return Refusal.CORRECTED_ENOUGH if message.text_id and often >= m.MAX_SAID else None


def switch(state: State, message: m.SwitchEndpoint) -> Refusal | None:
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    seat = state.seats[message.alias]
    proxy = to_proxy(message.endpoint, message.fallback)
    if proxy and seat.profile is None:
        return Refusal.NO_PROFILE
    if proxy and not seat.consented:
        return None if m.is_own(message) else Refusal.NO_CONSENT
    same = message.endpoint is seat.endpoint and message.fallback in (None, seat.fallback)
    if same:
        return Refusal.NO_CHANGE
    turn = state.turns.get(message.alias)
    takes_over = seat.endpoint is EndpointKind.PROXY and message.endpoint is not EndpointKind.PROXY
    if takes_over and m.is_own(message) and turn is not None and turn.open and turn.batch:
        return Refusal.TAKEN_OVER_OFTEN if turn.taken_back >= m.MAX_TAKEN_BACK else None
    return None


def extension(state: State, message: m.ExtendDeadline) -> Refusal | None:
    """Whether somebody is waited for is not told: it would tell a proxy from a person."""
    turn = state.turns.get(message.alias)
    if message.author.role == "participant":
        if turn is None or not turn.waits:
            return Refusal.NOTHING_TO_EXTEND
        if turn.extended_by_self:
            return Refusal.EXTENDED_ALREADY
        return Refusal.TOO_LONG if message.seconds > state.start.settings.turn_seconds else None
    if message.alias == DEMANDER and (state.deadline is not None or DEMANDER not in state.seats):
        return None if state.deadline is not None else Refusal.NOTHING_TO_EXTEND
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    return None if state.phase is Phase.CRYSTALLIZING and state.gate_open else Refusal.NOTHING_TO_EXTEND


def decision(state: State, message: m.Decide) -> Refusal | None:
    if state.phase is not Phase.DECIDING:
        return Refusal.NOT_NOW
    if message.decision is m.Decision.ADD_PARTICIPANTS:
        return _people(state, message.participants)
    if message.decision in m.GOING_ON and not state.others:
        return Refusal.DEMANDER_ALONE
    return _limit(state, message) if message.decision is m.Decision.RAISE_BUDGET else None


def _limit(state: State, message: m.Decide) -> Refusal | None:
    if state.start.lineage is not None:
        return Refusal.BUDGET_OF_ROOT
    if message.tokens is None and message.cost is None:
        return Refusal.NO_LIMIT
    too_low = (message.tokens is not None and message.tokens <= state.spent.tokens) or (
        message.cost is not None and float(message.cost) <= float(state.spent.cost)
    )
    return Refusal.LIMIT_TOO_LOW if too_low else None


def answer(state: State, message: m.AnswerPlan) -> Refusal | None:
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if message.alias in state.left_out:
        return Refusal.NOT_ASKED
    if message.revision != state.plan_revision:
        return Refusal.WRONG_REVISION
    return Refusal.ALREADY_ANSWERED if message.alias in state.answers else None


def replan(state: State, message: m.Replan) -> Refusal | None:
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if state.replanned:
        return Refusal.ALREADY_REPLANNED
    if not message.without and not message.proposals:
        return Refusal.NOTHING_TO_REPLAN
    if any(state.answers.get(alias) != "decline" for alias in message.without):
        return Refusal.NO_ONE_DECLINED
    if any(state.answers.get(alias) != "propose" for alias in message.proposals):
        return Refusal.NO_ONE_PROPOSED
    return Refusal.NOBODY_LEFT if set(state.others) <= set(message.without) else None
