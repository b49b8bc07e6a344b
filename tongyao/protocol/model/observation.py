"""What the catalyst makes visible in one round (docs/protocol.md §5)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import combinations

from pydantic import Field

from tongyao.protocol.model.value import Draft, Value


class Relation(StrEnum):
    """Between two participants. There is no fourth kind (docs/protocol.md §5.2)."""

    COMPLEMENTARY = "complementary"
    ALIGNED = "aligned"
    OFFSETTING = "offsetting"
    NONE_FOUND = "none_found"
    NOT_EXAMINED = "not_examined"

    @property
    def related(self) -> bool:
        return self in (Relation.COMPLEMENTARY, Relation.ALIGNED, Relation.OFFSETTING)


class Verdict(StrEnum):
    """`more`: the gap is still open. `exhausted`: nothing that matters has not arrived. Counts from round 3."""

    MORE = "more"
    EXHAUSTED = "exhausted"


class Effect(StrEnum):
    """What a participant does to one part of the tension. Not a relation: the demander is not in the room."""

    DISSOLVES = "dissolves"
    HELPS = "helps"
    COLLIDES = "collides"
    WORSENS = "worsens"


class GapKind(StrEnum):
    """`overlooked`: somebody could, nobody looked. `absent`: nobody here can, and nobody should be pressed."""

    OVERLOOKED = "overlooked"
    ABSENT = "absent"


class Basis(StrEnum):
    """`stated`: items say it. `inferred`: the catalyst reads it out of them, so it is hedged and counted apart."""

    STATED = "stated"
    INFERRED = "inferred"


class Correspondence(Value):
    """One step of an `aligned` relation: an item of `a` and the item of `b` that it corresponds to."""

    a: str
    b: str


class Form(Value):
    """What a relation consists of, as item ids: `lack` and `means` of a complementary one, `condition` and `cancels` of an
    offsetting one, `steps` of an aligned one (docs/protocol.md §5.2)."""

    lack: tuple[str, ...] = Field(default=(), description="Items of the side that lacks something.")
    means: tuple[str, ...] = Field(default=(), description="Items of the other side that meet the lack.")
    condition: tuple[str, ...] = Field(default=(), description="Items that set a condition or a limit.")
    cancels: tuple[str, ...] = Field(default=(), description="Items of the other side that it cancels.")
    steps: tuple[Correspondence, ...] = ()


class SecondRelation(Value):
    """A second relation of a pair: of another kind, about another matter, with its form filled (docs/protocol.md §5.2)."""

    relation: Relation
    text: str = ""
    sources: tuple[str, ...] = Field(default=(), description="Item ids of both sides.")
    form: Form = Form()


class Pair(Value):
    """A pair of participants, `a` before `b`, and what was found between them (docs/protocol.md §5.2).

    The id is that of the statement: a relation that stands from an earlier round keeps it.
    """

    id: str
    a: str
    b: str
    relation: Relation
    text: str = ""
    sources: tuple[str, ...] = Field(default=(), description="Item ids of both sides.")
    form: Form = Form()
    basis: Basis = Field(default=Basis.STATED, description="`inferred`: its form is not filled with items.")
    second: SecondRelation | None = Field(
        default=None, description="A second relation, which shares the statement's id."
    )
    carried: bool = Field(default=False, description="Not examined in this round: it stands as it was stated.")

    @property
    def stated_in(self) -> int:
        """The round of the statement, read from the id."""
        return round_of(self.id)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Its relation, and the second one where there is one."""
        return (self.relation,) if self.second is None else (self.relation, self.second.relation)

    @property
    def whole_text(self) -> str:
        """The text of both relations."""
        return self.text if self.second is None else f"{self.text} {self.second.text}".strip()

    @property
    def cited(self) -> tuple[str, ...]:
        """The sources of both relations, each once."""
        return self.sources if self.second is None else tuple(dict.fromkeys((*self.sources, *self.second.sources)))


class Contribution(Value):
    """A participant against one part of the tension."""

    id: str
    alias: str
    target: str
    effect: Effect
    text: str = ""
    sources: tuple[str, ...] = ()
    basis: Basis = Field(default=Basis.STATED, description="`inferred`: every item that it cites is an inference.")


class Translation(Value):
    """Two wordings that may be speaking of the same thing; hedged, never a verdict."""

    id: str
    a: str
    b: str
    a_words: str
    b_words: str
    text: str
    sources: tuple[str, ...] = ()


class Gap(Value):
    """A part of the tension that nobody covers."""

    id: str
    kind: GapKind
    target: str
    text: str
    same_as: tuple[str, ...] = Field(default=(), description="Ids of earlier gaps that this one says again.")
    sources: tuple[str, ...] = Field(default=(), description="Items that suggest that somebody here could.")


class Note(Value):
    """Ignored information, a framework by its name, or what two people together mean to a third."""

    id: str
    text: str
    name: str = ""
    about: tuple[str, ...] = Field(default=(), description="Aliases it concerns.")
    sources: tuple[str, ...] = ()


class Observation(Value):
    """One round's output of the catalyst, after the guards.

    `pairs` and `frameworks` hold what stands after the round: what an earlier round stated keeps its id. All other lists
    hold what this round stated.
    """

    round: int = Field(ge=1)
    verdict: Verdict
    pairs: tuple[Pair, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    translations: tuple[Translation, ...] = ()
    gaps: tuple[Gap, ...] = ()
    ignored: tuple[Note, ...] = ()
    frameworks: tuple[Note, ...] = ()
    third_party_value: tuple[Note, ...] = ()
    markdown: str = ""
    struck: int = Field(default=0, ge=0)
    not_taken: tuple[str, ...] = Field(
        default=(), description="For the next request: what of the answer was not taken over, and why, a sentence each."
    )

    @property
    def states_something(self) -> bool:
        """Whether it holds anything that this round stated. It does not where no answer could be read."""
        said = (self.contributions, self.translations, self.gaps, self.ignored, self.third_party_value)
        examined = (one for one in self.pairs if one.relation is not Relation.NOT_EXAMINED)
        return any(said) or any(one.stated_in == self.round for one in examined)

    def texts(self) -> dict[str, str]:
        """Every element's id with its text."""
        groups = (
            self.contributions,
            self.translations,
            self.gaps,
            self.ignored,
            self.frameworks,
            self.third_party_value,
        )
        pairs = {pair.id: pair.whole_text for pair in self.pairs}
        return pairs | {element.id: element.text for group in groups for element in group}


class CorrespondenceDraft(Draft):
    a: str = ""
    b: str = ""


class SecondRelationDraft(Draft):
    relation: Relation
    text: str = ""
    sources: list[str] = Field(default_factory=list)
    lack: list[str] = Field(default_factory=list)
    means: list[str] = Field(default_factory=list)
    condition: list[str] = Field(default_factory=list)
    cancels: list[str] = Field(default_factory=list)
    steps: list[CorrespondenceDraft] = Field(default_factory=list)


class PairDraft(Draft):
    a: str
    b: str
    relation: Relation
    text: str = ""
    sources: list[str] = Field(default_factory=list)
    lack: list[str] = Field(default_factory=list)
    means: list[str] = Field(default_factory=list)
    condition: list[str] = Field(default_factory=list)
    cancels: list[str] = Field(default_factory=list)
    steps: list[CorrespondenceDraft] = Field(default_factory=list)
    also: list[SecondRelationDraft] = Field(default_factory=list)


class ContributionDraft(Draft):
    alias: str
    target: str
    effect: Effect
    text: str = ""
    sources: list[str] = Field(default_factory=list)


class TranslationDraft(Draft):
    a: str
    b: str
    a_words: str = ""
    b_words: str = ""
    text: str = ""
    sources: list[str] = Field(default_factory=list)


class GapDraft(Draft):
    kind: GapKind
    target: str = ""
    text: str = ""
    same_as: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)


class NoteDraft(Draft):
    text: str
    name: str = ""
    about: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)


class ObservationDraft(Draft):
    """What an engine answered as the catalyst. The verdict comes first: it must not be talked into by the rest."""

    verdict: Verdict = Verdict.MORE
    pairs: list[PairDraft] = Field(default_factory=list)
    contributions: list[ContributionDraft] = Field(default_factory=list)
    translations: list[TranslationDraft] = Field(default_factory=list)
    gaps: list[GapDraft] = Field(default_factory=list)
    ignored: list[NoteDraft] = Field(default_factory=list)
    frameworks: list[NoteDraft] = Field(default_factory=list)
    third_party_value: list[NoteDraft] = Field(default_factory=list)
    markdown: str = ""


def round_of(item_id: str) -> int:
    """The round in the id of an item or of an element of an observation (`R2/P01/3`: 2); 0 where there is none."""
    first = item_id.partition("/")[0]
    return int(first[1:]) if first[:1] == "R" and first[1:].isdigit() else 0


def all_pairs(aliases: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Every unordered pair of `aliases`, each as (lower, higher), in order. n aliases give n(n-1)/2 pairs."""
    return tuple(combinations(sorted(set(aliases)), 2))
