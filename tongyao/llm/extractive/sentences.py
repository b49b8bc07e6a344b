"""Cuts a text into sentences. Each is a verbatim part of the text."""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.model.sizes import units

SHORTEST: Final = 4
"""A stretch with fewer units than this is a label or a heading, not a sentence."""

LONGEST: Final = 400
"""A sentence without an end is cut after this many characters."""

_END: Final = re.compile(r"[。！？!?]+[”’」』）)\"]*|(?<=\w\w|\s\d)\.+[”’)\"]*(?=\s|$)|\n")
_MARKS: Final = re.compile(r"^(?:[\s>#*•·・-]|\d{1,3}[.)、]\s)+")


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without list marks. Headings and labels are left out.

    A full stop ends a sentence if it follows a number or a word of at least two letters and precedes white space. "e.g.
    this" may be cut, which does no harm here. The time is linear in the length of `text`.
    """
    found: list[str] = []
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        for at in range(start, end, LONGEST):
            stretch = text[at : min(at + LONGEST, end)]
            sentence = _MARKS.sub("", stretch).strip()
            if units(sentence) >= SHORTEST and not stretch.lstrip().startswith("#"):
                found.append(sentence)
        start = end
    return found
