"""Reads ids, aliases and lines in the various forms in which engines write them (docs/protocol.md §4.4). Pure.

`[R1/P02/3]`, `r1/p02/3.` and the first id of `R1/P02/3, R1/P01/1` name the same item. `T/B1`, `b1` and `B1 (no pier)`
name the same barrier. An id that the record does not have names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from tongyao.protocol.model.ids import ANY_ID

_ONE_ID: Final = re.compile(rf"(?<![\w/-])(?:(?P<child>[\w-]+)/)?(?P<id>{ANY_ID})(?!\d)", re.IGNORECASE)
_BETWEEN_IDS: Final = re.compile(r"[\s\[\](`⟨)⟩.:,，、;；+&]*")
_PART: Final = r"(?:T/)?(?:T|I|E|B\d+)(?: ?[(（][^()（）]{0,80}[)）])?"
_TARGETS: Final = re.compile(rf"[\[`]?{_PART}(?:\s*[,，、;；]\s*{_PART})*[\]`]?", re.IGNORECASE)
_REMARK: Final = re.compile(r"[(（][^()（）]{0,80}[)）]")
_TARGET: Final = re.compile(r"(?<![A-Za-z0-9])(?:T/)?(T|I|E|B\d+)(?![A-Za-z0-9/])", re.IGNORECASE)
_STATEMENT: Final = re.compile(r"(?<=/)[RN](?=\d)")
_ALIAS: Final = re.compile(r"^\W*(P\d{2,})(?!\d)", re.IGNORECASE)


def named_ids(said: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the ids of `known` that `said` names, each once, in order. A text with other words than ids names none."""
    found: dict[str, None] = {}
    for text in said:
        if (bare := text.strip()) in known:
            found[bare] = None
            continue
        if not _BETWEEN_IDS.fullmatch(_ONE_ID.sub("", bare)):
            continue
        for match in _ONE_ID.finditer(bare):
            plain = _as_written(match.group("id"))
            for id in (f"{match.group('child')}/{plain}", plain):
                if id in known:
                    found[id] = None
                    break
    return tuple(found)


def named_targets(said: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the lines of the tension that `said` names, each once. A text with other words names none."""
    named = (
        match.group(1).upper()
        for text in said
        if _TARGETS.fullmatch(text.strip())
        for match in _TARGET.finditer(_REMARK.sub("", text))
    )
    return tuple(dict.fromkeys(name for name in named if name in known))


def named_alias(said: str) -> str:
    """Return the alias: `p01` and `P01 (the potter)` → `P01`. A text that begins with no alias is returned stripped."""
    match = _ALIAS.match(said)
    return match.group(1).upper() if match else said.strip()


def _as_written(found: str) -> str:
    """Return the id in upper case, except for the letter of a relation or note: `r2/N5` → `R2/n5`."""
    return _STATEMENT.sub(lambda kind: kind[0].lower(), found.upper())
