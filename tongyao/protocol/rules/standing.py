"""Computes the items, relations and notes that are valid after the rounds so far (docs/protocol.md §5.3). Pure.

The input is projections and observations. The result is not stored. Prompts, pages, plan and audit use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from tongyao.protocol.model.ids import Pair, all_pairs, round_of, speaker_of
from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind, Statement
from tongyao.protocol.model.projection import Item, ItemKind, Projection
from tongyao.protocol.model.requests import Exchange
from tongyao.protocol.model.value import Value

GapOutcome = Literal["open", "answered", "replied", "unanswered"]


class Asked(Value):
    """The outcome of a gap that asks somebody. Each gap is asked once, in the round after it was stated.

    `open`: the turn in which the gap is asked has not ended. `answered`: an item of that turn refers to the gap.
    `replied`: the person answered in their own words, which have no references, so the catalyst judges whether the gap
    is answered. `unanswered`: the turn ended in another way.
    """

    alias: str
    round: int
    outcome: GapOutcome


class Standing(Value):
    """The valid statements after the last round.

    `items`: all items, by id, in order. `replaced`: ids of items that are no longer valid. `relations`, `notes`: the
    valid relations and notes, oldest first. `none`: examined pairs that have no relation now. `lapsed`: ids of
    statements that lapsed in the last round, because all items of one speaker that they cite were replaced; gaps never
    lapse. `asked`: the gaps that ask somebody, by id.
    """

    items: Mapping[str, Item]
    replaced: frozenset[str] = frozenset()
    relations: tuple[Relation, ...] = ()
    notes: tuple[Note, ...] = ()
    none: frozenset[Pair] = frozenset()
    lapsed: tuple[str, ...] = ()
    asked: Mapping[str, Asked] = {}

    @property
    def valid_items(self) -> tuple[Item, ...]:
        """The valid items, in order."""
        return tuple(item for item in self.items.values() if item.id not in self.replaced)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The valid relations and notes."""
        return (*self.relations, *self.notes)

    @property
    def gaps(self) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.kind is NoteKind.GAP)

    @property
    def open_gaps(self) -> tuple[Note, ...]:
        """The gaps that are not answered."""
        return tuple(
            gap for gap in self.gaps if not (gap.id in self.asked and self.asked[gap.id].outcome == "answered")
        )

    def between(self, a: str, b: str) -> tuple[Relation, ...]:
        """Return the valid relations between two participants, or between a participant and a line, oldest first."""
        return tuple(relation for relation in self.relations if set(relation.between) == {a, b})

    def examined(self, a: str, b: str) -> bool:
        """Whether the catalyst examined the pair: it stated a relation between them, or that there is none."""
        return (a, b) in self.none or bool(self.between(a, b))

    def rests_on_inference(self, statement: Statement) -> bool:
        """Whether `statement` is uncertain: of at least one speaker, it cites only items that are inferred."""
        cited = [self.items[source] for source in statement.sources if source in self.items]
        sides = {speaker_of(item.id) for item in cited}
        return any(all(item.inferred for item in cited if speaker_of(item.id) == side) for side in sides)

    def rests_on_replaced(self, statement: Statement) -> bool:
        """Whether `statement` cites a replaced item. A valid statement also cites a valid item of the same speaker."""
        return statement.kind is not NoteKind.GAP and not self.replaced.isdisjoint(statement.sources)

    def is_protected(self, statement: Statement) -> bool:
        """Whether `statement` is an offsetting relation that cannot be replaced or ended yet (docs/protocol.md §5.3).

        Such a relation cites a boundary that is not inferred, or a person's own words. No item that it cites was
        replaced. Neither participant has since given a valid item that is not inferred.
        """
        if not isinstance(statement, Relation) or statement.kind is not RelationKind.OFFSETTING:
            return False
        if self.rests_on_replaced(statement):
            return False
        cited = (self.items[source] for source in statement.sources if source in self.items)
        stated = any(item.kind is None or (item.kind is ItemKind.BOUNDARY and not item.inferred) for item in cited)
        return stated and not any(
            round_of(item.id) > round_of(statement.id) and speaker_of(item.id) in statement.between
            for item in self.valid_items
            if not item.inferred
        )


def rounds_of(projections: Iterable[Projection], observations: Iterable[Observation]) -> tuple[Exchange, ...]:
    """Return the rounds, oldest first. A round has projections in alias order and an observation, if there is one."""
    said = sorted(projections, key=lambda projection: projection.alias)
    seen = {observation.round: observation for observation in observations}
    last = max((*(projection.round for projection in said), *seen), default=0)
    return tuple(
        Exchange(
            round=number,
            projections=tuple(projection for projection in said if projection.round == number),
            observation=seen.get(number),
        )
        for number in range(1, last + 1)
    )


def standing(rounds: Sequence[Exchange]) -> Standing:
    """Return the valid statements after `rounds` (oldest first). The last round may have no observation yet."""
    items: dict[str, Item] = {}
    replaced: set[str] = set()
    held: dict[str, Statement] = {}
    none: set[Pair] = set()
    asked: dict[str, Asked] = {}
    lapsed: tuple[str, ...] = ()
    for exchange in rounds:
        said = [item for turn in exchange.projections for item in turn.items]
        items |= {item.id: item for item in said}
        replaced |= {old for item in said for old in item.replaces}
        lapsed = tuple(id for id, statement in held.items() if _has_lapsed(statement, items, replaced))
        for id in lapsed:
            _drop(held, id, none)
        for id, question in asked.items():
            turn = next((turn for turn in exchange.projections if turn.alias == question.alias), None)
            if question.outcome == "open" and turn is not None:
                asked[id] = question.model_copy(update={"outcome": _outcome(id, turn)})
        if exchange.observation is not None:
            _state(exchange.observation, held, none, asked)
    relations = tuple(statement for statement in held.values() if isinstance(statement, Relation))
    related = {relation.between for relation in relations}
    return Standing(
        items=items,
        replaced=frozenset(replaced),
        relations=relations,
        notes=tuple(statement for statement in held.values() if isinstance(statement, Note)),
        none=frozenset(none - related),
        lapsed=lapsed,
        asked=asked,
    )


def _state(seen: Observation, held: dict[str, Statement], none: set[Pair], asked: dict[str, Asked]) -> None:
    """Apply one observation to the valid statements, the pairs without relation and the gaps that ask somebody."""
    gone = {ended.id for ended in seen.ended}
    gone |= {old for statement in seen.statements for old in statement.replaces}
    for id in gone:
        _drop(held, id, none)
    none |= set(seen.none)
    held |= {statement.id: statement for statement in seen.statements}
    asked |= {note.id: Asked(alias=note.asks, round=seen.round + 1, outcome="open") for note in seen.notes if note.asks}


def _outcome(gap: str, turn: Projection) -> GapOutcome:
    """Return the outcome of a gap after the turn in which it was asked."""
    if any(gap in item.about for item in turn.items):
        return "answered"
    return "replied" if any(item.kind is None for item in turn.items) else "unanswered"


def _has_lapsed(statement: Statement, items: Mapping[str, Item], replaced: set[str]) -> bool:
    """Whether `statement` cites only replaced items of one of its speakers. A gap never lapses."""
    if statement.kind is NoteKind.GAP:
        return False
    sides: dict[str, list[str]] = {}
    for source in statement.sources:
        if source in items:
            sides.setdefault(speaker_of(source), []).append(source)
    return any(all(source in replaced for source in cited) for cited in sides.values())


def _drop(held: dict[str, Statement], id: str, none: set[Pair]) -> None:
    """Remove a statement from the valid statements. Its pair of participants stays examined."""
    statement = held.pop(id, None)
    if isinstance(statement, Relation) and statement.of_participants:
        none.add(statement.between)


def not_examined(state: Standing, contributors: Iterable[str]) -> tuple[Pair, ...]:
    """Return the pairs of contributors that were never examined, in order, without the demander."""
    return tuple(pair for pair in all_pairs(contributors) if not state.examined(*pair))


def concerned(seen: Observation) -> tuple[str, ...]:
    """Return the aliases in `between`, `about` and `asks` of an observation, and the speakers of the items it cites."""
    found = {alias for relation in seen.relations for alias in relation.between}
    found |= {alias for note in seen.notes for alias in (*note.about, note.asks)}
    found |= {speaker_of(source) for statement in seen.statements for source in statement.sources}
    return tuple(sorted(alias for alias in found if alias.startswith("P")))
