"""The relation ledger: what stands between participants after the rounds so far (docs/protocol.md §5.3). Pure.

Observations hold statements. A statement about a pair stands until a later observation replaces it. The ledger is derived
from the observations and is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tongyao.protocol.model.observation import Note, Observation, Pair, Relation, SecondRelation, all_pairs
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import Exchange

Names = tuple[str, str]
"""Two aliases, the lower first."""


def standing(observations: Iterable[Observation]) -> dict[Names, Pair]:
    """For each pair that was ever examined, the statement that stands after `observations` (oldest first)."""
    ledger: dict[Names, Pair] = {}
    for seen in observations:
        for pair in seen.pairs:
            if not pair.carried and pair.relation is not Relation.NOT_EXAMINED:
                ledger[pair.a, pair.b] = pair
    return ledger


def to_examine(rounds: Sequence[Exchange], contributors: Collection[str]) -> tuple[Names, ...]:
    """The pairs that the catalyst must examine in the last of `rounds`: those with a new item on a side, and those that were
    never examined."""
    spoke = {item.id.split("/")[1] for item in items_of(rounds[-1:])}
    known = standing(observations_of(rounds[:-1]))
    return tuple((a, b) for a, b in all_pairs(contributors) if a in spoke or b in spoke or (a, b) not in known)


def changes(observations: Sequence[Observation]) -> int:
    """How often a pair that was stated as related was stated otherwise later."""
    count = 0
    for number in range(len(observations)):
        before = standing(observations[:number])
        after = standing(observations[: number + 1])
        count += sum(
            old.relation.related and after[names].relation is not old.relation for names, old in before.items()
        )
    return count


def rests_on_quoted_boundary(pair: Pair | SecondRelation, items: Mapping[str, Item]) -> bool:
    """Whether a relation cites a boundary that carries a quote: something that somebody said they will not or cannot do."""
    cited = (items[source] for source in pair.sources if source in items)
    return pair.relation.related and any(item.dimension is Dimension.BOUNDARY and item.spans for item in cited)


def untouched(targets: Iterable[str], rounds: Sequence[Exchange]) -> tuple[str, ...]:
    """The parts of the tension that no item so far is aimed at, in order."""
    touched = {target for item in items_of(rounds) for target in item.targets}
    return tuple(target for target in targets if target not in touched)


def open_framework(rounds: Sequence[Exchange]) -> Note | None:
    """The framework of the last observation before the last of `rounds`, if an item of that round answers it.

    A framework that nobody answers in the next round is closed.
    """
    last = last_observation(rounds[:-1])
    answered = {answer for item in items_of(rounds[-1:]) for answer in item.answers}
    open_ones = (one for one in last.frameworks if one.id in answered) if last is not None else iter(())
    return next(open_ones, None)


def items_of(rounds: Iterable[Exchange]) -> list[Item]:
    """Every item of these rounds but those that only repeat."""
    return [item for exchange in rounds for said in exchange.projections for item in said.items if not item.repeated]


def observations_of(rounds: Iterable[Exchange]) -> list[Observation]:
    return [exchange.observation for exchange in rounds if exchange.observation is not None]


def last_observation(rounds: Sequence[Exchange]) -> Observation | None:
    seen = observations_of(rounds)
    return seen[-1] if seen else None
