"""All pairs, and only what the catalyst could know (docs/protocol.md §5.3). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tongyao.protocol.guards.naming import named_alias, named_ids, named_targets
from tongyao.protocol.model.observation import (
    Contribution,
    Gap,
    Note,
    NoteDraft,
    Observation,
    ObservationDraft,
    Pair,
    PairDraft,
    Relation,
    Translation,
    Verdict,
    all_pairs,
)


def missing_pairs(pairs: Sequence[PairDraft], contributors: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of `contributors` that `pairs` does not speak of, or says it did not examine."""
    seen = {_ordered(pair.a, pair.b) for pair in pairs if pair.relation is not Relation.NOT_EXAMINED}
    return tuple(pair for pair in all_pairs(contributors) if pair not in seen)


def unfounded_pairs(
    pairs: Sequence[PairDraft],
    contributors: Collection[str],
    item_texts: Mapping[str, str],
    earlier: Sequence[Observation] = (),
) -> tuple[tuple[str, str, str], ...]:
    """Pairs said to be related without an item of each side to show it, as (a, b, who has none); each pair once."""
    sides = _Sides(item_texts, earlier)
    wanted = set(all_pairs(contributors))
    found: dict[tuple[str, str], str] = {}
    for pair in pairs:
        names = _ordered(pair.a, pair.b)
        if names in wanted and names not in found and pair.relation.related:
            sources = sides.sources(pair)
            without = [alias for alias in names if not _of(alias, sources)]
            if without:
                found[names] = " and ".join(without)
    return tuple((a, b, without) for (a, b), without in found.items())


def settle_observation(
    draft: ObservationDraft,
    *,
    round_number: int,
    contributors: Collection[str],
    targets: Collection[str],
    item_texts: Mapping[str, str],
    verdict_counts: bool,
    struck: int = 0,
    earlier: Sequence[Observation] = (),
) -> Observation:
    """The observation in `draft`: each pair once, in order, the missing ones as `not_examined`; unknown aliases, targets
    and ids dropped; every element with an id `R<round>/catalyst/<number>`.

    A related pair must stand on items of both its sides, named in its sources; a pair that keeps the relation
    of an `earlier` observation keeps what that stood on. A relation without that is what nobody can check, and
    becomes `none_found`.
    Before the verdict counts, it is `more`, whatever the draft says.
    """
    ids = _Ids(round_number)
    sides = _Sides(item_texts, earlier)
    by_pair: dict[tuple[str, str], PairDraft] = {}
    for pair in draft.pairs:
        by_pair.setdefault(_ordered(pair.a, pair.b), pair)
    pairs = []
    for a, b in all_pairs(contributors):
        found = by_pair.get((a, b))
        sources = sides.sources(found) if found else ()
        relation = found.relation if found else Relation.NOT_EXAMINED
        if relation.related and not (_of(a, sources) and _of(b, sources)):
            relation = Relation.NONE_FOUND
        pairs.append(
            Pair(id=ids.next(), a=a, b=b, relation=relation, text=found.text if found else "", sources=sources)
        )
    known_targets = set(targets)
    people = set(contributors)
    return Observation(
        round=round_number,
        verdict=draft.verdict if verdict_counts else Verdict.MORE,
        pairs=tuple(pairs),
        contributions=tuple(
            Contribution(
                id=ids.next(),
                alias=named_alias(c.alias),
                target=target,
                effect=c.effect,
                text=c.text,
                sources=named_ids(c.sources, item_texts),
            )
            for c in draft.contributions
            if named_alias(c.alias) in people
            for target in named_targets([c.target], known_targets)
        ),
        translations=tuple(
            Translation(
                id=ids.next(),
                a=named_alias(t.a),
                b=named_alias(t.b),
                a_words=t.a_words,
                b_words=t.b_words,
                text=t.text,
                sources=named_ids(t.sources, item_texts),
            )
            for t in draft.translations
            if {named_alias(t.a), named_alias(t.b)} <= people and named_alias(t.a) != named_alias(t.b)
        ),
        gaps=tuple(
            Gap(
                id=ids.next(), kind=g.kind, target=next(iter(named_targets([g.target], known_targets)), ""), text=g.text
            )
            for g in draft.gaps
            if named_targets([g.target], known_targets) or (g.text.strip() and not g.target.strip())
        ),
        ignored=_notes(draft.ignored, ids, people, item_texts),
        frameworks=_notes(draft.frameworks, ids, people, item_texts),
        third_party_value=_notes(draft.third_party_value, ids, people, item_texts),
        markdown=draft.markdown,
        struck=struck,
    )


class _Sides:
    """What a pair's relation stands on."""

    def __init__(self, item_texts: Mapping[str, str], earlier: Sequence[Observation]) -> None:
        self._items = item_texts
        self._before = {(pair.a, pair.b): pair for seen in earlier for pair in seen.pairs if pair.relation.related}

    def sources(self, pair: PairDraft) -> tuple[str, ...]:
        a, b = _ordered(pair.a, pair.b)
        sources = named_ids(pair.sources, self._items)
        if _of(a, sources) and _of(b, sources):
            return sources
        before = self._before.get((a, b))
        kept = before.sources if before is not None and before.relation is pair.relation else ()
        return tuple(dict.fromkeys((*sources, *kept)))


class _Ids:
    def __init__(self, round_number: int) -> None:
        self._round, self._number = round_number, 0

    def next(self) -> str:
        self._number += 1
        return f"R{self._round}/catalyst/{self._number}"


def _notes(
    drafts: Sequence[NoteDraft], ids: _Ids, people: Collection[str], item_texts: Mapping[str, str]
) -> tuple[Note, ...]:
    return tuple(
        Note(
            id=ids.next(),
            text=note.text,
            name=note.name,
            about=tuple(alias for alias in map(named_alias, note.about) if alias in people),
            sources=named_ids(note.sources, item_texts),
        )
        for note in drafts
        if note.text.strip()
    )


def _of(alias: str, sources: Sequence[str]) -> bool:
    return any(source.split("/")[1:2] == [alias] for source in sources)


def _ordered(a: str, b: str) -> tuple[str, str]:
    """The pair that `a` and `b` name, the lower alias first."""
    first, second = sorted((named_alias(a), named_alias(b)))
    return first, second
