"""Names of persons and firms in a text, without a model: jieba's tags for Chinese, capitalised words for English.

Places are no names here: people who speak of the same place find each other by it. What is found and missed on written texts:
`python -m tests.names` and docs/evaluation.md.
"""

from __future__ import annotations

import re
from typing import Final

from tongyao.llm.extractive.names_chinese import chinese_names
from tongyao.llm.extractive.names_english import english_names
from tongyao.protocol.model.tension import MOST_NAME_CHARS, NameFound

_BETWEEN: Final = re.compile(r"[\s“”\"'‘’]+")
"""What stands between the words of a name."""

MOST_READ: Final = 100_000
"""Characters of a text that are searched."""
MOST_FOUND: Final = 500
"""Names of one text: each is compared with all others. People name a few dozen."""


def names_in_text(text: str) -> tuple[NameFound, ...]:
    """Names of persons and firms, each once, in the order in which they stand in `text`; the first `MOST_FOUND`.

    What is longer than a name may be is a list of names or no name, and is left out.
    """
    found: dict[str, tuple[int, NameFound]] = {}
    read = text[:MOST_READ]
    for start, name, kind in (*chinese_names(read), *english_names(read)):
        if len(name) <= MOST_NAME_CHARS and (name not in found or start < found[name][0]):
            found[name] = (start, NameFound(name=name, kind=kind))
    kept = [one for _, one in sorted(found.values(), key=lambda one: one[0])[:MOST_FOUND]]
    return tuple(one for one in kept if not any(_is_cut_from(one, other) for other in kept))


def _is_cut_from(one: NameFound, other: NameFound) -> bool:
    """Whether `one` is a piece of `other` and no name by itself. A first name of somebody is one: Wilf, of Wilf Arkwright."""
    if one.name == other.name or one.name not in other.name:
        return False
    return not (one.kind == other.kind == "person" and one.name in _BETWEEN.split(other.name))
