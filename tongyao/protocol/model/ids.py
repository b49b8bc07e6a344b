"""The ids of a process. Ids are made and parsed only here.

| id | names |
|---|---|
| `R2/P03/4` | the fourth item of P03 in round 2 |
| `R2/r1` | the first relation that the catalyst stated in round 2 |
| `R2/n5` | the fifth note that the catalyst stated in round 2 |
| `T/B1` | a line of the tension |
| `residual/2` | the second residual tension within its plan |
| `plan/1/residual/2` | the second residual tension of plan 1, within its process |
| `tension` | the tension of the process itself, used in place of a residual's id |
| `plan/1/hole/P03` | the hole that P03 leaves by declining plan 1. A hole is treated as a residual |
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
"""The types of ids and aliases in requests."""

Pair = tuple[str, str]
"""Two aliases, the lower alias first."""

ITEM: Final = r"R\d{1,4}/P\d{2,3}/\d{1,5}"
STATEMENT: Final = r"R\d{1,4}/[rn]\d{1,5}"
LINE: Final = r"T/(?:T|I|E|B\d{1,3})"
ANY_ID: Final = rf"(?:{ITEM}|{STATEMENT}|{LINE})"
"""A regular expression for the ids of items, statements and lines. It has no capturing groups."""

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
"""The form of a profile's id. The text `import.no_id` in `tongyao/texts/field` states this rule in words."""
_NOT_IN_FILE_ID: Final = re.compile(r"[^\w.-]+")


OWN_TENSION: Final = "tension"
"""The id used in place of a residual's id for the tension of the process itself."""


def next_alias(taken: int) -> str:
    """Return the next alias. `taken`: the number of aliases already used in the process, also of people who left."""
    return f"P{taken + 1:02d}"


def invited_alias(number: int) -> str:
    """Return the alias of a person who is asked for consent. `number`: the number of the invitation, from 1."""
    return f"{_INVITED}{number}"


def invitation_of(alias: str) -> int:
    """Return the number in the alias of an invited person; 0 for any other alias."""
    number = alias.removeprefix(_INVITED)
    return int(number) if number != alias and number.isdecimal() else 0


def residual_id(revision: int, number: int) -> str:
    """Return the id of a residual. `revision`: of the plan. `number`: position within the plan, from 1."""
    return f"plan/{revision}/residual/{number}"


def hole_id(revision: int, alias: str) -> str:
    """Return the id of the hole that `alias` leaves by declining a plan."""
    return f"plan/{revision}/hole/{alias}"


def hole_of(residual: str) -> tuple[int, str] | None:
    """Return the plan's revision and the alias in the id of a hole; None for the id of any other residual."""
    found = _RESIDUAL.fullmatch(residual)
    return (int(found["revision"]), found["alias"]) if found and found["alias"] else None


def number_of_residual(residual: str) -> int:
    """Return the number in the id of a residual, or the number of the alias in the id of a hole. Raises `ValueError`
    for any other id."""
    _, number = _parts_of_residual(residual)
    return int(number.removeprefix("P"))


def child_id(parent: str, residual: str) -> str:
    """Return the id of the child process for one residual of a parent's plan. The id is the same on every retry.

    Examples for the parent `c-abc`: `plan/2/residual/1` gives `c-abc.2-1`, and `plan/1/hole/P03` gives `c-abc.1-P03`.
    Raises `ValueError` if `residual` is the id of neither a residual nor a hole.
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
    """Return `name` and `parts` joined by slashes: `confirm/1`, `say/2/P03`, `residual/plan/1/hole/P03`."""
    return "/".join([name, *map(str, parts)])


def process_text_id(process_id: str, name: str) -> str:
    """Return the id of a named text of a process. The same name gives the same id, so a retry adds no second text."""
    return str(uuid5(_TEXTS, f"{process_id}/{name}"))


def stem_id(stem: str) -> str:
    """Return a profile id made from a file name without suffix. Characters not permitted in ids become `-`."""
    return _NOT_IN_FILE_ID.sub("-", stem).strip("-.") or "person"


def id_of_text(scene: str, text: str) -> str:
    """Return an id for a profile that has none. The id is a hash of the scene and the text."""
    return f"p-{uuid5(_PROFILES, f'{scene}/{sha256(text.encode()).hexdigest()}').hex[:20]}"


def item_id(round_number: int, alias: str, number: int) -> str:
    """Return the id of an item. Rounds and numbers start at 1."""
    return f"R{round_number}/{alias}/{number}"


def relation_id(round_number: int, number: int) -> str:
    return f"R{round_number}/r{number}"


def note_id(round_number: int, number: int) -> str:
    return f"R{round_number}/n{number}"


def round_of(any_id: str) -> int:
    """Return the round in the id of an item, a relation or a note; 0 for any other id."""
    found = _PARTS.fullmatch(any_id)
    return int(found["round"]) if found else 0


def speaker_of(any_id: str) -> str:
    """Return the alias in the id of an item; empty for any other id."""
    found = _PARTS.fullmatch(any_id)
    return (found["alias"] or "") if found else ""


def in_order(any_id: str) -> tuple[int, str, int]:
    """Return a sort key: round, then speaker or kind of statement, then number."""
    found = _PARTS.fullmatch(any_id)
    if not found:
        return 0, any_id, 0
    return int(found["round"]), found["alias"] or found["kind"], int(found["item"] or found["statement"])


def ordered(a: str, b: str) -> Pair:
    """Return the two aliases, the lower alias first."""
    return (a, b) if a <= b else (b, a)


def all_pairs(aliases: Iterable[str]) -> tuple[Pair, ...]:
    """Return every pair of `aliases` in order, without the demander. n aliases give n(n-1)/2 pairs."""
    return tuple(combinations(sorted(set(aliases) - {DEMANDER}), 2))
