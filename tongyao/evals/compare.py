"""Two runs side by side: for the properties that one record cannot show (docs/evaluation.md §5). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tongyao.protocol.model.record import Record


def overlap(
    one: Record, names: Mapping[str, str], other: Record, other_names: Mapping[str, str], *, rounds: int | None = None
) -> float | None:
    """How much of what the same people quoted of their profiles is the same in both runs, from 0 to 1.

    Over all who took part in both: characters quoted in both ÷ characters quoted in either, in the first `rounds` (None:
    all). None when nobody quoted anything. `names`: alias → who it is, per run.
    """
    first, second = _quoted(one, names, rounds), _quoted(other, other_names, rounds)
    both = first.keys() & second.keys()
    shared = sum(len(first[who] & second[who]) for who in both)
    either = sum(len(first[who] | second[who]) for who in both)
    return shared / either if either else None


def _quoted(record: Record, names: Mapping[str, str], rounds: int | None) -> dict[str, set[int]]:
    """By person: every character position of their profile that an item rests on."""
    found: dict[str, set[int]] = {}
    for said in record.projections:
        if rounds is None or said.round <= rounds:
            mine = found.setdefault(names.get(said.alias, said.alias), set())
            for item in said.items:
                for span in item.spans:
                    if span.source == "profile":
                        mine.update(range(span.start, span.end))
    return found
