"""Where English sentences end. Every rule looks at a few characters around a mark, so that the time grows with the length of the text.

A library that does this with patterns took exponential time for some texts, in which nothing else of the program ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tongyao.llm.extractive.stretches import Stretches

_STOP: Final = re.compile(r"[.!?]{1,200}")
_CLOSING: Final = "”’\"')]»"
_PAIRS: Final = {"“": "”", "(": ")", "[": "]", "«": "»"}
_OPENING: Final = {closing: opening for opening, closing in _PAIRS.items()}
_BEFORE: Final = 16
"""Characters before a full stop in which an abbreviation is looked for."""
_WORD_BEFORE: Final = re.compile(r"(?<![\w.])(?:\w{1,10}\.){0,4}\w{1,10}$")
_LETTERS: Final = re.compile(r"(?:[a-z]\.){1,6}[a-z]", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d{1,2}")
_GOES_ON: Final = re.compile(r"\s{0,8}(?:[a-z0-9(,:;?-]|I(?:['’]\w{1,3})?\s)")
"""What follows an abbreviation inside a sentence."""
_WITH_NUMBER: Final = re.compile(r"\s{1,8}[\d(]")
_CAPITAL: Final = re.compile(r"[”’\"')\]»]{0,4}\s{1,8}[“‘\"'(\[]{0,2}[A-Z]")
_SMALL: Final = re.compile(r",?\s{1,8}[a-z]")
_TITLES: Final = frozenset(
    "mr mrs ms messrs dr prof rev sr sra fr st mt capt cmdr col cpl gen gov hon lt maj sen sens rep reps sgt supt pres adm brig ph fig vs v".split()
)
"""Never the end of a sentence: a name or a number follows."""
_NUMBERED: Final = frozenset("no nos p pp art ext vol ch sec".split())
"""Abbreviations before a number, and words elsewhere."""
_SHORT: Final = frozenset(
    "jan feb mar apr jun jul aug sep sept oct nov dec etc inc ltd co corp bros dept dist est approx appt apt ave blvd rd hwy bldg univ assn "
    "asst jr esq mfg min max hr hrs ft op ed eds cf viz al e.g i.e ph.d a.m p.m u.s u.k e.u".split()
)
_STARTERS: Final = re.compile(
    r"\s{1,8}(?:A|An|As|At|But|Did|For|He|How|However|I|If|In|It|My|Our|She|So|That|The|Then|There|They|This|We|What|When|Where|Who|Why)\s"
)


def ends(text: str) -> Iterator[int]:
    """The places behind the marks that end a sentence of `text`, with the quotation marks and brackets that close behind them."""
    inside = Stretches(_enclosed(text))
    begun = 0
    for stop in _STOP.finditer(text):
        after = stop.end()
        while after < len(text) and after - stop.end() < 4 and text[after] in _CLOSING:
            after += 1
        if after < len(text) and not text[after].isspace():
            continue
        if stop.start() in inside and not (after > stop.end() and after not in inside and _CAPITAL.match(text, after)):
            continue
        if _ends(text, stop, begun):
            yield after
            begun = after


def _ends(text: str, stop: re.Match[str], begun: int) -> bool:
    marks = stop.group()
    if "?" in marks:
        return True
    if "!" in marks:
        return _SMALL.match(text, stop.end()) is None
    if len(marks) > 1:
        return stop.end() == len(text) or _CAPITAL.match(text, stop.end()) is not None
    before = _WORD_BEFORE.search(text, max(begun, stop.start() - _BEFORE), stop.start())
    return before is None or not _is_short(text, before, stop.end(), begun)


def _is_short(text: str, before: re.Match[str], end: int, begun: int) -> bool:
    """Whether the full stop behind a word shortens it or a number, and ends nothing."""
    word = before.group()
    small = word.lower()
    if _NUMBER.fullmatch(word):
        return not text[begun : before.start()].strip() and end < len(text)  # the number of an item in a list
    if small in _TITLES:
        return end < len(text)
    if len(word) == 1 and word.isupper():
        return _STARTERS.match(text, end) is None
    if small in _NUMBERED:
        return _WITH_NUMBER.match(text, end) is not None
    if small in _SHORT or _LETTERS.fullmatch(word):
        return _GOES_ON.match(text, end) is not None
    return False


def _enclosed(text: str) -> Iterator[tuple[int, int]]:
    """Stretches inside brackets and quotation marks: from the last opening mark of a kind to the first closing one behind it."""
    opened: dict[str, int] = {}
    for at, char in enumerate(text):
        if char in _PAIRS:
            if char != "“" or char not in opened:
                opened[char] = at
        elif char in _OPENING:
            begin = opened.pop(_OPENING[char], None)
            if begin is not None:
                yield begin, at
        elif char == '"':
            begin = opened.pop(char, None)
            if begin is None:
                opened[char] = at
            else:
                yield begin, at
        elif char == "'":
            if char not in opened and (at == 0 or text[at - 1].isspace()):
                opened[char] = at
            elif char in opened and not text[at + 1 : at + 2].isalpha():
                yield opened.pop(char), at
