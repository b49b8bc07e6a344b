"""The ids of a process. Ids are made and parsed only here.

| id | names |
|---|---|
| `R2/P03/4` | the fourth item of P03 in round 2 |
| `R2/r1` | the first relation that the catalyst stated in round 2 |
| `R2/n5` | the fifth note that the catalyst stated in round 2 |
| `T/B1` | a line of the tension |
| `residual/2` | the second residual tension within its plan |
| `plan/1/residual/2` | the same, within its process |
| `tension` | the tension of a process itself, as a standing tension |
| `plan/1/hole/P03` | the hole that P03 leaves by declining plan 1: a residual like every other |
| `c-abc.1-2` | the child of `c-abc` for its residual `plan/1/residual/2` |
| `P03` | a participant; `P00` is the demander |
| `invited/4` | a person who is asked for consent and has no seat yet |
| `decide/2` | an ask (`life.asks`) |

A plan may cite items of a child process. Their ids begin with the child's id and a slash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import combinations
from typing import Annotated, Final
from uuid import UUID, uuid5

from pydantic import Field

from tongyao.protocol.model.process import DEMANDER

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Alias = Annotated[str, Field(pattern=r"^P\d{2,3}$")]
"""Ids and aliases in requests."""

Pair = tuple[str, str]
"""Two aliases, the lower one first."""

ITEM: Final = r"R\d{1,4}/P\d{2,3}/\d{1,5}"
STATEMENT: Final = r"R\d{1,4}/[rn]\d{1,5}"
LINE: Final = r"T/(?:T|I|E|B\d{1,3})"
ANY_ID: Final = rf"(?:{ITEM}|{STATEMENT}|{LINE})"
"""A regular expression for every id that a source may name, without groups."""

ALIAS: Final = re.compile(r"(?<![A-Za-z0-9/])P\d{2,3}(?![\d/])")
"""An alias in a text. An alias within the id of an item does not match."""

_PARTS: Final = re.compile(
    r"(?:.*/)?R(?P<round>\d{1,4})/(?:(?P<alias>P\d{2,3})/(?P<item>\d{1,5})|(?P<kind>[rn])(?P<statement>\d{1,5}))"
)

_RESIDUAL: Final = re.compile(r"plan/(?P<revision>\d+)/(?:residual/(?P<number>\d+)|hole/(?P<alias>P\d{2,3}))")
_INVITED: Final = "invited/"
_TEXTS: Final = UUID("7d2b1c52-2f0e-5e0c-9a55-6f2f6c7e61aa")
_PROFILES: Final = UUID("0f2f8a53-6c0b-5c1c-9d3e-5a7f4b1e8c26")

PROFILE_ID: Final = re.compile(r"\w[\w.@:-]{0,119}")
"""The rule in words is `import.no_id` in `tongyao/texts/field`."""
_NOT_IN_FILE_ID: Final = re.compile(r"[^\w.-]+")


OWN_TENSION: Final = "tension"
"""Used in place of a residual for the tension of the process itself."""


def next_alias(taken: int) -> str:
    """Return the next alias after `taken` aliases, from `P01`. An alias is never used twice in a process."""
    return f"P{taken + 1:02d}"


def invited_alias(number: int) -> str:
    """Return the alias of a person who is asked for consent. `number`: of the invitation, from 1."""
    return f"{_INVITED}{number}"


def invitation_of(alias: str) -> int:
    """Return the number of the invitation; 0 for every other alias."""
    number = alias.removeprefix(_INVITED)
    return int(number) if number != alias and number.isdecimal() else 0


def residual_id(revision: int, number: int) -> str:
    """Return the id of a residual of a plan. `number`: within the plan, from 1."""
    return f"plan/{revision}/residual/{number}"


def hole_id(revision: int, alias: str) -> str:
    """Return the id of the hole that `alias` leaves by declining a plan."""
    return f"plan/{revision}/hole/{alias}"


def hole_of(residual: str) -> tuple[int, str] | None:
    """Return revision and alias of a hole; None for any other residual."""
    found = _RESIDUAL.fullmatch(residual)
    return (int(found["revision"]), found["alias"]) if found and found["alias"] else None


def number_of_residual(residual: str) -> int:
    """Return the number of a residual in its plan; for a hole, that of the alias. Raises `ValueError` otherwise."""
    _, number = _parts_of_residual(residual)
    return int(number.removeprefix("P"))


def child_id(parent: str, residual: str) -> str:
    """Return the id of the process for one residual of a parent's plan. It is the same on every retry.

    `plan/2/residual/1` of `c-abc` is `c-abc.2-1`, `plan/1/hole/P03` is `c-abc.1-P03`. Raises `ValueError` if `residual`
    is neither a residual of a plan nor a hole.
    """
    return f"{parent}.{'-'.join(_parts_of_residual(residual))}"


def _parts_of_residual(residual: str) -> tuple[str, str]:
    found = _RESIDUAL.fullmatch(residual)
    if found is None:
        raise ValueError(
            f"{residual!r} is no residual of a plan: plan/<revision>/residual/<number>, or plan/<revision>/hole/<alias>"
        )
    return found["revision"], found["number"] or found["alias"]


def ask_id(name: str, *parts: object) -> str:
    """Return the id of an ask, or of a phase in a message: `confirm/1`, `say/2/P03`, `residual/plan/1/hole/P03`."""
    return "/".join([name, *map(str, parts)])


def process_text_id(process_id: str, name: str) -> str:
    """Return the id of a named text of a process. The same name gives the same id, so a text can be written twice."""
    return str(uuid5(_TEXTS, f"{process_id}/{name}"))


def stem_id(stem: str) -> str:
    """Return the id of a profile from a file name without suffix. Characters that an id may not have are replaced."""
    return _NOT_IN_FILE_ID.sub("-", stem).strip("-.") or "person"


def id_of_text(scene: str, text: str) -> str:
    """Return the id of a profile that came without an id. It depends on the scene and the text."""
    return f"p-{uuid5(_PROFILES, f'{scene}/{sha256(text.encode()).hexdigest()}').hex[:20]}"


def item_id(round_number: int, alias: str, number: int) -> str:
    """Return the id of an item. Rounds and numbers start at 1."""
    return f"R{round_number}/{alias}/{number}"


def relation_id(round_number: int, number: int) -> str:
    return f"R{round_number}/r{number}"


def note_id(round_number: int, number: int) -> str:
    return f"R{round_number}/n{number}"


def round_of(any_id: str) -> int:
    """Return the round of an item, a relation or a note; 0 for anything else."""
    found = _PARTS.fullmatch(any_id)
    return int(found["round"]) if found else 0


def speaker_of(any_id: str) -> str:
    """Return the alias of an item's speaker; empty for anything else."""
    found = _PARTS.fullmatch(any_id)
    return (found["alias"] or "") if found else ""


def in_order(any_id: str) -> tuple[int, str, int]:
    """Return a sort key: round, then speaker or kind of statement, then number."""
    found = _PARTS.fullmatch(any_id)
    if not found:
        return 0, any_id, 0
    return int(found["round"]), found["alias"] or found["kind"], int(found["item"] or found["statement"])


def ordered(a: str, b: str) -> Pair:
    """Return the pair of two aliases, the lower one first."""
    return (a, b) if a <= b else (b, a)


def all_pairs(aliases: Iterable[str]) -> tuple[Pair, ...]:
    """Return every pair of `aliases` in order, without the demander. n aliases give n(n-1)/2 pairs."""
    return tuple(combinations(sorted(set(aliases) - {DEMANDER}), 2))
