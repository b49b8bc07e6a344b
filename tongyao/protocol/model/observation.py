"""The observation of the catalyst in one round (docs/protocol.md §5)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from tongyao.protocol.model.ids import ALIAS, Pair
from tongyao.protocol.model.value import Draft, Value


class RelationKind(StrEnum):
    """The three kinds of relations."""

    COMPLEMENTARY = "complementary"
    ALIGNED = "aligned"
    OFFSETTING = "offsetting"


class NoteKind(StrEnum):
    """The kinds of notes: statements of the catalyst that are not relations."""

    TRANSLATION = "translation"
    GAP = "gap"
    IGNORED = "ignored"
    FRAMEWORK = "framework"
    THIRD_PARTY = "third_party"


class Verdict(StrEnum):
    """The catalyst's judgement whether rounds should continue, from round 3 on. `exhausted`: no relevant fact is
    missing."""

    MORE = "more"
    EXHAUSTED = "exhausted"


class Relation(Value):
    """A relation between two participants, or a participant and a line of the tension. A pair may have several.

    `between`: two aliases, the lower alias first, or an alias and a line (`P01`, `B2`).
    `sources`: ids of items, at least one of each participant in `between`.
    """

    id: str = Field(description="`R<round>/r<number>`.")
    between: Pair
    kind: RelationKind
    text: str
    sources: tuple[str, ...]
    replaces: tuple[str, ...] = Field(
        default=(), description="Ids of earlier relations and notes that this text takes over."
    )

    @property
    def of_participants(self) -> bool:
        """Whether the relation is between two participants, not between a participant and a line."""
        return all(map(ALIAS.fullmatch, self.between))


class Note(Value):
    """A statement of the catalyst that is not a relation: see `NoteKind`."""

    id: str = Field(description="`R<round>/n<number>`.")
    kind: NoteKind
    text: str
    about: tuple[str, ...] = Field(default=(), description="Lines of the tension, or aliases.")
    sources: tuple[str, ...] = Field(default=(), description="Ids of items.")
    asks: str = Field(
        default="", description="Of a gap: the alias that is asked to close it, `P00`, or empty: nobody here can."
    )
    replaces: tuple[str, ...] = Field(
        default=(), description="Ids of earlier relations and notes that this text takes over."
    )


Statement = Relation | Note
"""A relation or a note. Later observations can replace or end it by its id."""


class Ended(Value):
    """A relation or note that is no longer valid, with the reason."""

    id: str
    why: str = ""


class Observation(Value):
    """The catalyst's answer for one round, after the checks. It contains the statements of this round only.

    `tongyao.protocol.rules.standing` computes which statements are valid after all rounds.
    """

    round: int = Field(ge=1)
    verdict: Verdict = Verdict.MORE
    why: str = Field(default="", description="One sentence on the verdict.")
    relations: tuple[Relation, ...] = ()
    none: tuple[Pair, ...] = Field(
        default=(), description="Pairs that were first looked at in this round, and have no relation."
    )
    notes: tuple[Note, ...] = ()
    ended: tuple[Ended, ...] = ()
    words: str = Field(
        default="", description="What the participants read: the news of this round, in whole sentences."
    )
    struck: int = Field(default=0, ge=0, description="Statements and sentences struck by checks, after one repair.")

    @property
    def statements(self) -> tuple[Statement, ...]:
        return (*self.relations, *self.notes)

    def texts(self) -> dict[str, str]:
        """Return the text of each relation and note, by id."""
        return {statement.id: statement.text for statement in self.statements}


class RelationDraft(Draft):
    between: list[str]
    kind: RelationKind
    text: str = ""
    sources: list[str] = Field(default_factory=list)
    replaces: list[str] = Field(default_factory=list)


class NoteDraft(Draft):
    kind: NoteKind
    text: str = ""
    about: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    asks: str = ""
    replaces: list[str] = Field(default_factory=list)


class EndedDraft(Draft):
    id: str
    why: str = ""


class ObservationDraft(Draft):
    """The answer of an engine as the catalyst. The verdict is first, so that other fields do not influence it."""

    verdict: Verdict = Verdict.MORE
    why: str = ""
    relations: list[RelationDraft] = Field(default_factory=list)
    none: list[list[str]] = Field(default_factory=list)
    notes: list[NoteDraft] = Field(default_factory=list)
    ended: list[EndedDraft] = Field(default_factory=list)
    words: str = ""
