"""What a plan is assembled from: the items of those who stayed, and the last word on every pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.cues import Cue, cues_in, names_something
from tongyao.protocol.model.observation import Observation, Pair, Relation
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import PlannerRequest


@dataclass(frozen=True)
class Dependency:
    """Who waits for whom: a need, and what was said to it, as a pair of the last observation has them."""

    needing: str
    offering: str
    need: Item
    offer: Item
    pair: Pair


class Record:
    """Items and pairs without those who declined."""

    def __init__(self, request: PlannerRequest) -> None:
        self.language = request.language
        self.tension = request.tension
        self.absent = request.absent
        self.aliases = [alias for alias in request.aliases if alias not in request.without]
        self.items: dict[str, list[Item]] = {alias: [] for alias in self.aliases}
        for turn in request.exchange:
            for projection in turn.projections:
                if projection.alias in self.items:
                    self.items[projection.alias] += projection.items
        observations = [turn.observation for turn in request.exchange if turn.observation]
        self.last: Observation | None = observations[-1] if observations else None
        self.pairs: list[Pair] = [
            pair for pair in (self.last.pairs if self.last else ()) if pair.a in self.items and pair.b in self.items
        ]
        self._item = {item.id: item for items in self.items.values() for item in items}

    def of(self, alias: str, *dimensions: Dimension) -> list[Item]:
        return [item for item in self.items[alias] if item.dimension in dimensions]

    def offers(self, alias: str) -> list[Item]:
        """Abilities that are offered, those first that a relation rests on, then those that face a barrier.

        A plain statement is no offer, unless it answers somebody's need.
        """
        bonded = self.bonded(alias)
        found = [
            item
            for item in self.of(alias, Dimension.CAPABILITY)
            if not needs(item) and (item in bonded or Cue.OFFER in cues_in(wording.said_in(item)))
        ]
        return sorted(found, key=lambda item: (item not in bonded, not faces(item)))

    def belongings(self, alias: str) -> list[Item]:
        """Abilities that are no offers by their words and name something that their owner has, as the items of a list do.

        What somebody looks for and the demander may have is an ability by the protocol, and is nothing of theirs.
        """
        offered, sought = self.offers(alias), wording.READING["exchange"][self.language]
        return [
            item
            for item in self.of(alias, Dimension.CAPABILITY)
            if item not in offered
            and sought not in item.claim
            and not needs(item)
            and names_something(wording.said_in(item))
        ]

    def item(self, item_id: str) -> Item | None:
        return self._item.get(item_id)

    def said(self, item: Item, units: int = wording.EXCERPT) -> str:
        """What an item says, as a quotation."""
        return wording.repeated(wording.said_in(item), self.language, units)

    def bonded(self, alias: str) -> list[Item]:
        """What of somebody's words a relation rests on."""
        ids = [source for pair in self.pairs if pair.relation is not Relation.OFFSETTING for source in pair.sources]
        return [item for item in self.items[alias] if item.id in ids]

    def related(self, relation: Relation) -> list[Pair]:
        return [pair for pair in self.pairs if pair.relation is relation]

    def dependencies(self) -> list[Dependency]:
        """In a complementary pair the needing side waits for the offering one."""
        found = []
        for pair in self.related(Relation.COMPLEMENTARY):
            sides = [item for source in pair.sources if (item := self.item(source)) is not None]
            need = next((item for item in sides if needs(item)), None)
            offer = next((item for item in sides if need and self.owner(item.id) != self.owner(need.id)), None)
            if need and offer:
                found.append(Dependency(self.owner(need.id), self.owner(offer.id), need, offer, pair))
        return found

    def phrase(self, alias: str) -> str:
        """A few words of somebody's own by which a reader knows them again; empty when they said nothing."""
        said = [*self.offers(alias), *self.items[alias]]
        return self.said_short(said[0]) if said else ""

    def said_short(self, item: Item) -> str:
        words = wording.phrase(wording.said_in(item))
        return f"「{words}」" if self.language == "zh" else f"“{words}”"

    def owner(self, item_id: str) -> str:
        return item_id.split("/")[1]

    def said_by(self, sources: Iterable[str]) -> list[str]:
        """What the items among `sources` say, each in a few words of its own."""
        said = (wording.said_in(self._item[source]) for source in sources if source in self._item)
        return [wording.repeated(one, self.language, 18) for one in said]

    def uncovered(self) -> list[tuple[str, tuple[str, ...]]]:
        """Barriers that no offer of those who stayed points at, or that are absent; with the gaps that say so."""
        covered = {target for alias in self.aliases for item in self.offers(alias) for target in item.targets}
        gaps: dict[str, tuple[str, ...]] = {}
        for one in self.absent:
            gaps[one.target] = (*gaps.get(one.target, ()), *one.gaps)
        return [
            (target, gaps.get(target, ()))
            for target in self.tension.targets()
            if target[0] == "B" and (target not in covered or target in gaps)
        ]


def needs(item: Item) -> bool:
    """Whether an item says what somebody lacks, and offers nothing in the same breath."""
    cues = cues_in(wording.said_in(item))
    return Cue.NEED in cues and Cue.OFFER not in cues


def faces(item: Item) -> bool:
    return any(target.startswith("B") for target in item.targets)
