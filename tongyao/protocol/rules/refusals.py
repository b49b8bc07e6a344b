"""All reasons for which a message is refused (docs/protocol.md §8). `life/machine.py` has the conditions, and
`tongyao/texts/protocol/refusals.toml` has the texts."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from tongyao.protocol.model.value import Value
from tongyao.texts.catalogue import in_both


class Refusal(StrEnum):
    """The reason why a message was refused."""

    ENDED = "ended"
    NOTHING_TO_REFUSE = "nothing_to_refuse"
    NOT_SUSPENDED = "not_suspended"
    NOT_YOURS = "not_yours"
    NOT_NOW = "not_now"
    ALREADY_CONFIRMED = "already_confirmed"
    NO_SEATS_YET = "no_seats_yet"
    UNKNOWN_ALIAS = "unknown_alias"
    HAS_LEFT = "has_left"
    WRONG_ROUND = "wrong_round"
    ROUND_OVER = "round_over"
    TURN_OVER = "turn_over"
    PROXY_SPEAKS = "proxy_speaks"
    CORRECTED_ENOUGH = "corrected_enough"
    TAKEN_OVER_OFTEN = "taken_over_often"
    NOTHING_SAID = "nothing_said"
    TWO_ANSWERS = "two_answers"
    TOO_MANY = "too_many"
    TWICE = "twice"
    HIMSELF = "demander_among_participants"
    NO_PARTICIPANTS = "no_participants"
    DEMANDER_APART = "demander_takes_no_part"
    DEMANDER_ALONE = "demander_alone"
    NO_PROFILE = "no_profile"
    NO_CONSENT = "no_consent"
    NO_LIMIT = "no_limit"
    LIMIT_TOO_LOW = "limit_too_low"
    WRONG_REVISION = "wrong_revision"
    ALREADY_ANSWERED = "already_answered"
    UNKNOWN_RESIDUAL = "unknown_residual"
    ALREADY_REPLANNED = "already_replanned"
    NO_ONE_DECLINED = "no_one_declined"
    NOTHING_TO_EXTEND = "nothing_to_extend"
    NO_CHANGE = "no_change"
    TOO_MANY_MESSAGES = "too_many_messages"
    EXTENDED_ALREADY = "extended_already"
    TOO_LONG = "too_long"
    UNKNOWN_INVITATION = "unknown_invitation"
    NOT_ASKED = "not_asked"
    NOTHING_TO_REPLAN = "nothing_to_replan"
    NO_ONE_PROPOSED = "no_one_proposed"
    NOBODY_LEFT = "nobody_left"
    BUDGET_OF_ROOT = "budget_of_root"
    UNKNOWN_CHILD = "unknown_child"
    ASK_OVER = "ask_over"
    OVERTAKEN = "overtaken"
    NOT_READ = "unreadable_message"
    FORK = "fork"


_OVER: Final = frozenset(
    {
        Refusal.NOT_NOW,
        Refusal.ALREADY_CONFIRMED,
        Refusal.ROUND_OVER,
        Refusal.WRONG_ROUND,
        Refusal.WRONG_REVISION,
        Refusal.ALREADY_ANSWERED,
        Refusal.UNKNOWN_RESIDUAL,
        Refusal.ASK_OVER,
    }
)
"""Reasons that mean: the ask that the message answers is not open."""


class MessageVerdict(Value):
    """The answer to a message. A refusal has a code and texts in both languages.

    A repeated message gets its first verdict again. `round`: the later round in which the words count, if the gate of
    their own round had closed; otherwise 0.
    """

    accepted: bool
    code: str = "accepted"
    en: str = ""
    zh: str = ""
    repeated: bool = False
    round: int = 0

    @classmethod
    def refused(cls, code: Refusal, open_now: str = "") -> MessageVerdict:
        """Return a refusal. `open_now`: the ids of the open asks. The text lists them if the ask was not open."""
        en, zh = in_both("protocol", f"refusals.{code.value}")
        if open_now and code in _OVER:
            english, chinese = in_both("protocol", "refusals.open_now", open=open_now)
            en, zh = en + english, zh + chinese
        return cls(accepted=False, code=code.value, en=en, zh=zh)


ACCEPTED: Final = MessageVerdict(accepted=True)
