"""Proposes which words of a text are names of persons, for its author to confirm (docs/protocol.md §6.3). Pure.

It reads only the text. It has no dictionary and does not know who is in the room.
"""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.identity.chinese_names import chinese_names
from tongyao.protocol.identity.english_names import english_names
from tongyao.protocol.identity.marks import HIDDEN, MARKED
from tongyao.protocol.identity.names import problem_with
from tongyao.protocol.model.tension import MOST_NAME_CHARS, NameFound

MOST_READ: Final = 100_000  # characters of a text
MOST_FOUND: Final = 200
_MARK: Final = re.compile(rf"{MARKED.pattern}|\[[^\]\n]{{1,30}}\]")


def proposed_names(text: str) -> tuple[NameFound, ...]:
    """Return the first `MOST_FOUND` expressions that look like names of persons, each once, in the order of `text`."""
    read = _MARK.sub(lambda mark: " " * len(mark.group()), text[:MOST_READ])
    found: dict[str, int] = {}
    for start, name in (*chinese_names(read), *english_names(read)):
        if len(name) <= MOST_NAME_CHARS and not problem_with(name):
            found[name] = min(start, found.get(name, start))
    return tuple(NameFound(name=name) for name in sorted(found, key=lambda name: found[name])[:MOST_FOUND])


def without_proposed(text: str) -> str:
    """Return `text` with its `proposed_names` replaced by `[…]`, for cases in which nobody can confirm the names."""
    names = sorted((name.name for name in proposed_names(text)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names))).sub(HIDDEN, text) if names else text
