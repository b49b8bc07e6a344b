"""Messages to a process (docs/protocol.md §8). `life.machine` states who may send them and when.

Each kind has two types: the body, which a person or an agent sends, and the message, which the workflow receives. A
body has no author field, because the caller is the author. Texts are stored first, and a message contains only their
ids.

The sender gives a message a key. Two messages with the same key and author count as one. The row of a message has a
lane and a number. Messages of one lane are applied in order, each at most once, also across runs of the workflow.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter

from tongyao.protocol.model.ids import Alias, Id
from tongyao.protocol.model.process import Choice, TensionRef
from tongyao.protocol.model.process_settings import Fallback
from tongyao.protocol.model.projection import MAX_FIRST_ITEMS, EndpointKind, ItemDraft
from tongyao.protocol.model.tension import MISSING, MOST_NAME_CHARS, MOST_NAMES, NameFound
from tongyao.protocol.model.value import Body, Value

MAX_TEXT: Final = 20_000
"""Longest text of a turn, an answer or an intent, in characters. Longer descriptions belong in a profile."""
MAX_CONTACT: Final = 2_000
"""Longest contact, in characters."""
MAX_TOKENS: Final = 10**12
Text = Annotated[str, Field(max_length=MAX_TEXT, description="Your own words; they are kept as they are.")]
Names = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=MOST_NAME_CHARS)], ...] | None,
    Field(
        max_length=MOST_NAMES,
        description="All names of persons in your words that others read as marks. If left out: the words that a small program takes for names.",
    ),
]

_WHOSE: Final = "Alias of the participant. Default: yours."


class TensionBody(Body):
    """A tension as its owner writes it. An omitted part is `[data_insufficient]`."""

    transition: str = Field(min_length=1, max_length=5_000, description="T: the structure of the change.")
    initial_state: str = Field(default=MISSING, max_length=5_000, description="I: your situation, as facts.")
    barriers: tuple[Annotated[str, Field(max_length=5_000)], ...] = Field(
        default=(MISSING,), max_length=20, description="B: the barriers, one by one."
    )
    exchange: str = Field(default=MISSING, max_length=5_000, description="E: what you can give.")
    names: tuple[NameFound, ...] | None = Field(
        default=None,
        max_length=MOST_NAMES,
        description="All names in it that others read as marks: persons and firms that occur in the intent or the tension. If left out: "
        "the names that were found before.",
    )


class ParticipantBody(Body):
    """A person who is to take part."""

    profile_id: Id
    endpoint: EndpointKind | None = Field(
        default=None,
        description="If left out, a proxy speaks. In a child process, people who spoke for themselves in the parent do so again.",
    )
    fallback: Fallback | None = None


def _tag(given: Any) -> str:
    return "id" if isinstance(given, str) else "person"


ParticipantOrId = Annotated[Annotated[ParticipantBody, Tag("person")] | Annotated[Id, Tag("id")], Discriminator(_tag)]
Participants = tuple[ParticipantOrId, ...]


class Author(Value):
    """The author of a message. `alias`: the alias in this process; `P00` for the demander, empty for an operator.

    Role `invited`: a person without a seat, with the alias `invited/<number>`. Role `child`: a child process, with its
    id as alias. Role `answerer`: a person who answers model calls, with the alias `calls`.
    """

    role: Literal["demander", "participant", "operator", "invited", "child", "answerer"]
    alias: str = ""


class _Message(Value):
    key: str = Field(
        default="",
        max_length=200,
        description="Empty if the message was not stored: `resume` by signal, a cancellation in Temporal.",
    )
    author: Author
    lane: str = Field(default="", description="Empty if the message was not stored.")
    number: int = Field(default=0, ge=0, description="Within the lane, from 1; 0 if the message was not stored.")
    signature: str = Field(default="", exclude=True, description="Ignored: in the histories of older processes.")


class AnswerToAsk(Body):
    """Answers an ask that was open when the message was written. Without `ask`: the ask open when it arrives."""

    ask: str = Field(
        default="",
        max_length=200,
        description="The id of the ask that you saw and answer, from the inbox. The message is refused if that ask is closed. If left out: the ask that is open now.",
    )


class ReviseTensionBody(AnswerToAsk):
    kind: Literal["revise_tension"]
    tension: TensionBody


class ReviseTension(_Message, AnswerToAsk):
    kind: Literal["revise_tension"] = "revise_tension"
    tension: TensionRef


class ConfirmTensionBody(AnswerToAsk):
    kind: Literal["confirm_tension"]


class ConfirmTension(_Message, ConfirmTensionBody):
    kind: Literal["confirm_tension"] = "confirm_tension"


class SelectParticipantsBody(AnswerToAsk):
    kind: Literal["select_participants"]
    participants: Participants = Field(min_length=1, max_length=20)


class SelectParticipants(_Message, AnswerToAsk):
    kind: Literal["select_participants"] = "select_participants"
    participants: tuple[Choice, ...] = Field(min_length=1)


class SubmitProjectionBody(Body):
    """Speak in a turn: with a text, or with `nothing_new`.

    Your own agent may send `items` in place of a text, with `shown`, the text that contains their quotes.
    """

    kind: Literal["submit_projection"]
    round: int = Field(ge=1, le=1_000)
    text: Text = ""
    items: tuple[ItemDraft, ...] = Field(
        default=(), max_length=MAX_FIRST_ITEMS, description="Items; only a person's own agent sends them."
    )
    shown: Text = Field(default="", description="With `items`: the text from which their quotes are taken, verbatim.")
    names: Names = None
    nothing_new: bool = False

    @property
    def words(self) -> str:
        """The part of the message that others will read."""
        return self.text or "\n\n".join(item.text for item in self.items)


class SubmitProjection(_Message):
    """Words in a turn: the id of a stored text, or `nothing_new`."""

    kind: Literal["submit_projection"] = "submit_projection"
    alias: str
    round: int = Field(ge=1)
    text_id: str = ""
    nothing_new: bool = False


class SwitchEndpointBody(Body):
    kind: Literal["switch_endpoint"]
    endpoint: EndpointKind
    fallback: Fallback | None = None
    alias: Alias | None = Field(default=None, description=_WHOSE)


class SwitchEndpoint(_Message, SwitchEndpointBody):
    kind: Literal["switch_endpoint"] = "switch_endpoint"
    alias: str


class ExtendDeadlineBody(AnswerToAsk):
    """More time for a participant's turn, once for your own turn, or, as demander, with `P00` for your own ask."""

    kind: Literal["extend_deadline"]
    alias: Alias | None = Field(default=None, description=_WHOSE)
    seconds: int = Field(gt=0, le=60 * 24 * 3600)


class ExtendDeadline(_Message, ExtendDeadlineBody):
    kind: Literal["extend_deadline"] = "extend_deadline"
    alias: str


class LeaveBody(Body):
    kind: Literal["leave"]
    alias: Alias | None = Field(default=None, description=_WHOSE)


class Leave(_Message, LeaveBody):
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


class DecideBody(AnswerToAsk):
    kind: Literal["decide"]
    decision: Decision
    participants: Participants = Field(default=(), max_length=20)
    tokens: int | None = Field(default=None, gt=0, le=MAX_TOKENS)
    cost: Decimal | None = Field(
        default=None, gt=0, le=1_000_000, max_digits=15, decimal_places=6, description="US dollars."
    )


class Decide(_Message, AnswerToAsk):
    kind: Literal["decide"] = "decide"
    decision: Decision
    participants: tuple[Choice, ...] = ()
    tokens: int | None = Field(default=None, gt=0, description="The new limit of the process, not an addition.")
    cost: str | None = Field(
        default=None, pattern=r"^\d{1,9}(\.\d{1,6})?$", description="The new limit in US dollars, as `12.50`."
    )


class ConcludeBody(AnswerToAsk):
    """End the rounds after the current round, or end the waiting for answers or children."""

    kind: Literal["conclude"]


class Conclude(_Message, ConcludeBody):
    kind: Literal["conclude"] = "conclude"


class ResumeBody(Body):
    kind: Literal["resume"]


class Resume(_Message, ResumeBody):
    kind: Literal["resume"] = "resume"


class CancelBody(Body):
    kind: Literal["cancel"]
    branch: bool = False


class Cancel(_Message, CancelBody):
    """`branch`: also cancel all children and their children."""

    kind: Literal["cancel"] = "cancel"


class AnswerPlanBody(Body):
    kind: Literal["answer_plan"]
    revision: int = Field(ge=1, le=1_000)
    answer: Literal["commit", "decline", "propose"]
    text: Text = ""
    names: Names = None
    contact: str = Field(
        default="",
        max_length=MAX_CONTACT,
        description="With `commit`: how the demander and the others who commit reach you. Only they read it.",
    )

    @property
    def words(self) -> str:
        """The part of the message that others will read."""
        return self.text


class AnswerPlan(_Message):
    kind: Literal["answer_plan"] = "answer_plan"
    alias: str
    revision: int = Field(ge=1)
    answer: Literal["commit", "decline", "propose"]
    text_id: str = ""


class ApproveResidualBody(Body):
    kind: Literal["approve_residual"]
    residual: Id
    approve: bool = True
    ask: str = Field(
        default="",
        max_length=200,
        description="`candidate/…`, as `pending` says it: begin with the candidate, or not with this one.",
    )


class ApproveResidual(_Message):
    kind: Literal["approve_residual"] = "approve_residual"
    residual: str
    approve: bool = True


class ReplanBody(AnswerToAsk):
    """Request a new plan, once: without some people who declined, and with some proposals. Give at least one alias."""

    kind: Literal["replan"]
    without: tuple[Alias, ...] = Field(default=(), max_length=20, description="Aliases of participants who declined.")
    proposals: tuple[Alias, ...] = Field(
        default=(), max_length=20, description="Aliases whose proposals the new plan follows."
    )


class Replan(_Message, ReplanBody):
    kind: Literal["replan"] = "replan"


class ConsentBody(Body):
    """Answer whether you take part in this process. `invitation`: by default the last question."""

    kind: Literal["consent"]
    allow: bool
    endpoint: EndpointKind = Field(
        default=EndpointKind.PROXY,
        description="With `allow`: what speaks for you. `human`: you yourself; no proxy speaks for you and no plan reads your profile.",
    )
    invitation: int | None = Field(default=None, ge=1, le=10_000)


class ConsentAnswer(_Message, ConsentBody):
    kind: Literal["consent"] = "consent"
    invitation: int = Field(ge=1)


class SetMandate(_Message):
    """The mandate is stored with the profile and applies from the next call on. The process only notes the change."""

    kind: Literal["set_mandate"] = "set_mandate"
    alias: str


class ChildEnded(_Message):
    """A child process has ended. The transaction that closes the child's row inserts this message."""

    kind: Literal["child_ended"] = "child_ended"
    child: str
    outcome: str


class CallAnswered(_Message):
    """A waiting model call has an answer or must be asked again. The transaction that stores this inserts the
    message."""

    kind: Literal["call_answered"] = "call_answered"
    call: str


class Upgrade(_Message):
    """Asks the workflow to continue as new and then to follow the newest rules."""

    kind: Literal["upgrade"] = "upgrade"


MessageBody = Annotated[
    ReviseTensionBody
    | ConfirmTensionBody
    | ResumeBody
    | ConcludeBody
    | SelectParticipantsBody
    | SubmitProjectionBody
    | SwitchEndpointBody
    | ExtendDeadlineBody
    | LeaveBody
    | DecideBody
    | CancelBody
    | AnswerPlanBody
    | ApproveResidualBody
    | ReplanBody
    | ConsentBody,
    Field(discriminator="kind"),
]
MESSAGE_BODY: Final[TypeAdapter[MessageBody]] = TypeAdapter(MessageBody, config=ConfigDict(hide_input_in_errors=True))

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

MESSAGE_TYPES: Final[dict[str, type[Message]]] = {
    kind.model_fields["kind"].default: kind for kind in get_args(get_args(Message)[0])
}
"""Every kind of message and its type."""


def is_own(message: Message) -> bool:
    """Whether a person sends it for themselves. A message without a number was never stored, so
    its author was not checked."""
    return message.author.role != "operator" and message.number > 0


CALLS_LANE: Final = "calls"
"""The lane of `call_answered` messages. The alias of their author is the same."""


def lane_of(author: Author, kind: str, endpoint: str = "") -> str:
    """Return the lane of a message. Messages of `CONTROL_KINDS` have their own control lane.

    `endpoint`: `agent` if a person's own agent sends the message.
    """
    lane = "operator" if author.role == "operator" else author.alias
    if endpoint == "agent":
        lane = f"{lane}/agent"
    return f"{lane}/control" if kind in CONTROL_KINDS else lane


CONTROL_KINDS: Final = frozenset({"cancel", "leave", "resume"})
"""Kinds of messages that do not wait for earlier messages and are exempt from `MAX_MESSAGES`."""

MAX_SAID: Final = 10
"""Maximum number of texts of one person in one turn (ours). It limits the size of the state."""

MAX_TAKEN_BACK: Final = 3
"""Maximum takeovers by a person in a turn while their proxy's call runs (ours). The discarded call is paid."""

UNBOUNDED_ROLES: Final = frozenset({"operator", "child", "answerer"})
"""Roles that are exempt from `MAX_MESSAGES`. Their messages are limited in other ways."""

MAX_MESSAGES: Final = 1_000
"""Maximum number of messages of one lane to one process (ours). The server keeps at most 2,000 updates of a run."""
