"""Ids of what is said and stated in a process. Ids are made and parsed only here.

| id | names |
|---|---|
| `R2/P03/4` | the fourth item of P03 in round 2 |
| `R2/r1` | the first relation that the catalyst stated in round 2 |
| `R2/n5` | the fifth note that the catalyst stated in round 2 |
| `T/B1` | a line of the tension |
| `residual/2` | the second residual tension of a plan |

A plan may cite items of a child process: the child's id and a slash stand before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations
from typing import Final

from tongyao.protocol.model.process import DEMANDER

Pair = tuple[str, str]
"""Two aliases, the lower one first."""

ITEM: Final = r"R\d{1,4}/P\d{2,3}/\d{1,5}"
STATEMENT: Final = r"R\d{1,4}/[rn]\d{1,5}"
LINE: Final = r"T/(?:T|I|E|B\d{1,3})"
ANY_ID: Final = rf"(?:{ITEM}|{STATEMENT}|{LINE})"
"""A regular expression for every id that a source may name, without groups."""

ALIAS: Final = re.compile(r"(?<![A-Za-z0-9/])P\d{2,3}(?![\d/])")
"""An alias in a text. The alias within an id of an item is none."""

_PARTS: Final = re.compile(
    r"(?:.*/)?R(?P<round>\d{1,4})/(?:(?P<alias>P\d{2,3})/(?P<item>\d{1,5})|(?P<kind>[rn])(?P<statement>\d{1,5}))"
)


def item_id(round_number: int, alias: str, number: int) -> str:
    """The id of an item. Rounds and numbers start at 1."""
    return f"R{round_number}/{alias}/{number}"


def relation_id(round_number: int, number: int) -> str:
    return f"R{round_number}/r{number}"


def note_id(round_number: int, number: int) -> str:
    return f"R{round_number}/n{number}"


def round_of(any_id: str) -> int:
    """The round of an item, a relation or a note; 0 for anything else."""
    found = _PARTS.fullmatch(any_id)
    return int(found["round"]) if found else 0


def speaker_of(any_id: str) -> str:
    """The alias that an item is of; empty for anything else."""
    found = _PARTS.fullmatch(any_id)
    return (found["alias"] or "") if found else ""


def in_order(any_id: str) -> tuple[int, str, int]:
    """A sort key: round, then speaker or kind of statement, then number."""
    found = _PARTS.fullmatch(any_id)
    if not found:
        return 0, any_id, 0
    return int(found["round"]), found["alias"] or found["kind"], int(found["item"] or found["statement"])


def ordered(a: str, b: str) -> Pair:
    """The pair of two aliases, the lower one first."""
    return (a, b) if a <= b else (b, a)


def all_pairs(aliases: Iterable[str]) -> tuple[Pair, ...]:
    """Every pair of `aliases` in order, the demander left out. n aliases give n(n-1)/2 pairs."""
    return tuple(combinations(sorted(set(aliases) - {DEMANDER}), 2))
