"""The contribution of one participant to one round (docs/protocol.md §4)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, ValidationError

from tongyao.protocol.model.value import Draft, Value

MAX_FIRST_ITEMS = 10
"""Maximum number of items of a proxy in its first turn (docs/protocol.md §4.1)."""

MAX_LATER_ITEMS = 4
"""Maximum number of items of a proxy in each later turn (docs/protocol.md §4.1)."""

MAX_OWN_PIECES = 40
"""Maximum number of items into which a text of a person or agent is split. The rest of the text is in the last item."""


class ItemKind(StrEnum):
    """The kinds of a proxy's items. Items of people and their agents have no kind."""

    CAPABILITY = "capability"
    DIRECTION = "direction"
    BOUNDARY = "boundary"


class EndpointKind(StrEnum):
    """The kinds of endpoints."""

    PROXY = "proxy"
    AGENT = "agent"
    HUMAN = "human"


class Outcome(StrEnum):
    """The outcomes of a turn. `replied` and `nothing_new` are answers; the other outcomes are turns without an
    answer."""

    REPLIED = "replied"
    NOTHING_NEW = "nothing_new"
    LAPSED = "lapsed"
    FAILED = "failed"
    LEFT = "left"

    @property
    def spoken(self) -> bool:
        return self in (Outcome.REPLIED, Outcome.NOTHING_NEW)


class Item(Value):
    """One statement of a participant: a fact and its meaning for the tension.

    An item from a text that a person or their agent wrote is a piece of this text. It has only an id and a text.
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
    """One turn in the record, under an alias."""

    round: int = Field(ge=1)
    alias: str
    outcome: Outcome
    items: tuple[Item, ...] = ()
    struck: int = Field(default=0, ge=0, description="Items struck by checks, after one repair.")
    author: EndpointKind = EndpointKind.PROXY

    @property
    def text(self) -> str:
        """The texts of all items, one paragraph each."""
        return "\n\n".join(item.text for item in self.items)


class ItemDraft(Draft):
    """An item as an engine or an agent writes it."""

    kind: ItemKind
    text: str
    quotes: list[str] = Field(default_factory=list)
    inferred: bool = False
    about: list[str] = Field(default_factory=list)
    replaces: list[str] = Field(default_factory=list)


class AgentSubmission(Draft):
    """The JSON that a person's own agent sends in place of a text: items, and the text that contains their quotes."""

    shown: str
    items: list[ItemDraft] = Field(min_length=1)


def read_submission(text: str) -> AgentSubmission | None:
    """Return the submission of an agent if the text is JSON of that form; None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return AgentSubmission.model_validate_json(text)
    except ValidationError:
        return None


class ProjectionDraft(Draft):
    """A proxy's answer in one turn. Without items, the answer is `nothing_new`. `names`: persons named in the items."""

    items: list[ItemDraft] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
