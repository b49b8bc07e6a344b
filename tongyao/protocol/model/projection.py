"""What one endpoint contributes to one round (docs/protocol.md §4)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.value import Draft, Value


class Dimension(StrEnum):
    """The three projections. Capability answers B and E, direction answers T, boundary answers I and B made worse."""

    CAPABILITY = "capability"
    DIRECTION = "direction"
    BOUNDARY = "boundary"


class EndpointKind(StrEnum):
    """What speaks for a participant."""

    PROXY = "proxy"
    AGENT = "agent"
    HUMAN = "human"


class Outcome(StrEnum):
    """How a turn ended. Only `replied` and `nothing_new` were said by somebody."""

    REPLIED = "replied"
    NOTHING_NEW = "nothing_new"
    LAPSED = "lapsed"
    FAILED = "failed"
    LEFT = "left"

    @property
    def spoken(self) -> bool:
        return self in (Outcome.REPLIED, Outcome.NOTHING_NEW)


class Span(Value):
    """A verbatim piece of a frozen source, by offsets in characters: `text[start:end]`."""

    source: Literal["profile", "words"] = Field(
        description="`profile`: the participant's frozen profile; `words`: what the person said in this turn."
    )
    start: int = Field(ge=0)
    end: int = Field(gt=0)


class Item(Value):
    """One thing that a participant said: a premise, and its bearing on the tension.

    `inferred` is about the premise. The premise of a fact is what its spans say. That of an inference is read out of spans or
    of earlier items; it is never struck for lacking a quote (docs/protocol.md §4.4). The bearing is always a reading.
    """

    id: str = Field(description="`R<round>/<alias>/<number>`, e.g. `R2/P03/4`.")
    dimension: Dimension
    premise: str = Field(
        default="", description="What the speaker has, does, lacks or will not do. Empty: the claim says it."
    )
    claim: str = Field(min_length=1, description="The bearing: what the premise means for the targets.")
    targets: tuple[str, ...] = Field(default=(), description="Of the tension: T, I, B1…, E.")
    spans: tuple[Span, ...] = ()
    inferred: bool = False
    starts_from: tuple[str, ...] = Field(default=(), description="Ids of earlier items an inference starts from.")
    mapping: tuple[str, ...] = Field(
        default=(),
        description="For a direction: the step-level mapping that shows the same structure as T; without it, the claim "
        "is only 'overlapping'.",
    )
    answers: tuple[str, ...] = Field(
        default=(), description="Ids of the gap, framework or note of the last observation that it answers."
    )
    withdraws: tuple[str, ...] = Field(
        default=(), description="Ids of the speaker's earlier items that no longer hold."
    )
    repeated: bool = Field(
        default=False, description="A proxy's item of round 3 or later without a new quote or an answer."
    )

    @property
    def statement(self) -> str:
        """Premise and bearing as one text."""
        colon = "：" if language_of(self.premise) == "zh" else ": "
        return f"{self.premise.rstrip(' .。;；:：')}{colon}{self.claim}" if self.premise else self.claim


class Projection(Value):
    """One turn as it stands in the record: verbatim, under an alias."""

    round: int = Field(ge=1)
    alias: str
    outcome: Outcome
    items: tuple[Item, ...] = ()
    markdown: str = ""
    struck: int = Field(default=0, ge=0, description="Items struck by guards, after one re-ask.")
    author: EndpointKind = EndpointKind.PROXY


class ItemDraft(Draft):
    """An item as an engine words it: evidence as verbatim quotes, which code turns into spans."""

    dimension: Dimension
    targets: list[str] = Field(default_factory=list)
    premise: str = ""
    quotes: list[str] = Field(default_factory=list)
    inferred: bool = False
    starts_from: list[str] = Field(default_factory=list)
    claim: str
    mapping: list[str] = Field(default_factory=list)
    answers: list[str] = Field(default_factory=list)
    withdraws: list[str] = Field(default_factory=list)


class ProjectionDraft(Draft):
    """What an engine answered for one endpoint in one round. The text for people is made of the items, by code."""

    nothing_new: bool = False
    items: list[ItemDraft] = Field(default_factory=list)


def item_id(round_number: int, alias: str, number: int) -> str:
    """`R2/P03/4`: the fourth item of P03 in round 2. Numbers start at 1."""
    return f"R{round_number}/{alias}/{number}"
