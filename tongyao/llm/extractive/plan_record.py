"""What a plan is assembled from: the items of those who stayed, the last word on every pair, and what touches the tension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.cues import Cue, cues_in, names_something, seeks
from tongyao.llm.extractive.hearing import Hearing
from tongyao.llm.extractive.likeness import words_for
from tongyao.llm.extractive.places import is_place_for
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
    """What was said, by everybody, and who takes part in the plan.

    `aliases` and `pairs` are without those who declined. Their words stay in `items` and `said_pairs`: what the others gave and
    need rests on them too, and does not change when somebody declines.
    """

    def __init__(self, request: PlannerRequest) -> None:
        self.language = request.language
        self.tension = request.tension
        self.absent = request.absent
        self.aliases = [alias for alias in request.aliases if alias not in request.without]
        self.items: dict[str, list[Item]] = {alias: [] for alias in self.aliases}
        for turn in request.exchange:
            for projection in turn.projections:
                self.items.setdefault(projection.alias, []).extend(projection.items)
        observations = [turn.observation for turn in request.exchange if turn.observation]
        self.last: Observation | None = observations[-1] if observations else None
        self.said_pairs: list[Pair] = list(self.last.pairs) if self.last else []
        self.pairs: list[Pair] = [pair for pair in self.said_pairs if pair.a in self.aliases and pair.b in self.aliases]
        self._item = {item.id: item for items in self.items.values() for item in items}
        self._hearing = Hearing(request)
        self._voice = {voice.item.id: voice for voice in self._hearing.voices}
        self._touched: dict[str, dict[str, list[str]]] = {}

    def touched(self, item: Item) -> dict[str, list[str]]:
        """Lines of the tension that a statement shares enough words with, each with these words as the statement has them.

        A free place touches a line that lacks one, also with no word in common.

        A need may touch what the demander offers (E). How things stand (I) is touched by everybody who lives there: it does not count.
        """
        if item.id not in self._touched:
            found: dict[str, list[str]] = {}
            voice = self._voice.get(item.id)
            for target, line in self.tension.targets().items() if voice else ():
                if target == "I" or (target == "E" and not needs(item)):
                    continue
                words = self._hearing.touching(voice, line) if voice else frozenset()
                if words or is_place_for(line, wording.said_in(item)):
                    found[target] = words_for(wording.said_in(item), words)
            self._touched[item.id] = found
        return self._touched[item.id]

    def common(self, a: Item, b: Item) -> list[str]:
        """The words that two statements share, as the first has them."""
        return words_for(wording.said_in(a), self._hearing.shared(self._voice[a.id], self._voice[b.id]))

    def touches(self, sources: Iterable[str]) -> bool:
        """Whether one of these items touches a line of the tension."""
        return any(self.touched(item) for source in sources if (item := self.item(source)))

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
        return sorted(found, key=lambda item: (not self.touched(item), item not in bonded, not faces(item)))

    def gives(self, alias: str) -> list[Item]:
        """What somebody offers, then what they have: what touches a line of the tension first."""
        return sorted([*self.offers(alias), *self.belongings(alias)], key=lambda item: not self.touched(item))

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

    def takes_part(self, alias: str) -> bool:
        """Whether something that somebody gives or needs touches the tension, or a relation that does rests on their words."""
        own = self.items[alias]
        return any(self.touched(item) for item in (*self.gives(alias), *filter(needs, own))) or any(
            self.owner(source) == alias for source in self._bonds
        )

    def concerning(self, *relations: Relation) -> list[Pair]:
        """Relations between two who take part, in which the words of one touch the tension."""
        return [pair for pair in self.pairs if pair.relation in relations and self.touches(pair.sources)]

    def beside(self, *relations: Relation) -> list[Pair]:
        """The other relations: what these two have with each other is nothing that was asked for."""
        return [pair for pair in self.pairs if pair.relation in relations and not self.touches(pair.sources)]

    def bonded(self, alias: str) -> list[Item]:
        """What of somebody's words a relation that concerns the tension rests on, also one with somebody who declined."""
        return [item for item in self.items[alias] if item.id in self._bonds]

    @cached_property
    def _bonds(self) -> frozenset[str]:
        """Ids of the items that such relations rest on."""
        related = (Relation.COMPLEMENTARY, Relation.ALIGNED)
        pairs = [pair for pair in self.said_pairs if pair.relation in related and self.touches(pair.sources)]
        return frozenset(source for pair in pairs for source in pair.sources if source in self._item)

    @cached_property
    def dependencies(self) -> list[Dependency]:
        """Of complementary pairs that concern the tension: the needing side waits for the offering one."""
        found = []
        for pair in self.concerning(Relation.COMPLEMENTARY):
            sides = [item for source in pair.sources if (item := self.item(source)) is not None]
            need = next((item for item in sides if needs(item)), None)
            offer = next((item for item in sides if need and self.owner(item.id) != self.owner(need.id)), None)
            if (
                need
                and offer
                and (self.common(need, offer) or is_place_for(wording.said_in(need), wording.said_in(offer)))
            ):
                found.append(Dependency(self.owner(need.id), self.owner(offer.id), need, offer, pair))
        return found

    def phrase(self, alias: str) -> str:
        """A few words of somebody's own by which a reader knows them again; empty when they said nothing."""
        given = self.gives(alias)
        said = [item for item in self.items[alias] if Cue.LIMIT not in cues_in(wording.said_in(item))]
        group: Sequence[Item] = [item for item in given if self.touched(item)] or given or said or self.items[alias]
        if not group:
            return ""
        whole = (item for item in group if not wording.phrase(wording.said_in(item)).endswith("…"))
        return self.said_short(next(whole, group[0]))

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
        """Barriers that nothing which those who stayed give touches, or that are absent; with the gaps that say so."""
        covered = {target for alias in self.aliases for item in self.gives(alias) for target in self.touched(item)}
        gaps: dict[str, tuple[str, ...]] = {}
        for one in self.absent:
            gaps[one.target] = (*gaps.get(one.target, ()), *one.gaps)
        return [
            (target, gaps.get(target, ()))
            for target in self.tension.targets()
            if target[0] == "B" and (target not in covered or target in gaps)
        ]

    def spoken_of(self, target: str) -> bool:
        """Whether anybody said something about a line of the tension, offered or not."""
        return any(
            target in (*item.targets, *self.touched(item)) for alias in self.aliases for item in self.items[alias]
        )


def needs(item: Item) -> bool:
    """Whether an item says what somebody lacks, and offers nothing in the same breath."""
    return seeks(wording.said_in(item))


def faces(item: Item) -> bool:
    return any(target.startswith("B") for target in item.targets)
