"""Ids, aliases and targets as engines write them, read as what they can only mean (docs/protocol.md §4.4). Pure.

`[R1/P02/3]`, `r1/p02/3.` and one of the two in `R1/P02/3, R1/P01/1` name the same item; `T/B1`, `b1` and `B1 (no pier)` the same
barrier. What the record does not have is still nothing.
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
    """The ids of `known` that `said` names, each once, in order. A text that says more than ids names none."""
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
    """The parts of the tension that `said` names, each once. A text that says more than names names none."""
    named = (
        match.group(1).upper()
        for text in said
        if _TARGETS.fullmatch(text.strip())
        for match in _TARGET.finditer(_REMARK.sub("", text))
    )
    return tuple(dict.fromkeys(name for name in named if name in known))


def named_alias(said: str) -> str:
    """`p01`, `P01 (the potter)` → `P01`; what begins with no alias stays as it is."""
    match = _ALIAS.match(said)
    return match.group(1).upper() if match else said.strip()


def _as_written(found: str) -> str:
    """Upper case but for the letter of a relation or a note: `r2/N5` is `R2/n5`."""
    return _STATEMENT.sub(lambda kind: kind[0].lower(), found.upper())
