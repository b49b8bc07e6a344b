"""Proposes capitalised words of an English text as names of persons, unless a word list or a neighbouring word shows that
they are a place, a firm or ordinary words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tongyao.protocol.identity.words import (
    ALSO_NAMES,
    ENGLISH,
    GIVEN,
    LANGUAGES,
    PLACE_WORDS,
    PLACES,
    ROLE_WORDS,
    TIMES,
)

_WORD: Final = r"(?:[A-Z]['’])?[A-ZÀ-ÞĀ-ɏ][a-zà-ɏ]{1,30}(?:[A-Z][a-z]{1,30})?(?:-[A-ZÀ-ÞĀ-ɏ][a-zà-ɏ]{1,30}){0,4}"
_RUN: Final = re.compile(
    rf"(?<![A-Za-z0-9'’-])(?:(?:Mr|Mrs|Ms|Dr|Prof|Rev|Fr|Capt|Sgt|St)\. )?(?:(?:[A-Z]\.\s?){{1,3}})?{_WORD}"
    rf"(?: (?:(?:de|van|von|der|da|di|la|le|del|bin|ibn) |[A-Z]\. |& |and (?=Sons?\b|Daughters?\b)){{0,2}}{_WORD})*"
)
_LOWER: Final = re.compile(r"(?<![A-Za-z@.])[a-zà-ɏ]{3,}+(?![\w.]{0,40}@)")
"""A word in small letters, but no part of a mail address: kim@example.org does not make Kim an ordinary word."""
_PLACE_BEFORE: Final = re.compile(
    r"\b(?i:in|at|near|from|of|around|above|below|outside|towards|through|across|via|into|over|on|off|upon|between|river)\s"
    r"(?:[A-Z][\w'’-]{1,30}(?:,|,? and|,? or) ){0,3}$"
)
"""A preposition of places, and the first places of a list: "in Morpeth, Alnwick and"."""
_ARTICLE: Final = re.compile(r"\b(?:the|a|an|this|that|my|our|their|your|his|her|[\w’']{1,30}['’]s)\s$", re.IGNORECASE)
_ACTS: Final = re.compile(
    r"['’]s\b| (?:who|said|told|taught|gave|made|came|and (?:I|me|my|her|his)|[a-z]{3,}(?:ed|[^s]s))\b"
)
"""What follows a person at the beginning of a sentence: Mwangi brings, Mwangi and I."""

_READ_BACK: Final = 16
"""Characters that are read before a position."""
_OPENING: Final = r"[ \t“”\"‘(\[*_#>|·•–—-]{0,16}"
_START: Final = re.compile(
    rf"(?:[.!?…:。！？：；;][’”\"')\]*_]{{0,16}}\s{{0,16}}|\n[ \t]{{0,16}}\n\s{{0,16}}|\n[ \t]{{0,16}}(?=[*#>|·•–—-])){_OPENING}$"
)
_QUOTED: Final = re.compile(r"[“\"‘(\[|·•]\s{0,16}[*_]{0,16}$")
_TEXT_START: Final = re.compile(rf"\A\s{{0,16}}{_OPENING}$")
_ABBREVIATION: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Rev|St|[A-Z])\.\s$")

TITLE: Final = re.compile(
    r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Father|Fr|Sister|Brother|Pastor|Captain|Capt|Uncle|Aunt|Auntie|Aunty|Granny|Grandpa|Nan|Sir|Lady|Lord|Dame|Rev|Reverend|"
    r"Judge|Sheriff|Sergeant|Sgt|Major|Colonel|Constable|Nurse|Matron|Imam|Rabbi|Canon|Deacon|Coach|Chef)\.?$"
)
_NEVER: Final = LANGUAGES | TIMES | ROLE_WORDS | (PLACES - GIVEN) | (ENGLISH - ALSO_NAMES)
_SURE: Final = GIVEN - ALSO_NAMES - PLACES - _NEVER
"""Given names with no other meaning. In a text without capitals, only these are proposed."""


def begins_sentence(text: str, at: int) -> bool:
    """Whether the word at `at` begins a sentence of `text`. A line break does not begin a sentence."""
    before = text[max(0, at - _READ_BACK) : at]
    if at <= _READ_BACK and _TEXT_START.fullmatch(before):
        return True
    if _ABBREVIATION.search(before):
        return False
    return _START.search(before) is not None or _QUOTED.search(before) is not None


def english_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield each proposed name with its start, possibly several times."""
    if not any(char.isupper() for char in text):
        yield from ((one.start(), one.group()) for one in _LOWER.finditer(text) if one.group() in _SURE)
        return
    lower = set(_LOWER.findall(text))
    ordinary = (_NEVER | lower) - ALSO_NAMES
    for run in _RUN.finditer(text):
        start, words, begins = run.start(), run.group().split(" "), begins_sentence(text, run.start())
        while len(words) > 1 and _drops_first(words, begins, ordinary):
            start, words, begins = start + len(words[0]) + 1, words[1:], False
        if _is_name(words, begins, text[max(0, start - 80) : start], text[run.end() : run.end() + 30], lower):
            yield start, " ".join(words)


def _drops_first(words: list[str], begins: bool, ordinary: frozenset[str]) -> bool:
    """Whether the first word stands before the name: Ask Jarek, Last April, Old Mrs Lowe."""
    first, second = words[0].lower(), words[1].lower()
    if first in GIVEN or first in ALSO_NAMES or TITLE.fullmatch(words[0]):
        return False
    return TITLE.fullmatch(words[1]) is not None or (first in ordinary and (begins or second in GIVEN))


def _is_name(words: list[str], begins: bool, before: str, after: str, lower: set[str]) -> bool:
    small = [word.lower() for word in words]
    first, last, several = small[0], small[-1], len(words) > 1
    known = set(small) - ALSO_NAMES if several else {first}
    acts = _ACTS.match(after) is not None
    if several:
        surname = last in ALSO_NAMES and (first in GIVEN or acts)
        if "&" in words or first in ("st", "st.") or (last in PLACE_WORDS and not surname):
            return False
        if first in GIVEN or TITLE.fullmatch(words[0]):
            return True
    if first in _SURE:
        return not (begins and first in lower)
    if not several and first in TIMES & ALSO_NAMES:
        return acts and not begins  # June told, but not: since June
    if first in lower or TITLE.fullmatch(words[0]) or _PLACE_BEFORE.search(before) or not _NEVER.isdisjoint(known):
        return False
    if _ARTICLE.search(before):  # the Hendersons: a family
        return not several and first.endswith("s") and before.lower().endswith("the ")
    if several:
        return not any(sign in before + after for sign in "|·｜")  # labels
    if first in ALSO_NAMES:
        return not begins
    return not first.endswith(("s", "ing", "er", "or")) and (acts or not begins)
