"""All pairs, and only what the catalyst could know (docs/protocol.md §5.3). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tongyao.protocol.observation import (
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


def settle_observation(
    draft: ObservationDraft,
    *,
    round_number: int,
    contributors: Collection[str],
    targets: Collection[str],
    item_texts: Mapping[str, str],
    verdict_counts: bool,
    struck: int = 0,
) -> Observation:
    """The observation in `draft`: each pair once, in order, the missing ones as `not_examined`; unknown aliases, targets
    and ids dropped; every element with an id `R<round>/catalyst/<number>`.

    A related pair must stand on items of both its sides. Where sources were named, at least one must be of each side;
    a relation without that is what nobody can check, and becomes `none_found`.
    Before the verdict counts, it is `more`, whatever the draft says.
    """
    ids = _Ids(round_number)
    by_pair: dict[tuple[str, str], PairDraft] = {}
    for pair in draft.pairs:
        by_pair.setdefault(_ordered(pair.a, pair.b), pair)
    pairs = []
    for a, b in all_pairs(contributors):
        found = by_pair.get((a, b))
        sources = _known(found.sources, item_texts) if found else ()
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
                alias=c.alias,
                target=c.target,
                effect=c.effect,
                text=c.text,
                sources=_known(c.sources, item_texts),
            )
            for c in draft.contributions
            if c.alias in people and c.target in known_targets
        ),
        translations=tuple(
            Translation(
                id=ids.next(),
                a=t.a,
                b=t.b,
                a_words=t.a_words,
                b_words=t.b_words,
                text=t.text,
                sources=_known(t.sources, item_texts),
            )
            for t in draft.translations
            if {t.a, t.b} <= people and t.a != t.b
        ),
        gaps=tuple(
            Gap(id=ids.next(), kind=g.kind, target=g.target, text=g.text)
            for g in draft.gaps
            if g.target in known_targets
        ),
        ignored=_notes(draft.ignored, ids, people, item_texts),
        frameworks=_notes(draft.frameworks, ids, people, item_texts),
        third_party_value=_notes(draft.third_party_value, ids, people, item_texts),
        markdown=draft.markdown,
        struck=struck,
    )


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
            about=tuple(alias for alias in note.about if alias in people),
            sources=_known(note.sources, item_texts),
        )
        for note in drafts
        if note.text.strip()
    )


def _known(sources: Sequence[str], item_texts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for source in sources if source in item_texts))


def _of(alias: str, sources: Sequence[str]) -> bool:
    return any(source.split("/")[1:2] == [alias] for source in sources)


def _ordered(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a <= b else (b, a)
