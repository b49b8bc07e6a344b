"""Whole numbers that a text writes in words: `two hundred and twelve`, `二百一十二`. Pure."""

from __future__ import annotations

import re
from typing import Final

_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUE: Final = {word: at for at, word in enumerate(_SMALL)} | {word: 20 + 10 * at for at, word in enumerate(_TENS)}
_SCALE: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_WORD: Final = "|".join((*_VALUE, *_SCALE, "dozen"))
_ENGLISH: Final = re.compile(rf"\b(?:{_WORD})(?:(?: and |[ -])(?:{_WORD})){{0,9}}\b", re.I)
_BETWEEN: Final = re.compile(r" and |[ -]")
_CHINESE: Final = re.compile(r"[零〇一二两三四五六七八九十百千万]{1,15}")
_DIGIT: Final = {sign: at for at, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNIT: Final = {"十": 10, "百": 100, "千": 1_000}


def spelled_numbers(text: str) -> frozenset[str]:
    """Each in digits."""
    english = (_read(_BETWEEN.split(found.group().casefold())) for found in _ENGLISH.finditer(text))
    chinese = (_read_chinese(found.group()) for found in _CHINESE.finditer(text))
    return frozenset(str(word) for word in (*english, *chinese))


def _read(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word == "dozen":
            current = max(current, 1) * 12
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in _SCALE:
            total, current = total + max(current, 1) * _SCALE[word], 0
        else:
            current += _VALUE[word]
    return total + current


def _read_chinese(signs: str) -> int:
    """二百一十二; a run of digits alone, such as 二〇二六, is read sign by sign."""
    if len(signs) > 1 and all(sign in _DIGIT for sign in signs):
        return int("".join(str(_DIGIT[sign]) for sign in signs))
    total = section = digit = 0
    for sign in signs:
        if sign in _DIGIT:
            digit = _DIGIT[sign]
        elif sign == "万":
            total, section, digit = total + (section + digit or 1) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * _UNIT[sign], 0
    return total + section + digit
