"""Whether a round brought news, and whom its observation concerns (docs/protocol.md §5.5). Pure.

News is counted on links, by ids. A link is a pair of participants, or a participant and a part of the tension, that an
observation states as related. The wording of items and observations is never compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from tongyao.protocol.model.observation import Gap, GapKind, Observation, Pair, Relation, round_of
from tongyao.protocol.model.projection import Item, Span
from tongyao.protocol.model.requests import Exchange
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.relations import items_of, last_observation, observations_of, standing

Link = tuple[str, str]
"""Two aliases, the lower first, or an alias and a part of the tension."""

REPEATS_FROM_ROUND: Final = 3
"""From this round on a proxy's item needs a new quote, or an answer to something by its id."""

TOUCHED_FROM_ROUND: Final = 4
"""From this round on a participant and a part of the tension are news only if nobody's contribution to that part was stated before."""

_ALIAS: Final = re.compile(r"(?<![A-Za-z0-9/])P\d{2}(?![\d/])")


class News(Value):
    """The figures of one round."""

    round: int
    items: int = 0
    new_quotes: int = 0
    """Items with a quote that their speaker had not used before."""
    re_aimed: int = 0
    """Other items that aim an old quote at a new part of the tension, in answer to a framework or gap."""
    first_links: int = 0
    """Links stated for the first time."""
    links: tuple[Link, ...] = ()
    """Of these, the links that are news: they cite an item of this round with a new or re-aimed quote, and `TOUCHED_FROM_ROUND` holds."""


def news(rounds: Sequence[Exchange]) -> News:
    """The figures of the last of `rounds` (oldest first, from round 1); its links are empty while it has no observation."""
    last = rounds[-1]
    quoting = items_with_new_quote(rounds)
    aiming = _items_re_aimed(rounds) - quoting
    before: set[Link] = set()
    for exchange in rounds[:-1]:
        before |= _links(exchange.observation).keys()
    first = {link: cited for link, cited in _links(last.observation).items() if link not in before}
    fresh = quoting | aiming
    touched = {link[1] for link in before} if last.round >= TOUCHED_FROM_ROUND else set()
    return News(
        round=last.round,
        items=len(items_of(rounds[-1:])),
        new_quotes=len(quoting),
        re_aimed=len(aiming),
        first_links=len(first),
        links=tuple(
            sorted(
                link
                for link, cited in first.items()
                if not fresh.isdisjoint(cited) and (link[1] not in touched or _ALIAS.fullmatch(link[1]))
            )
        ),
    )


def items_with_new_quote(rounds: Sequence[Exchange]) -> frozenset[str]:
    """Ids of the last round's items that carry a quote which their speaker had not used in an earlier round."""
    used = items_of(rounds[:-1])
    return frozenset(item.id for item in items_of(rounds[-1:]) if has_new_quote(item, used))


def items_that_can_be_news(rounds: Sequence[Exchange]) -> frozenset[str]:
    """Ids of the last round's items on which news can rest: with a new quote, or with an old one aimed at a new part in an answer."""
    return items_with_new_quote(rounds) | _items_re_aimed(rounds)


def has_new_quote(item: Item, earlier: Iterable[Item]) -> bool:
    """Whether any span of `item` is new: spans of its speaker's `earlier` items cover less than half of it.

    What a person says in a turn is a text of its own, so its spans are new.
    """
    mine = [other for other in earlier if _speaker(other.id) == _speaker(item.id)]
    return any(2 * _covered(item, span, mine) < span.end - span.start for span in item.spans)


def is_repeated(item: Item, earlier: Iterable[Item]) -> bool:
    """Whether `item` says nothing that its speaker had not said: no new quote, no answer by id, and nothing taken back."""
    return not item.answers and not item.withdraws and not has_new_quote(item, earlier)


def answerable(last: Observation | None) -> frozenset[str]:
    """Ids of what an item may answer: what the last observation stated itself, and the framework that is still open."""
    if last is None:
        return frozenset()
    stated = (element for element in last.texts() if round_of(element) == last.round)
    return frozenset(chain(stated, (framework.id for framework in last.frameworks)))


def concerned(rounds: Sequence[Exchange]) -> tuple[str, ...]:
    """Aliases whom the last observation concerns, in order.

    A new framework, a new overlooked gap or a changed relation concerns whoever it names and whose items it cites; the gap
    concerns also who has an item on its part of the tension, and the relation its two sides.
    """
    seen = rounds[-1].observation
    if seen is None:
        return ()
    earlier = observations_of(rounds[:-1])
    found: set[str] = set()
    for framework in seen.frameworks:
        if round_of(framework.id) == seen.round:
            found |= {*framework.about, *_speakers(framework.sources), *_named(framework.text, framework.name)}
    for gap in seen.gaps:
        if _is_new(gap, seen.round, earlier):
            found |= {*_speakers(gap.sources), *_named(gap.text), *_on(gap.target, rounds)}
    stood = standing(earlier)
    for pair in seen.pairs:
        if _has_changed(pair, stood.get((pair.a, pair.b))):
            found |= {pair.a, pair.b, *_speakers(pair.cited), *_named(pair.whole_text)}
    return tuple(sorted(found))


def _links(seen: Observation | None) -> Mapping[Link, frozenset[str]]:
    """The links that an observation states itself, each with the ids that it cites."""
    if seen is None:
        return {}
    cited: dict[Link, set[str]] = {}
    for pair in seen.pairs:
        if pair.relation.related and not pair.carried:
            cited.setdefault((pair.a, pair.b), set()).update(pair.cited)
    for one in seen.contributions:
        cited.setdefault((one.alias, one.target), set()).update(one.sources)
    return {link: frozenset(ids) for link, ids in cited.items()}


def _items_re_aimed(rounds: Sequence[Exchange]) -> frozenset[str]:
    last_seen = last_observation(rounds[:-1])
    if last_seen is None:
        return frozenset()
    asking = {one.id for one in last_seen.frameworks} | {one.id for one in last_seen.gaps}
    used = items_of(rounds[:-1])
    return frozenset(
        item.id for item in items_of(rounds[-1:]) if not asking.isdisjoint(item.answers) and _aims_anew(item, used)
    )


def _aims_anew(item: Item, earlier: Sequence[Item]) -> bool:
    """Whether an old quote of `item` is aimed at a part at which it was not aimed before."""
    for span in item.spans:
        same = [
            other for other in earlier if _speaker(other.id) == _speaker(item.id) and _quotes_same(item, span, other)
        ]
        if same and not set(item.targets) <= {target for other in same for target in other.targets}:
            return True
    return False


def _quotes_same(item: Item, span: Span, other: Item) -> bool:
    """Whether `other` quotes at least half of `span`, of `item`."""
    return 2 * _covered(item, span, [other]) >= span.end - span.start


def _covered(item: Item, span: Span, others: Iterable[Item]) -> int:
    """How many characters of `span`, of `item`, the spans of `others` quote."""
    covered, reached = 0, span.start
    for one in sorted(_same_text(item, span, others), key=lambda one: one.start):
        start, end = max(one.start, reached), min(one.end, span.end)
        covered += max(0, end - start)
        reached = max(reached, end)
    return covered


def _same_text(item: Item, span: Span, others: Iterable[Item]) -> list[Span]:
    """Spans of `others` in the text that `span` is of: the profile, or the words of one turn."""
    return [
        one
        for other in others
        for one in other.spans
        if one.source == span.source and (span.source == "profile" or round_of(item.id) == round_of(other.id))
    ]


def _is_new(gap: Gap, round_number: int, earlier: Sequence[Observation]) -> bool:
    """Whether the gap asks anew: its part was not called overlooked before, or it cites an item of this round."""
    if gap.kind is not GapKind.OVERLOOKED:
        return False
    asked = {one.target for seen in earlier for one in seen.gaps if one.kind is GapKind.OVERLOOKED}
    return gap.target not in asked or any(round_of(source) == round_number for source in gap.sources)


def _has_changed(pair: Pair, before: Pair | None) -> bool:
    """Whether the pair has a relation, or `none_found`, that it had not. That a second relation ended asks nothing of anybody."""
    if pair.carried or pair.relation is Relation.NOT_EXAMINED:
        return False
    return pair.relation.related if before is None else not set(pair.relations) <= set(before.relations)


def _on(target: str, rounds: Sequence[Exchange]) -> set[str]:
    """Who has an item on this part of the tension."""
    return {_speaker(item.id) for item in items_of(rounds) if target and target in item.targets}


def _speaker(item_id: str) -> str:
    return item_id.split("/")[1]


def _speakers(ids: Iterable[str]) -> set[str]:
    return {alias for one in ids for alias in one.split("/")[1:2] if _ALIAS.fullmatch(alias)}


def _named(*texts: str) -> set[str]:
    return {alias for text in texts for alias in _ALIAS.findall(text)}
