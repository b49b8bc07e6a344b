"""The contribution of one endpoint to one round (docs/protocol.md §4)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, ValidationError

from tongyao.protocol.model.value import Draft, Value

MAX_FIRST_ITEMS = 10
"""Items of a proxy in its first turn (DESIGN of the round table, docs/protocol.md §4)."""

MAX_LATER_ITEMS = 4
"""Items of a proxy in each later turn."""

MAX_OWN_PIECES = 40
"""Items that the text of a person or their agent is cut into. What follows is joined to the last."""


class ItemKind(StrEnum):
    """The kinds of a proxy's items. What people and their agents write has no kind."""

    CAPABILITY = "capability"
    DIRECTION = "direction"
    BOUNDARY = "boundary"


class EndpointKind(StrEnum):
    """The kinds of endpoints."""

    PROXY = "proxy"
    AGENT = "agent"
    HUMAN = "human"


class Outcome(StrEnum):
    """The outcomes of a turn. Only `replied` and `nothing_new` were said by somebody."""

    REPLIED = "replied"
    NOTHING_NEW = "nothing_new"
    LAPSED = "lapsed"
    FAILED = "failed"
    LEFT = "left"

    @property
    def spoken(self) -> bool:
        return self in (Outcome.REPLIED, Outcome.NOTHING_NEW)


class Item(Value):
    """One thing that was said for a participant: a fact, and what it means for the tension.

    An item of a person, or of their agent's free text, is a piece of their own words: it has text alone.
    """

    id: str = Field(description="`R<round>/<alias>/<number>`, for example `R2/P03/4`.")
    kind: ItemKind | None = Field(default=None, description="None: a piece of somebody's own words.")
    text: str = Field(min_length=1)
    quotes: tuple[str, ...] = Field(default=(), description="Verbatim passages of the frozen profile that it rests on.")
    inferred: bool = Field(default=False, description="The fact is read out of the quotes; they do not say it.")
    about: tuple[str, ...] = Field(
        default=(), description="Lines of the tension (T, I, B1, E), or ids of relations and notes that it answers."
    )
    replaces: tuple[str, ...] = Field(default=(), description="Ids of the speaker's earlier items that no longer hold.")


class Projection(Value):
    """One turn as it is kept in the record, under an alias."""

    round: int = Field(ge=1)
    alias: str
    outcome: Outcome
    items: tuple[Item, ...] = ()
    struck: int = Field(default=0, ge=0, description="Items struck by checks, after one repair.")
    author: EndpointKind = EndpointKind.PROXY

    @property
    def text(self) -> str:
        """All its items, one paragraph each."""
        return "\n\n".join(item.text for item in self.items)


class ItemDraft(Draft):
    """An item as an engine or an agent words it."""

    kind: ItemKind
    text: str
    quotes: list[str] = Field(default_factory=list)
    inferred: bool = False
    about: list[str] = Field(default_factory=list)
    replaces: list[str] = Field(default_factory=list)


class AgentSubmission(Draft):
    """The JSON that a person's own agent hands in place of a text: items, and the text that their quotes are taken from."""

    shown: str
    items: list[ItemDraft] = Field(min_length=1)


def read_submission(text: str) -> AgentSubmission | None:
    """The submission of an agent that is JSON of that shape; None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return AgentSubmission.model_validate_json(text)
    except ValidationError:
        return None


class ProjectionDraft(Draft):
    """The answer for one endpoint in one round. No items: there is nothing new. `names`: of persons, that stand in the items."""

    items: list[ItemDraft] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
