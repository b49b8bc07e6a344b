"""The parts of a profile that its owner marked as private: a proxy may not speak from them (docs/protocol.md §4.4). Pure."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = (
    r"(?:private(?: notes?)?|confidential|not public|not for others|(?:do not|don['’]t) (?:share|tell|publish)(?: this)?"
    r"|私密|私人|私下|隐私|保密|不公开|不对外|不要(?:说|讲)出去|别(?:说|讲)出去|仅自己可见)"
)
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(.{0,80})$", re.M)
_IS_PRIVATE: Final = re.compile(rf"[\W_]*{_WORDS}[\W_]*", re.IGNORECASE)
_LABEL: Final = re.compile(rf"^[ \t]*(?:[-*][ \t]+)?[\[(（【]?{_WORDS}[\])）】]?[ \t]*[:：]", re.IGNORECASE | re.M)
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*][ \t]|#))")


def private_sections(text: str) -> tuple[tuple[int, int], ...]:
    """Spans of `text`: below a heading that says nothing but that it is private, to the next heading of its level; and a paragraph
    or an item of a list that begins with such words and a colon. Takes time linear in the length of `text`.
    """
    found, level, begin = [], 0, 0
    for heading in _HEADING.finditer(text):
        if level and len(heading[1]) <= level:
            found.append((begin, heading.start()))
            level = 0
        if not level and _IS_PRIVATE.fullmatch(heading[2]):
            level, begin = len(heading[1]), heading.start()
    if level:
        found.append((begin, len(text)))
    for label in _LABEL.finditer(text):
        end = _PARAGRAPH_END.search(text, label.end())
        found.append((label.start(), end.start() if end else len(text)))
    return tuple(found)
