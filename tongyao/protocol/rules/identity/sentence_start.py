"""Whether a place in a text is the beginning of a sentence, a list item, a heading or a quotation, where every word has a capital. Pure."""

from __future__ import annotations

import re
from typing import Final

_READ_BACK: Final = 16
"""Characters before the place that are looked at."""
_OPENING: Final = r"[ \t“”\"‘(\[*_#>|·•–—-]{0,16}"
_START: Final = re.compile(
    rf"(?:[.!?…:。！？：；;][’”\"')\]*_]{{0,16}}\s{{0,16}}|\n[ \t]{{0,16}}\n\s{{0,16}}|\n[ \t]{{0,16}}(?=[*#>|·•–—-])){_OPENING}$"
)
_QUOTED: Final = re.compile(r"[“\"‘(\[|·•]\s{0,16}[*_]{0,16}$")
_TEXT_START: Final = re.compile(rf"\A\s{{0,16}}{_OPENING}$")
_ABBREVIATION: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Rev|St|[A-Z])\.\s$")


def begins_sentence(text: str, at: int) -> bool:
    """Whether the word at `at` begins a sentence of `text`. A line break inside a sentence is no beginning."""
    before = text[max(0, at - _READ_BACK) : at]
    if at <= _READ_BACK and _TEXT_START.fullmatch(before):
        return True
    if _ABBREVIATION.search(before):
        return False
    return _START.search(before) is not None or _QUOTED.search(before) is not None
