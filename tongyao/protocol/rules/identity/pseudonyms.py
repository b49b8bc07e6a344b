"""One number for one name in all texts of a process, so that people who speak of the same person still meet (docs/protocol.md §6.3). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from tongyao.protocol.model.tension import MOST_NAMES, NameFound, NumberedName, Tension, TensionDraft
from tongyao.protocol.rules.identity.names import Form, forms_of, problem_with

MARKED: Final = re.compile(r"\[(?:person|firm|某人|某单位) (\d+)\]")
"""What a text has in the place of a numbered name."""

_WORDS: Final = {"person": ("person", "某人"), "firm": ("firm", "某单位")}


def mark(number: int, kind: Literal["person", "firm"], *, chinese: bool) -> str:
    """`[person 3]`, `[某单位 3]`."""
    return f"[{_WORDS[kind][chinese]} {number}]"


def numbered(
    names: Iterable[NameFound], known: Sequence[NumberedName] = (), *, after: int = 0
) -> tuple[NumberedName, ...]:
    """`names` with their numbers: that of a known name which is the same or has it as a part, else the next after all others.

    `after`: numbers up to it are taken already, by marks that stand in a text.
    """
    told = {one: _Written.of(one) for one in known}
    highest = max((after, *(one.number for one in known)))
    new: list[NumberedName] = []
    for found in names:
        written = _Written.of(found)
        same = next((one for one, its in told.items() if _same(one, its, found, written)), None)
        number = same.number if same else highest + 1
        highest = max(highest, number)
        one = NumberedName(number=number, name=found.name, kind=same.kind if same else found.kind)
        if one not in told:
            told[one] = written
            new.append(one)
    return tuple(new)


class _Written(NamedTuple):
    """The forms of a name: the whole alone, and with those of its parts. They are made once for each name, and compared for each two."""

    whole: frozenset[Form]
    parts: frozenset[Form]

    @classmethod
    def of(cls, one: NameFound) -> _Written:
        return cls(frozenset(forms_of(one.name, alone=False)), frozenset(forms_of(one.name)))


def _same(known: NumberedName, written: _Written, found: NameFound, found_written: _Written) -> bool:
    if known.name == found.name:
        return True
    if known.kind == found.kind == "person":
        return not (found_written.whole.isdisjoint(written.parts) and written.whole.isdisjoint(found_written.parts))
    return not found_written.whole.isdisjoint(written.whole)


def marks_in(tension: Tension) -> int:
    """The highest number of a mark that stands in a tension: a child's was written by a model that read marks."""
    text = "\n".join((tension.transition, tension.initial_state, *tension.barriers, tension.exchange))
    return max((int(found.group(1)[:6]) for found in MARKED.finditer(text)), default=0)


def names_of(draft: TensionDraft, texts: Iterable[str]) -> tuple[NameFound, ...]:
    """The names of a draft that stand in the intent, the profile or the draft itself, without what may not be a name."""
    there = "\n".join((draft.transition, draft.initial_state, *draft.barriers, draft.exchange, *texts))
    found: dict[str, NameFound] = {}
    for one in draft.names:
        name = one.name.strip()
        if name and name in there and not problem_with(name) and not MARKED.search(name):
            kind: Literal["person", "firm"] = "firm" if one.kind.strip().casefold() == "firm" else "person"
            found.setdefault(name, NameFound(name=name, kind=kind))
    return tuple(found.values())[:MOST_NAMES]
