"""Messages to a process (docs/protocol.md §8). `life.message_kinds` states who may send them and when.

The sender gives a message a key. Two messages with the same key and author are one message. The message's row has a
lane and a number. Messages of one lane are applied in order, each at most once, also across runs of the workflow.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from tongyao.protocol.model.process import Choice, TensionRef
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.value import Value


class Author(Value):
    """The author of a message. `alias`: in this process, `P00` for the demander, empty for an operator.

    `invited`: a person without a seat, with the alias `invited/<number>`. `child`: a child process, with its id.
    `answerer`: a person who answers model calls, with `calls`.
    """

    role: Literal["demander", "participant", "operator", "invited", "child", "answerer"]
    alias: str = ""


class _Message(Value):
    key: str = Field(default="", max_length=200, description="Empty only for signals without one.")
    author: Author
    lane: str = Field(default="", description="Empty for signals.")
    number: int = Field(default=0, ge=0, description="Within the lane, from 1; 0 for signals.")
    signature: str = Field(
        default="", max_length=100, description="Of the relay (`contracts/signatures`); never stored."
    )


class AnswerToAsk(_Message):
    """A message that answers an ask that was open when the message was composed."""

    ask: str = Field(
        default="", max_length=200, description="What it answers (`life.asks`). Empty: what is open when it arrives."
    )


class ReviseTension(AnswerToAsk):
    kind: Literal["revise_tension"] = "revise_tension"
    tension: TensionRef


class ConfirmTension(AnswerToAsk):
    kind: Literal["confirm_tension"] = "confirm_tension"


class SelectParticipants(AnswerToAsk):
    kind: Literal["select_participants"] = "select_participants"
    participants: tuple[Choice, ...] = Field(min_length=1)


class SubmitProjection(_Message):
    """Words in a turn: the id of a stored text, or `nothing_new`."""

    kind: Literal["submit_projection"] = "submit_projection"
    alias: str
    round: int = Field(ge=1)
    text_id: str = ""
    nothing_new: bool = False


class SwitchEndpoint(_Message):
    kind: Literal["switch_endpoint"] = "switch_endpoint"
    alias: str
    endpoint: EndpointKind
    fallback: Fallback | None = None


class ExtendDeadline(AnswerToAsk):
    kind: Literal["extend_deadline"] = "extend_deadline"
    alias: str
    seconds: int = Field(gt=0, le=60 * 24 * 3600)


class Leave(_Message):
    kind: Literal["leave"] = "leave"
    alias: str


class Decision(StrEnum):
    ACCEPT_AS_IS = "accept_as_is"
    EXTEND = "extend"
    RAISE_BUDGET = "raise_budget"
    ADD_PARTICIPANTS = "add_participants"
    ABANDON = "abandon"


GOING_ON: Final = frozenset({Decision.EXTEND, Decision.RAISE_BUDGET})
"""Decisions after which the same people continue the rounds."""


class Decide(AnswerToAsk):
    kind: Literal["decide"] = "decide"
    decision: Decision
    participants: tuple[Choice, ...] = ()
    tokens: int | None = Field(default=None, gt=0, description="The new limit of the process, not an addition.")
    cost: str | None = Field(
        default=None, pattern=r"^\d{1,9}(\.\d{1,6})?$", description="The new limit in US dollars, as `12.50`."
    )


class Conclude(AnswerToAsk):
    kind: Literal["conclude"] = "conclude"


class SetMandate(_Message):
    """The mandate is stored with the profile and applies from the next call on. The process only notes the change."""

    kind: Literal["set_mandate"] = "set_mandate"
    alias: str


class Resume(_Message):
    kind: Literal["resume"] = "resume"


class Cancel(_Message):
    kind: Literal["cancel"] = "cancel"
    branch: bool = Field(default=False, description="Also everything below it.")


class AnswerPlan(_Message):
    kind: Literal["answer_plan"] = "answer_plan"
    alias: str
    revision: int = Field(ge=1)
    answer: Literal["commit", "decline", "propose"]
    text_id: str = ""


class ApproveResidual(_Message):
    kind: Literal["approve_residual"] = "approve_residual"
    residual: str
    approve: bool = True


class Replan(AnswerToAsk):
    """Request a new plan: without some people who declined, and with some proposals."""

    kind: Literal["replan"] = "replan"
    without: tuple[str, ...] = ()
    proposals: tuple[str, ...] = Field(default=(), description="Aliases whose proposals are to be taken up.")


class ConsentAnswer(_Message):
    """Whether an invited person takes part, and with which endpoint (by default a proxy)."""

    kind: Literal["consent"] = "consent"
    invitation: int = Field(ge=1)
    allow: bool
    endpoint: EndpointKind = EndpointKind.PROXY


class ChildEnded(_Message):
    """A child process has ended. The transaction that closes its row inserts this message."""

    kind: Literal["child_ended"] = "child_ended"
    child: str
    outcome: str


class CallAnswered(_Message):
    """A waiting model call is answered, or must be asked again. The transaction that stores this sends the message."""

    kind: Literal["call_answered"] = "call_answered"
    call: str


class Upgrade(_Message):
    """Continue as new under the newest rules."""

    kind: Literal["upgrade"] = "upgrade"


Message = Annotated[
    ReviseTension
    | ConfirmTension
    | SelectParticipants
    | SubmitProjection
    | SwitchEndpoint
    | ExtendDeadline
    | Leave
    | Decide
    | Conclude
    | SetMandate
    | Resume
    | Cancel
    | AnswerPlan
    | ApproveResidual
    | Replan
    | ConsentAnswer
    | ChildEnded
    | CallAnswered
    | Upgrade,
    Field(discriminator="kind"),
]

MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message, config=ConfigDict(hide_input_in_errors=True))

KINDS: Final[dict[str, type[Message]]] = {
    kind.model_fields["kind"].default: kind for kind in get_args(get_args(Message)[0])
}
"""Every kind of message and its type."""


def is_own(message: Message) -> bool:
    """Whether a person sends it for themselves. A signal never counts, because its sender chooses the author."""
    return message.author.role != "operator" and message.number > 0


CALLS_LANE: Final = "calls"
"""The lane, and the author's alias, of `call_answered`."""


def lane_of(author: Author, kind: str, endpoint: str = "") -> str:
    """Return the lane of a message. Kinds that must never wait behind another message have a control lane.

    `endpoint`: `agent` if a person's own agent sends the message.
    """
    lane = "operator" if author.role == "operator" else author.alias
    if endpoint == "agent":
        lane = f"{lane}/agent"
    return f"{lane}/control" if kind in CONTROL_KINDS else lane


CONTROL_KINDS: Final = frozenset({"cancel", "leave", "resume"})
"""Kinds that never wait behind another message, and are exempt from the limit on messages."""

MAX_SAID: Final = 10
"""Most texts of one person in one turn (ours). It limits the size of the state."""

MAX_TAKEN_BACK: Final = 3
"""Most takeovers by a person in one turn while their proxy's call runs (ours). Such a call is discarded but paid."""

UNBOUNDED_ROLES: Final = frozenset({"operator", "child", "answerer"})
"""Roles that are exempt from `MAX_MESSAGES`. Their messages are limited in other ways."""

MAX_MESSAGES: Final = 1_000
"""Most messages of one lane to one process (ours). The server keeps at most 2,000 updates of a run."""
