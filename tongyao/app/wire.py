"""Messages as people and agents write them, and how they become messages of the protocol (docs/protocol.md §8).

Who speaks is never taken from what was sent: it is the token's. Texts are kept word for word, beside the message.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationError, model_validator

from tongyao.app.authorization import Standing
from tongyao.app.permissions import KINDS, Role
from tongyao.app.problems import NotAllowed, Problem
from tongyao.protocol.model.messages import MESSAGE, Decision, Message
from tongyao.protocol.model.process import Choice, TensionRef
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import MISSING, Tension
from tongyao.protocol.model.value import Value
from tongyao.records.process.messages import MessageText, message_text_id

MAX_TEXT: Final = 100_000
MAX_TOKENS: Final = 10**12
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Alias = Annotated[str, Field(pattern=r"^P\d{2,3}$", description="Of whom; left out: yours.")]
Text = Annotated[str, Field(max_length=MAX_TEXT, description="Your own words; they are kept as they are.")]


class Given(Value):
    """Something sent from outside. Half characters (lone surrogates), which no text can hold, are refused."""

    @model_validator(mode="before")
    @classmethod
    def _is_text(cls, data: Any) -> Any:
        _check(data)
        return data


def _check(data: Any) -> None:
    if isinstance(data, str):
        try:
            data.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("this text holds half of a character (a lone surrogate)") from None
    elif isinstance(data, dict):
        for key, value in data.items():
            _check(key)
            _check(value)
    elif isinstance(data, list | tuple):
        for value in data:
            _check(value)


class TensionGiven(Given):
    """A tension as its owner writes it; what is left out is `[data_insufficient]`."""

    transition: str = Field(min_length=1, max_length=5_000, description="T: the structure of the change.")
    initial_state: str = Field(default=MISSING, max_length=5_000, description="I: where you stand, facts.")
    barriers: tuple[Annotated[str, Field(max_length=5_000)], ...] = Field(
        default=(MISSING,), max_length=20, description="B: what stands in the way, one by one."
    )
    exchange: str = Field(default=MISSING, max_length=5_000, description="E: what you can give.")

    def tension(self) -> Tension:
        """Raises `Problem` when it is no tension: too long, or blank."""
        language = language_of(" ".join((self.transition, self.initial_state, *self.barriers, self.exchange)))
        try:
            return Tension.model_validate({**self.model_dump(), "language": language})
        except ValidationError as error:
            said = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise Problem("not_a_tension", said, status=422, field="tension") from None


class Parts(Given):
    """An answer in the three projections of the protocol; each may be left out."""

    capability: Text = ""
    direction: Text = ""
    boundary: Text = ""

    def joined(self) -> str:
        """One text, always in this order and under these headings."""
        said = {"Capability": self.capability, "Direction": self.direction, "Boundary": self.boundary}
        return "\n\n".join(f"## {name}\n\n{text}" for name, text in said.items() if text.strip())


class Person(Given):
    """Somebody to take part."""

    profile_id: Id
    endpoint: EndpointKind = EndpointKind.PROXY
    fallback: Fallback | None = None


def _as_person_or_id(given: Any) -> str:
    return "id" if isinstance(given, str) else "person"


PersonOrId = Annotated[Annotated[Person, Tag("person")] | Annotated[Id, Tag("id")], Discriminator(_as_person_or_id)]
People = tuple[PersonOrId, ...]


def choices(people: People) -> tuple[Choice, ...]:
    return tuple(
        Choice(profile_id=one) if isinstance(one, str) else Choice.model_validate(one.model_dump()) for one in people
    )


class ReviseTension(Given):
    kind: Literal["revise_tension"]
    tension: TensionGiven


class Plain(Given):
    """Messages that say all by their kind."""

    kind: Literal["confirm_tension", "conclude", "resume"]


class SelectParticipants(Given):
    kind: Literal["select_participants"]
    participants: People = Field(min_length=1, max_length=20)


class SubmitProjection(Given):
    """Say what you have to say in a turn: as a text, in three parts, or that there is nothing new."""

    kind: Literal["submit_projection"]
    round: int = Field(ge=1, le=1_000)
    text: Text = ""
    parts: Parts | None = None
    nothing_new: bool = False

    def words(self) -> str:
        if self.text.strip() and self.parts is not None:
            raise Problem("two_answers", "send either `text` or `parts`, not both", status=422, field="parts")
        return self.parts.joined() if self.parts is not None else self.text


class SwitchEndpoint(Given):
    kind: Literal["switch_endpoint"]
    endpoint: EndpointKind
    fallback: Fallback | None = None
    alias: Alias | None = None


class ExtendDeadline(Given):
    kind: Literal["extend_deadline"]
    alias: Alias
    seconds: int = Field(gt=0, le=60 * 24 * 3600)


class Leave(Given):
    kind: Literal["leave"]
    alias: Alias | None = None


class Decide(Given):
    kind: Literal["decide"]
    decision: Decision
    participants: People = Field(default=(), max_length=20)
    tokens: int | None = Field(default=None, gt=0, le=MAX_TOKENS)
    cost: Decimal | None = Field(default=None, gt=0, le=1_000_000, description="US dollars.")


class Cancel(Given):
    kind: Literal["cancel"]
    branch: bool = False


class AnswerPlan(Given):
    kind: Literal["answer_plan"]
    revision: int = Field(ge=1, le=1_000)
    answer: Literal["commit", "decline", "propose"]
    text: Text = ""


class ApproveResidual(Given):
    kind: Literal["approve_residual"]
    residual: Id
    approve: bool = True


class Replan(Given):
    kind: Literal["replan"]
    without: tuple[Alias, ...] = Field(min_length=1, max_length=20)


Incoming = Annotated[
    ReviseTension
    | Plain
    | SelectParticipants
    | SubmitProjection
    | SwitchEndpoint
    | ExtendDeadline
    | Leave
    | Decide
    | Cancel
    | AnswerPlan
    | ApproveResidual
    | Replan,
    Field(discriminator="kind"),
]
INCOMING: Final[TypeAdapter[Incoming]] = TypeAdapter(Incoming)


def read(incoming: Incoming, standing: Standing, key: str) -> tuple[Message, MessageText | None]:
    """The message of the protocol, and the words that go with it. Raises `NotAllowed`, `Problem`."""
    if standing.role not in KINDS[incoming.kind]:
        raise NotAllowed(f"`{incoming.kind}` is not for a {standing.role.value} to send")
    fields: dict[str, Any] = {}
    words: MessageText | None = None
    text_id = message_text_id(standing.process.id, standing.author_id, key)
    match incoming:
        case ReviseTension():
            tension = incoming.tension.tension()
            fields["tension"] = TensionRef(text_id=text_id, grade=tension.grade, barriers=len(tension.barriers))
            words = MessageText(owner=standing.person, kind="tension", text=tension.model_dump_json())
        case SubmitProjection():
            said = incoming.words()
            fields = {"alias": standing.alias, "round": incoming.round, "nothing_new": incoming.nothing_new}
            if said.strip():
                words = MessageText(owner=standing.person, kind="words", text=said)
                fields["text_id"] = text_id
        case AnswerPlan():
            fields = {"alias": standing.alias, "revision": incoming.revision, "answer": incoming.answer}
            if incoming.text.strip():
                words = MessageText(owner=standing.person, kind="words", text=incoming.text)
                fields["text_id"] = text_id
        case SwitchEndpoint() | Leave():
            fields = {**incoming.model_dump(exclude={"kind"}), "alias": _seat(incoming.alias, standing)}
        case SelectParticipants():
            fields["participants"] = choices(incoming.participants)
        case Decide():
            fields = {
                "decision": incoming.decision,
                "participants": choices(incoming.participants),
                "tokens": incoming.tokens,
                "cost": str(incoming.cost) if incoming.cost is not None else None,
            }
        case _:
            fields = incoming.model_dump(exclude={"kind"})
    message = MESSAGE.validate_python({"kind": incoming.kind, "key": key, "author": standing.author, **fields})
    return message, words


def _seat(alias: str | None, standing: Standing) -> str:
    if standing.role is not Role.OPERATOR:
        if alias not in (None, standing.alias):
            raise NotAllowed(f"you are {standing.alias} here: leave `alias` out")
        return standing.alias
    if alias is None:
        raise Problem("alias_missing", "say whom it is for: `alias`", status=422, field="alias")
    return alias
