"""What comes in from outside (docs/protocol.md §8). Who may say what when is in `refusals`.

A message has a key given by its sender: the same key of the same author twice is one message.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from tongyao.protocol.model.process import Choice, TensionRef
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.value import Value


class Author(Value):
    """Who sends. `alias` is theirs in this process: `P00` for the demander, empty for an operator."""

    role: Literal["demander", "participant", "operator"]
    alias: str = ""


class _Message(Value):
    key: str = Field(min_length=1, max_length=200)
    author: Author


class ReviseTension(_Message):
    kind: Literal["revise_tension"] = "revise_tension"
    tension: TensionRef


class ConfirmTension(_Message):
    kind: Literal["confirm_tension"] = "confirm_tension"


class SelectParticipants(_Message):
    kind: Literal["select_participants"] = "select_participants"
    participants: tuple[Choice, ...] = Field(min_length=1)


class SubmitProjection(_Message):
    """What somebody says in their turn: a stored text as it came, or that there is nothing new."""

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


class ExtendDeadline(_Message):
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


class Decide(_Message):
    kind: Literal["decide"] = "decide"
    decision: Decision
    participants: tuple[Choice, ...] = ()
    tokens: int | None = Field(default=None, gt=0, description="The new limit of the process, not an addition.")
    cost: str | None = Field(
        default=None, pattern=r"^\d{1,9}(\.\d{1,6})?$", description="The new limit in US dollars, as `12.50`."
    )


class Conclude(_Message):
    kind: Literal["conclude"] = "conclude"


class SetMandate(_Message):
    """The mandate itself is kept beside the profile and applies at the next call; the process only notes the change."""

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


class Replan(_Message):
    kind: Literal["replan"] = "replan"
    without: tuple[str, ...] = Field(min_length=1)


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
    | Replan,
    Field(discriminator="kind"),
]

MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)

KINDS: Final = (
    "revise_tension",
    "confirm_tension",
    "select_participants",
    "submit_projection",
    "switch_endpoint",
    "extend_deadline",
    "leave",
    "decide",
    "conclude",
    "set_mandate",
    "resume",
    "cancel",
    "answer_plan",
    "approve_residual",
    "replan",
)


def dedupe_key(message: Message) -> str:
    """What makes two messages one: the author and the author's key."""
    return f"{message.author.role}:{message.author.alias}/{message.key}"
