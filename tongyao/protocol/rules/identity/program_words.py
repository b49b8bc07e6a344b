"""The sentences that the program writes around people's words. Erasing somebody counts none of their words as that person's (docs/erasure.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tongyao.protocol.documents import delivery_page, footnotes
from tongyao.protocol.guards import fallback
from tongyao.protocol.rules.plans import holes

_PLACE: Final = re.compile(r"\{\w*\}")


def strings_in(value: object) -> Iterable[str]:
    """Every string in nested mappings and lists; of mappings the values alone."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [string for one in inner for string in strings_in(one)]


def program_sentences(*tables: object) -> tuple[str, ...]:
    """The texts of tables of wordings, without the places that people's words are put into."""
    return tuple(_PLACE.sub("\n", text) for text in strings_in(tables))


OF_DOCUMENTS: Final = program_sentences(
    delivery_page.WORDS, footnotes.SAYS, footnotes.LABELS, fallback.SAYS, holes.WORDS
)
"""Of plans and deliveries, whoever wrote their claims."""
