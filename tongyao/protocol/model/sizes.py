"""Lengths of texts in the units of the protocol (docs/protocol.md §9)."""

from __future__ import annotations

import re
from typing import Final

WHOLE_PROFILE_CHARS: Final = 50_000
"""Up to here an endpoint reads the whole profile; above, what was retrieved for this tension (docs/protocol.md §4.6)."""

_UNIT_CHARS: Final = 20
_LEAST_CHARS: Final = 400
_QUOTES: Final = {"“": "”", "「": "」", "『": "』", "《": "》"}

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_CJK_MARKS = r"\u3000-\u303f\uff00-\uffef"
_WORD = rf"[^\W_{_CJK}]++"
_UNIT = re.compile(rf"[{_CJK}]|{_WORD}(?:(?:(?![\s{_CJK_MARKS}])[\W_])++{_WORD})*+")
"""Signs between letters or digits part nothing, unless they are spaces or Chinese punctuation."""

_CJK_CHAR = re.compile(rf"[{_CJK}]")


def units(text: str) -> int:
    """The length of `text` in units: one for each CJK character, and one for each word of any other script.

    A word is what stands between two spaces and has a letter or a digit: `9:30`, `€400` and `sixty-litre` are one each.
    CJK characters and Chinese punctuation part words as spaces do.
    """
    return sum(1 for _ in _UNIT.finditer(text))


def cut(text: str, limit: int) -> str:
    """The longest prefix of `text` with at most `limit` units, whole characters and words only.

    It has at most `_UNIT_CHARS` characters for each unit, and at least `_LEAST_CHARS` may remain: a word, or a row of signs, may be of any length.
    """
    text = text[: max(_LEAST_CHARS, limit * _UNIT_CHARS)]
    end = 0
    for count, match in enumerate(_UNIT.finditer(text)):
        if count == limit:
            return text[:end].rstrip()
        end = match.end()
    return text


def quotes_closed(beginning: str) -> str:
    """The beginning of a text, with the end of each quotation that begins in it."""
    ends = list[str]()
    for sign in beginning:
        if sign in _QUOTES:
            ends.append(_QUOTES[sign])
        elif ends and sign == ends[-1]:
            ends.pop()
    return beginning + "".join(reversed(ends))


def shortened(text: str, limit: int) -> str:
    """`text` on one line; where it has more than `limit` units, its beginning in whole words, with a mark that more follows."""
    line = " ".join(text.split())
    short = cut(line, limit)
    return line if short == line else f"{short.rstrip(' ,.;:，、；：。')}…"


def language_of(text: str) -> str:
    """`zh` when CJK characters make up more than a fifth of the units of `text`, else `en`."""
    total = units(text)
    return "zh" if total and len(_CJK_CHAR.findall(text)) > total / 5 else "en"
