"""Lengths of texts in the units of the protocol (docs/protocol.md §9)."""

from __future__ import annotations

import re
from typing import Final

from tongyao.texts.catalogue import Language

WHOLE_PROFILE_CHARS: Final = 50_000
"""A proxy reads a profile of at most this length completely. It reads pieces of a longer profile (docs/protocol.md
§4.6)."""

_UNIT_CHARS: Final = 20
_LEAST_CHARS: Final = 400
_QUOTES: Final = {"“": "”", "「": "」", "『": "』", "《": "》"}

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_CJK_MARKS = r"\u3000-\u303f\uff00-\uffef"
_WORD = rf"[^\W_{_CJK}]++"
_UNIT = re.compile(rf"[{_CJK}]|{_WORD}(?:(?:(?![\s{_CJK_MARKS}])[\W_])++{_WORD})*+")
"""Only spaces and Chinese punctuation separate words. Other signs between letters or digits are part of a word."""

_CJK_CHAR = re.compile(rf"[{_CJK}]")


def units(text: str) -> int:
    """Return the length of `text` in units: each CJK character and each word of another writing system is one unit.

    Words are separated by spaces, CJK characters and Chinese punctuation. A word contains a letter or a digit: `9:30`,
    `€400` and `sixty-litre` are one word each.
    """
    return sum(1 for _ in _UNIT.finditer(text))


def cut(text: str, limit: int) -> str:
    """Return the longest prefix of `text` with at most `limit` units, in whole characters and words.

    The prefix also has at most `limit * _UNIT_CHARS` characters (but at least `_LEAST_CHARS` are permitted), because a
    word or a run of signs may be very long.
    """
    text = text[: max(_LEAST_CHARS, limit * _UNIT_CHARS)]
    end = 0
    for count, match in enumerate(_UNIT.finditer(text)):
        if count == limit:
            return text[:end].rstrip()
        end = match.end()
    return text


def quotes_closed(beginning: str) -> str:
    """Return `beginning`, the cut-off beginning of a text, with closing marks for quotations that are still open."""
    ends = list[str]()
    for sign in beginning:
        if sign in _QUOTES:
            ends.append(_QUOTES[sign])
        elif ends and sign == ends[-1]:
            ends.pop()
    return beginning + "".join(reversed(ends))


def shortened(text: str, limit: int) -> str:
    """Return `text` on one line. A text of more than `limit` units is cut after a whole word and ends in an
    ellipsis."""
    line = " ".join(text.split())
    short = cut(line, limit)
    return line if short == line else f"{short.rstrip(' ,.;:，、；：。')}…"


def language_of(text: str) -> Language:
    """Return `zh` if CJK characters are more than a fifth of the units of `text`, else `en`."""
    total = units(text)
    return "zh" if total and len(_CJK_CHAR.findall(text)) > total / 5 else "en"
