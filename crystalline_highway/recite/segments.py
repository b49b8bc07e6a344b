"""Base units and levels: cuts a text before it is recited.

A base unit is the smallest piece of text that a query can match. In scripts without spaces (Han, kana, Hangul, Thai …)
it is one character. Elsewhere it is one word or number, or one symbol (emoji). Punctuation is never a unit. It
separates units, and its strength decides the level at which a segment ends.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from crystalline_highway.compiled import compiled
from crystalline_highway.recite.stop_words import FAINT_WORDS, FUNCTION_WORDS


class Level(IntEnum):
    """The level at which a unit was recited (seed 004, level label); BASE is below all levels."""

    BASE = 0
    PHRASE = 1
    SHORT = 2
    LONG = 3
    PARAGRAPH = 4
    TEXT = 5


CAPS = {Level.PHRASE: 32, Level.SHORT: 96, Level.LONG: 384, Level.PARAGRAPH: 2048}
"""Maximum number of base units in a segment, by level. Text without punctuation is cut at this length."""

WORD_LIMIT = 48
"""Maximum number of characters in a word. A longer run of letters becomes several base units."""

# Scripts without spaces: each character is a base unit.
_UNSPACED = (
    "\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_SYMBOLS = "\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_TOKEN = re.compile(
    rf"[{_UNSPACED}]"
    rf"|\d+(?:[.,]\d+)*"
    rf"|(?:(?![{_UNSPACED}\d])\w){{1,{WORD_LIMIT}}}(?:['’](?:(?![{_UNSPACED}\d])\w){{1,3}}\b)?"
    rf"|[{_SYMBOLS}]"
)
_POSSESSIVE = re.compile(r"['’]s?\Z")
_CHARACTER = re.compile(rf"[{_UNSPACED}]\Z")
_LATIN = re.compile(r"[a-z]+(?:['’][a-z]{1,3})?\Z")

_LONG_END = "。！？!?；;…‼⁇⁈⁉।؟"
_SHORT_END = "，,：:—–()（）[]【】"
_CLOSERS = "”’\"')）]】》」』〉"
_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "sr",
        "jr",
        "vs",
        "etc",
        "eg",
        "ie",
        "no",
        "fig",
        "inc",
        "ltd",
        "co",
    ]
)

P1, P2 = 2147483647, 2147483629  # the two largest primes below 2**31, so that products stay within 62 bits
B1, B2 = 1000003, 998244353


def stem(word: str) -> str:
    """Fold an English plural into its singular (the S stemmer, Harman 1991, JASIS 42(1))."""
    word = _POSSESSIVE.sub("", word)
    if len(word) > 3 and word.endswith("s"):
        if word.endswith("ies") and not word.endswith(("eies", "aies")):
            return word[:-3] + "y"
        if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
            return word[:-1]
        if not word.endswith(("us", "ss")):
            return word[:-1]
    return word


def normal(token: str) -> str:
    """The normal form of a base unit: compatibility-folded, lower case, singular."""
    folded = token.lower() if token.isascii() else unicodedata.normalize("NFKC", token).lower()
    return stem(folded) if _LATIN.match(folded) else folded


_FUNCTION, _FAINT = (frozenset(normal(word) for word in words) for words in (FUNCTION_WORDS, FAINT_WORDS))


def surface_key(token: str) -> int:
    """A 62-bit key of a base unit: two joined residues. It is the same for every owner, text and version."""
    digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    first = int.from_bytes(digest[:8], "little") % (P1 - 1) + 1
    second = int.from_bytes(digest[8:], "little") % (P2 - 1) + 1
    return first << 31 | second


@dataclass(frozen=True)
class Layout:
    """Texts as base units. Offsets count characters (code points).

    `symbols` int32[N]: index into `keys` (int64[V], one per distinct base unit). `words` bool[V]: false if the base
    unit is a character of a script without spaces. `faint` bool[V]: a stop word (`stop_words`). `starts`, `ends`
    int32[N]. `breaks` uint8[N]: level of the boundary before each base unit (0: no boundary; the first is TEXT).
    `splits` int32[N+1]: position at which the text is cut at that boundary (the last: the text's end).
    """

    symbols: NDArray[np.int32]
    keys: NDArray[np.int64]
    words: NDArray[np.bool_]
    faint: NDArray[np.bool_]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    breaks: NDArray[np.uint8]
    splits: NDArray[np.int32]

    def bounds(self, level: Level) -> NDArray[np.int64]:
        """The first base unit of every segment of a level, and N at the end."""
        return np.append(np.flatnonzero(self.breaks >= level), len(self.symbols)).astype(np.int64)

    def spans(self, level: Level) -> NDArray[np.int32]:
        """The span (start, end) of every segment of a level in the text, including punctuation: int32[S, 2]."""
        edges = self.splits[self.bounds(level)]
        return np.stack([edges[:-1], edges[1:]], axis=1) if len(edges) > 1 else np.zeros((0, 2), np.int32)


def _gap(gap: str, before: str) -> tuple[int, int]:
    """The level of the boundary between two base units, and the position in the gap at which the text is cut."""
    level, cut = 0, 0
    for i, char in enumerate(gap):
        if char in "\n\r\x0b\x0c\x85\u2028\u2029":
            here = Level.PARAGRAPH
        elif char in _LONG_END:
            here = Level.LONG
        elif char == ".":
            ends = i + 1 == len(gap) or gap[i + 1].isspace() or gap[i + 1] in _CLOSERS
            short = before.lower() in _ABBREVIATIONS or (len(before) == 1 and before.isalpha())
            here = Level.LONG if ends and len(gap) > 1 and not short else Level.BASE
        elif char in _SHORT_END:
            here = Level.SHORT
        elif char.isspace() or char in "-'’·.&+_@#%/\\":
            here = Level.BASE
        else:
            here = Level.PHRASE
        if here > level or (here == level and here > 0):
            level, cut = int(here), i + 1
        elif level and char in _CLOSERS and cut == i:
            cut = i + 1
    # an opening mark belongs to the text after it
    while cut and gap[cut - 1] in "(（[【“‘《「『〈":
        cut -= 1
    return level, cut


def lay_out(texts: Sequence[str]) -> Layout:
    """Cut `texts` into base units and boundaries. Offsets refer to the texts joined by newlines.

    The time is linear in the texts. Any string is accepted. An empty string has no base units and therefore no
    segments.
    """
    text = "\n".join(texts)
    vocabulary: dict[str, int] = {}
    known: dict[str, int] = {}
    function: list[bool] = []
    gaps: dict[tuple[str, str], tuple[int, int]] = {}
    symbols: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    breaks: list[int] = []
    splits: list[int] = []
    end, raw, particle = 0, "", False
    for match in _TOKEN.finditer(text):
        start = match.start()
        token = match.group()
        symbol = known.get(token, -1)
        if symbol < 0:
            form = normal(token) or token
            symbol = known[token] = vocabulary.setdefault(form, len(vocabulary))
            if symbol == len(function):
                function.append(form in _FUNCTION)
        level, cut = 0, 0
        if start > end:
            gap = text[end:start]
            if len(gap) > 64:
                # of a long run of punctuation or space, only the first and last characters are examined
                gap_level, gap_cut = _gap(gap[:32] + gap[-32:], raw)
                level, cut = (int(Level.PARAGRAPH) if "\n" in gap else gap_level), min(gap_cut, 32)
            else:
                found = gaps.get((gap, raw if "." in gap else ""))
                if found is None:
                    found = gaps[gap, raw if "." in gap else ""] = _gap(gap, raw)
                level, cut = found
        if function[symbol] is not particle and not level:
            level, cut = int(Level.PHRASE), start - end
        particle = function[symbol]
        symbols.append(symbol)
        starts.append(start)
        breaks.append(level)
        splits.append(end + cut if level else start)
        end, raw = match.end(), token
        ends.append(end)
    cuts = np.array(breaks, dtype=np.uint8)
    offset = 0
    for part in texts:
        first = bisect_left(starts, offset)
        if first < len(starts):
            cuts[first], splits[first] = Level.TEXT, offset
        offset += len(part) + 1
    _cap(cuts, np.array([0, *(CAPS[Level(i)] for i in range(1, 5))], dtype=np.int64))
    return Layout(
        symbols=np.array(symbols, dtype=np.int32),
        keys=np.array([surface_key(form) for form in vocabulary], dtype=np.int64),
        words=np.array([_CHARACTER.match(form) is None for form in vocabulary], dtype=np.bool_),
        faint=np.array([form in _FAINT for form in vocabulary], dtype=np.bool_),
        starts=np.array(starts, dtype=np.int32),
        ends=np.array(ends, dtype=np.int32),
        breaks=cuts,
        splits=np.array([*splits, len(text)], dtype=np.int32),
    )


@compiled
def _cap(breaks: NDArray[np.uint8], caps: NDArray[np.int64]) -> None:
    """Cut every segment that is longer than its level allows, starting with the highest level."""
    for level in range(4, 0, -1):
        since = 0
        for i in range(breaks.size):
            if breaks[i] >= level:
                since = 0
            elif since >= caps[level]:
                breaks[i] = level
                since = 0
            since += 1
