"""Every refusal, and the one rule of who may say what when (docs/protocol.md §8). It only reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from tongyao.protocol.model.messages import (
    AnswerPlan,
    ApproveResidual,
    Cancel,
    Conclude,
    ConfirmTension,
    Decide,
    Decision,
    ExtendDeadline,
    Leave,
    Message,
    Replan,
    Resume,
    ReviseTension,
    SelectParticipants,
    SetMandate,
    SubmitProjection,
    SwitchEndpoint,
)
from tongyao.protocol.model.process import DEMANDER, Choice, Phase, State
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.value import Value


class Refusal(StrEnum):
    """Why a message was not applied. The texts are in `REFUSALS`."""

    ENDED = "ended"
    SUSPENDED = "suspended"
    NOT_SUSPENDED = "not_suspended"
    NOT_YOURS = "not_yours"
    NOT_NOW = "not_now"
    ALREADY_CONFIRMED = "already_confirmed"
    UNKNOWN_ALIAS = "unknown_alias"
    HAS_LEFT = "has_left"
    WRONG_ROUND = "wrong_round"
    ROUND_OVER = "round_over"
    TURN_OVER = "turn_over"
    PROXY_SPEAKS = "proxy_speaks"
    NOTHING_SAID = "nothing_said"
    TWO_ANSWERS = "two_answers"
    TOO_MANY = "too_many"
    TWICE = "twice"
    HIMSELF = "demander_among_participants"
    NO_PARTICIPANTS = "no_participants"
    DEMANDER_APART = "demander_takes_no_part"
    DEMANDER_ALONE = "demander_alone"
    NO_PROFILE = "no_profile"
    NO_LIMIT = "no_limit"
    LIMIT_TOO_LOW = "limit_too_low"
    WRONG_REVISION = "wrong_revision"
    ALREADY_ANSWERED = "already_answered"
    UNKNOWN_RESIDUAL = "unknown_residual"
    ALREADY_REPLANNED = "already_replanned"
    NO_ONE_DECLINED = "no_one_declined"
    NOTHING_TO_EXTEND = "nothing_to_extend"
    NO_ROUND_YET = "no_round_yet"
    NOT_TRUSTED = "unreadable_message"


REFUSALS: Final[dict[Refusal, tuple[str, str]]] = {
    Refusal.ENDED: ("this process has ended; nothing can be changed any more", "这个过程已经结束，不能再改动"),
    Refusal.SUSPENDED: ("the process is suspended; resume it first", "过程已暂停，请先恢复"),
    Refusal.NOT_SUSPENDED: ("the process is not suspended; there is nothing to resume", "过程没有暂停，无需恢复"),
    Refusal.NOT_YOURS: ("this is not yours to say in this process", "这件事在本过程中不由你决定"),
    Refusal.NOT_NOW: ("not possible in the present phase", "当前阶段不能这样做"),
    Refusal.ALREADY_CONFIRMED: ("the tension is confirmed and can no longer be revised", "张力已确认，不能再修改"),
    Refusal.UNKNOWN_ALIAS: ("there is no such participant in this process", "本过程中没有这个参与者"),
    Refusal.HAS_LEFT: ("this participant has left the process", "该参与者已离开本过程"),
    Refusal.WRONG_ROUND: ("this answers a round that has not been opened", "这一轮还没有开始"),
    Refusal.ROUND_OVER: (
        "that round is over; what is said now belongs to the present round",
        "那一轮已结束，请在当前轮次发言",
    ),
    Refusal.TURN_OVER: ("this turn has ended", "这一次发言机会已经结束"),
    Refusal.PROXY_SPEAKS: ("the proxy speaks in this turn; take over first", "这一轮由代理发言，请先接管"),
    Refusal.NOTHING_SAID: ("say something, or say that there is nothing new", "请写下内容，或说明没有新内容"),
    Refusal.TWO_ANSWERS: ("either a text or nothing new, not both", "内容与“没有新内容”只能选一个"),
    Refusal.TOO_MANY: ("more participants than this process allows", "参与者人数超过本过程上限"),
    Refusal.TWICE: ("somebody is named twice, or is in the room already", "有人被重复选中，或已在场"),
    Refusal.HIMSELF: ("the demander cannot be one of the participants", "需求方不能同时是参与者"),
    Refusal.NO_PARTICIPANTS: ("name at least as many participants as the quorum", "参与者人数不足最低要求"),
    Refusal.DEMANDER_APART: (
        "the demander takes no part in the rounds of this process: nobody speaks, or is waited for, as P00",
        "本过程中需求方不参与各轮：没有人以 P00 发言，也不等待 P00",
    ),
    Refusal.DEMANDER_ALONE: (
        "nobody but the demander is left in the room: add participants, accept what there is, or abandon",
        "场上只剩需求方：请增加参与者、接受现有结果，或放弃",
    ),
    Refusal.NO_PROFILE: (
        "there is no profile of the demander for a proxy to speak from: speak yourself, or through your own agent",
        "需求方没有档案，代理无从发言：请亲自发言，或由自己的智能体发言",
    ),
    Refusal.NO_LIMIT: ("say the new limit, in tokens or in dollars", "请给出新的上限（token 或美元）"),
    Refusal.LIMIT_TOO_LOW: ("the new limit is not above what has been spent", "新的上限不高于已花费的数额"),
    Refusal.WRONG_REVISION: ("this answers another version of the plan", "这是对另一版方案的答复"),
    Refusal.ALREADY_ANSWERED: ("this plan has been answered already", "已对这份方案作过答复"),
    Refusal.UNKNOWN_RESIDUAL: ("there is no such residual tension waiting", "没有这个待定的残余张力"),
    Refusal.ALREADY_REPLANNED: (
        "the plan has been made anew once; that is all there is",
        "方案已重做过一次，不能再重做",
    ),
    Refusal.NO_ONE_DECLINED: ("nobody named here has declined", "所列参与者并未拒绝"),
    Refusal.NOTHING_TO_EXTEND: ("nobody is waited for under this alias", "目前没有在等这个参与者"),
    Refusal.NO_ROUND_YET: ("no round has begun yet", "还没有开始任何一轮"),
    Refusal.NOT_TRUSTED: (
        "the message cannot be read; see the reference of messages",
        "无法读取这条消息，请参照消息格式",
    ),
}


class Verdict(Value):
    """The answer to a message. A refusal carries its code and both wordings; a repeated key its first verdict."""

    accepted: bool
    code: str = "accepted"
    en: str = ""
    zh: str = ""
    repeated: bool = False

    @classmethod
    def refused(cls, code: Refusal) -> Verdict:
        en, zh = REFUSALS[code]
        return cls(accepted=False, code=code.value, en=en, zh=zh)


ACCEPTED: Final = Verdict(accepted=True)

_CONCLUDABLE: Final = frozenset({Phase.CRYSTALLIZING, Phase.ANSWERING, Phase.AWAITING_CHILDREN})
"""Where the demander may end the waiting: for more rounds, for answers, for children."""

GOING_ON: Final = frozenset({Decision.EXTEND, Decision.RAISE_BUDGET})
"""Decisions after which the same people go on with the rounds."""

_BY_DEMANDER: Final = (
    ReviseTension | ConfirmTension | SelectParticipants | Decide | Conclude | ApproveResidual | Replan | Cancel | Resume
)


def refuse(state: State, message: Message, *, max_participants: int, quorum: int) -> Refusal | None:
    """Why `message` cannot be applied to `state` now; None when it can. Reads only.

    `max_participants` counts those beside a demander who takes part (`ProcessSettings.max_others`).
    Order of the questions: is there still a process, is it yours to say, is it running, is it the time, is it whole.
    """
    if state.phase.ended:
        return Refusal.ENDED
    if (not_yours := _not_yours(message)) is not None:
        return not_yours
    if isinstance(message, Cancel):
        return None
    if isinstance(message, Resume):
        return None if state.phase is Phase.SUSPENDED else Refusal.NOT_SUSPENDED
    if isinstance(message, SetMandate):
        return None if message.alias in state.seats else _nobody(message.alias)
    if state.phase is Phase.SUSPENDED and not isinstance(message, SubmitProjection | Leave | SwitchEndpoint):
        return Refusal.SUSPENDED
    match message:
        case ReviseTension() | ConfirmTension():
            return _confirming(state)
        case SelectParticipants():
            if state.phase is not Phase.SELECTING or state.selected is not None:
                return Refusal.NOT_NOW
            return _people(state, message.participants, limit=max_participants, least=quorum)
        case SubmitProjection():
            return _turn(state, message)
        case SwitchEndpoint():
            return _seat(state, message.alias) or _proxy_of_nothing(state, message)
        case Leave():
            alone = message.alias == DEMANDER and not state.others
            return _seat(state, message.alias) or (Refusal.DEMANDER_ALONE if alone else None)
        case ExtendDeadline():
            turn = state.turns.get(message.alias)
            return None if turn and turn.open and turn.due else Refusal.NOTHING_TO_EXTEND
        case Decide():
            return _decision(state, message, max_participants=max_participants, quorum=quorum)
        case Conclude():
            return None if state.phase in _CONCLUDABLE else Refusal.NOT_NOW
        case AnswerPlan():
            return _answer(state, message)
        case ApproveResidual():
            return None if message.residual in state.undecided else Refusal.UNKNOWN_RESIDUAL
        case Replan():
            if state.phase is not Phase.ANSWERING:
                return Refusal.NOT_NOW
            if state.plan_revision > 1:
                return Refusal.ALREADY_REPLANNED
            declined = all(state.answers.get(alias) == "decline" for alias in message.without)
            return None if declined else Refusal.NO_ONE_DECLINED
        case _:
            return Refusal.NOT_TRUSTED


def _not_yours(message: Message) -> Refusal | None:
    if message.author.role == "operator":
        return None
    if message.author.role == "demander" and message.author.alias != DEMANDER:
        return Refusal.NOT_YOURS
    if isinstance(message, _BY_DEMANDER):
        return None if message.author.role == "demander" else Refusal.NOT_YOURS
    if isinstance(message, ExtendDeadline):
        return None if message.author.role == "demander" else Refusal.NOT_YOURS
    return None if getattr(message, "alias", None) == message.author.alias else Refusal.NOT_YOURS


def _nobody(alias: str) -> Refusal:
    return Refusal.DEMANDER_APART if alias == DEMANDER else Refusal.UNKNOWN_ALIAS


def _seat(state: State, alias: str) -> Refusal | None:
    seat = state.seats.get(alias)
    if seat is None:
        return _nobody(alias)
    return None if seat.active else Refusal.HAS_LEFT


def _proxy_of_nothing(state: State, message: SwitchEndpoint) -> Refusal | None:
    to_proxy = message.endpoint is EndpointKind.PROXY or message.fallback is Fallback.PROXY
    return Refusal.NO_PROFILE if to_proxy and state.seats[message.alias].profile is None else None


def _confirming(state: State) -> Refusal | None:
    if state.confirmed:
        return Refusal.ALREADY_CONFIRMED
    return None if state.phase is Phase.CONFIRMING else Refusal.NOT_NOW


def _people(state: State, choices: tuple[Choice, ...], *, limit: int, least: int) -> Refusal | None:
    named = [choice.profile_id for choice in choices]
    seated = {seat.profile.profile_id for seat in state.seats.values() if seat.profile}
    if len(set(named)) < len(named) or seated & set(named):
        return Refusal.TWICE
    if state.demander_profile in named:
        return Refusal.HIMSELF
    if len(named) + len(state.others) > limit:
        return Refusal.TOO_MANY
    too_few = len(named) + len(state.present) < least or not (named or state.others)
    return Refusal.NO_PARTICIPANTS if too_few else None


def _turn(state: State, message: SubmitProjection) -> Refusal | None:
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    if message.nothing_new and message.text_id:
        return Refusal.TWO_ANSWERS
    if not message.nothing_new and not message.text_id:
        return Refusal.NOTHING_SAID
    if message.round < state.round:
        return Refusal.ROUND_OVER
    turn = state.turns.get(message.alias)
    if message.round > state.round or turn is None:
        return Refusal.WRONG_ROUND
    if not turn.open and not (state.gate_open and turn.author not in (None, EndpointKind.PROXY)):
        return Refusal.TURN_OVER
    return Refusal.PROXY_SPEAKS if state.seats[message.alias].endpoint is EndpointKind.PROXY else None


def _decision(state: State, message: Decide, *, max_participants: int, quorum: int) -> Refusal | None:
    if state.phase is not Phase.DECIDING or state.decision is not None:
        return Refusal.NOT_NOW
    if message.decision is Decision.ADD_PARTICIPANTS:
        return _people(state, message.participants, limit=max_participants, least=quorum)
    if message.decision in GOING_ON and state.present == (DEMANDER,):
        return Refusal.DEMANDER_ALONE
    if message.decision is Decision.RAISE_BUDGET:
        if message.tokens is None and message.cost is None:
            return Refusal.NO_LIMIT
        too_low = (message.tokens is not None and message.tokens <= state.spent.tokens) or (
            message.cost is not None and float(message.cost) <= float(state.spent.cost)
        )
        return Refusal.LIMIT_TOO_LOW if too_low else None
    return None


def _answer(state: State, message: AnswerPlan) -> Refusal | None:
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if message.revision != state.plan_revision:
        return Refusal.WRONG_REVISION
    return Refusal.ALREADY_ANSWERED if message.alias in state.answers else None
