"""A small bilingual thesaurus: words that people of one field use for the same thing (docs/field.md §3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from tongyao.field.features import runs

LONGEST = 6  # characters of the longest Chinese word that is looked for


def concepts(text: str) -> Iterator[str]:
    """The group of every known word of `text`; in Chinese the longest word that stands at a place counts."""
    groups = _groups()
    for han, latin in runs(text):
        if latin:
            yield from groups.get(latin, ())
            continue
        at = 0
        while at < len(han):
            lengths = range(min(LONGEST, len(han) - at), 0, -1)
            length = next((length for length in lengths if han[at : at + length] in groups), 0)
            yield from groups.get(han[at : at + length], ())
            at += max(length, 1)


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[str, ...]]:
    lines = files("tongyao.field").joinpath("thesaurus.txt").read_text(encoding="utf-8").splitlines()
    groups: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(line for line in lines if line and not line.startswith("#")):
        for word in line.split():
            groups[word] = (*groups.get(word, ()), f"group {number}")
    return groups
