"""What people said as a fact and no part of a plan rests on (docs/plans.md). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tongyao.protocol.model.plan import Source
from tongyao.protocol.model.projection import Item


def unused_facts(items: Iterable[Item], cited: Collection[str]) -> tuple[Source, ...]:
    """The items that are not among the `cited` ids, in the order given; an item of the same premise counts as the same fact.

    Left out are inferences, repeated items and what was taken back.
    """
    said = tuple(items)
    taken_back = {id for item in said for id in item.withdraws}
    told = {_premise(item) for item in said if item.id in cited}
    found: dict[str, Source] = {}
    for item in said:
        premise = _premise(item)
        if item.id in taken_back or item.inferred or item.repeated or premise in told:
            continue
        found.setdefault(premise, Source(id=item.id, text=item.statement, premise=item.premise))
    return tuple(found.values())


def _premise(item: Item) -> str:
    return (item.premise or item.claim).strip()
