"""A text as sentences, each a verbatim stretch of it."""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.model.sizes import units

SHORTEST: Final = 4
"""Units below which a stretch is a label or a heading rather than a sentence."""

LONGEST: Final = 400
"""Characters after which a sentence without an end is cut."""

_END: Final = re.compile(r"[。！？!?]+[”’」』）)\"]*|(?<=\w\w|\s\d)\.+[”’)\"]*(?=\s|$)|\n")
_MARKS: Final = re.compile(r"^(?:[\s>#*•·・-]|\d{1,3}[.)、]\s)+")


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without list marks before them. Headings and labels are left out.

    A full stop ends a sentence after a number or a word of two letters and before white space: "e.g. this" may be cut, which costs nothing here.
    Time is linear in the length of `text`.
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
