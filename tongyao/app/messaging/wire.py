"""The request bodies of messages from people and agents (docs/protocol.md §8).

`messages.build_message` converts them to messages of the protocol. The author is never in a body; it is the caller.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, model_validator

from tongyao.app.errors import BadIdempotencyKey, BadInput, reason
from tongyao.protocol.model.messages import Decision
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import MAX_FIRST_ITEMS, AgentSubmission, EndpointKind, ItemDraft
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import MISSING, MOST_NAME_CHARS, MOST_NAMES, TENSION_CHARS, NameFound, Tension
from tongyao.protocol.model.unicode_text import without_controls
from tongyao.protocol.model.value import Value

MAX_TEXT: Final = 20_000
"""Longest text of a turn, an answer or an intent, in characters. Longer descriptions belong in a profile."""
MAX_CONTACT: Final = 2_000
"""Longest contact, in characters."""
_DEEPEST: Final = 50
"""Most levels of nested lists and objects in a body. Each level is one recursive call."""
MAX_TOKENS: Final = 10**12
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Alias = Annotated[str, Field(pattern=r"^P\d{2,3}$")]
Text = Annotated[str, Field(max_length=MAX_TEXT, description="Your own words; they are kept as they are.")]
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


def checked_key(key: str | None) -> str:
    """Return the Idempotency-Key if it is well-formed. Raises `BadIdempotencyKey`."""
    if not key:
        raise BadIdempotencyKey(
            "key_missing", "send an `Idempotency-Key` that you choose: requests with the same key count as one request"
        )
    if not _KEY.fullmatch(key):
        raise BadIdempotencyKey("bad_key", "an Idempotency-Key has 1 to 200 visible ASCII characters, without spaces")
    return key


def stored_key(key: str) -> str:
    """Return the digest of an Idempotency-Key. It is stored instead of the key, because keys can contain names."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


class Body(Value):
    """A request body. Lone surrogates, which UTF-8 cannot encode, are refused. Control characters are removed."""

    @model_validator(mode="before")
    @classmethod
    def _reads_as_text(cls, data: Any) -> Any:
        return _as_text(data)


def _as_text(data: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ValueError(f"lists and objects may be nested {_DEEPEST} levels deep")
    match data:
        case str():
            try:
                data.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError("this text contains half of a character (a lone surrogate)") from None
            return without_controls(data)
        case dict():
            return {_as_text(key): _as_text(value, depth + 1) for key, value in data.items()}
        case list() | tuple():
            return [_as_text(value, depth + 1) for value in data]
        case _:
            return data


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

    def tension(self) -> Tension:
        """Return the tension. Raises `BadInput` if a part is blank or the whole is too long."""
        language = language_of(" ".join((self.transition, self.initial_state, *self.barriers, self.exchange)))
        try:
            tension = Tension.model_validate({**self.model_dump(), "names": self.names or (), "language": language})
        except ValidationError as error:
            raise BadInput("not_a_tension", reason(error.errors()[0]), field="tension") from None
        if tension.chars > TENSION_CHARS:
            long = f"the tension has {tension.chars:,} characters; at most {TENSION_CHARS:,}: shorten it"
            raise BadInput("not_a_tension", long, field="tension")
        return tension


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


def chosen(participants: Participants) -> tuple[Choice, ...]:
    """Return the participants of a body as the protocol's choices."""
    return tuple(
        Choice(profile_id=participant)
        if isinstance(participant, str)
        else Choice.model_validate(participant.model_dump(exclude_none=True))
        for participant in participants
    )


def with_endpoints(participants: Participants, spoke: Mapping[str, EndpointKind]) -> Participants:
    """Return the participants of a body. If no endpoint is given for a person, it is the endpoint in `spoke`."""
    bodies = [
        ParticipantBody(profile_id=participant) if isinstance(participant, str) else participant
        for participant in participants
    ]
    return tuple(
        body.model_copy(update={"endpoint": spoke[body.profile_id]})
        if body.endpoint is None and body.profile_id in spoke
        else body
        for body in bodies
    )


class AnswerBody(Body):
    """A message that answers an ask."""

    ask: str = Field(
        default="",
        max_length=200,
        description="The id of the ask that you saw and answer, from the inbox. The message is refused if that ask is closed. If left out: the ask that is open now.",
    )


Names = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=MOST_NAME_CHARS)], ...] | None,
    Field(
        max_length=MOST_NAMES,
        description="All names of persons in your words that others read as marks. If left out: the words that a small program takes for names.",
    ),
]


class ReviseTensionBody(AnswerBody):
    kind: Literal["revise_tension"]
    tension: TensionBody


class ConfirmTensionBody(AnswerBody):
    kind: Literal["confirm_tension"]


class ResumeBody(Body):
    kind: Literal["resume"]


class ConcludeBody(AnswerBody):
    """End the rounds after the current round, or end the waiting for answers or children."""

    kind: Literal["conclude"]


class SelectParticipantsBody(AnswerBody):
    kind: Literal["select_participants"]
    participants: Participants = Field(min_length=1, max_length=20)


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

    def whole_text(self) -> str:
        """Return `text`, or `items` as an agent's submission. Raises `BadInput` if both are given, or if too long."""
        if not self.items:
            if self.shown.strip():
                raise BadInput("items_missing", "`shown` is allowed only with `items`", field="items")
            return self.text
        if self.text.strip() or self.nothing_new:
            raise BadInput("two_answers", "send either `text`, `items` or `nothing_new`", field="items")
        whole = AgentSubmission(shown=self.shown, items=list(self.items)).model_dump_json()
        if len(whole) > MAX_TEXT:
            long = f"the items and `shown` have {len(whole):,} characters; at most {MAX_TEXT:,}"
            raise BadInput("too_long", long, field="items")
        return whole


class SwitchEndpointBody(Body):
    kind: Literal["switch_endpoint"]
    endpoint: EndpointKind
    fallback: Fallback | None = None
    alias: Alias | None = Field(default=None, description="Alias of the participant. Default: yours.")


class ExtendDeadlineBody(AnswerBody):
    """More time for a participant's turn, once for your own turn, or, as demander, with `P00` for your own ask."""

    kind: Literal["extend_deadline"]
    alias: Alias | None = Field(default=None, description="Alias of the participant. Default: yours.")
    seconds: int = Field(gt=0, le=60 * 24 * 3600)


class LeaveBody(Body):
    kind: Literal["leave"]
    alias: Alias | None = Field(default=None, description="Alias of the participant. Default: yours.")


class DecideBody(AnswerBody):
    kind: Literal["decide"]
    decision: Decision
    participants: Participants = Field(default=(), max_length=20)
    tokens: int | None = Field(default=None, gt=0, le=MAX_TOKENS)
    cost: Decimal | None = Field(
        default=None, gt=0, le=1_000_000, max_digits=15, decimal_places=6, description="US dollars."
    )


class CancelBody(Body):
    kind: Literal["cancel"]
    branch: bool = False


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


class ApproveResidualBody(Body):
    kind: Literal["approve_residual"]
    residual: Id
    approve: bool = True
    ask: str = Field(
        default="",
        max_length=200,
        description="`candidate/…`, as `pending` says it: begin with the candidate, or not with this one.",
    )


class ReplanBody(AnswerBody):
    """Request a new plan, once: without some people who declined, and with some proposals. Give at least one alias."""

    kind: Literal["replan"]
    without: tuple[Alias, ...] = Field(default=(), max_length=20, description="Aliases of participants who declined.")
    proposals: tuple[Alias, ...] = Field(
        default=(), max_length=20, description="Aliases whose proposals the new plan follows."
    )


class ConsentBody(Body):
    """Answer whether you take part in this process. `invitation`: by default the last question."""

    kind: Literal["consent"]
    allow: bool
    endpoint: EndpointKind = Field(
        default=EndpointKind.PROXY,
        description="With `allow`: what speaks for you. `human`: you yourself; no proxy speaks for you and no plan reads your profile.",
    )
    invitation: int | None = Field(default=None, ge=1, le=10_000)


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
