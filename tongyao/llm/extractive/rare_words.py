"""Finds words that few sentences contain. They are used to choose sentences and to compare them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

_CJK: Final = r"\u3400-\u9fff"
_TOKEN: Final = re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}]{{5,40}}")
_LEAST: Final = 2
"""The length of a Chinese word, in characters: every two adjacent characters count as a word."""


def words(text: str) -> frozenset[str]:
    """English words of at least five letters, in lower case, and every two adjacent Chinese characters."""
    found: set[str] = set()
    for match in _TOKEN.finditer(text):
        token = match.group().lower()
        if "\u3400" <= token[0] <= "\u9fff":
            found |= {token[at : at + _LEAST] for at in range(len(token) - 1)}
        else:
            found.add(token)
    return frozenset(found)


def frequencies(texts: Iterable[str]) -> Counter[str]:
    """Return for each word the number of `texts` that contain it."""
    return Counter(word for text in texts for word in words(text))


def nearest(sentences: Sequence[str], to: str, most: int) -> list[str]:
    """Return at most `most` of `sentences`, in their order: the ones sharing the rarest words with `to`, or else the first ones."""
    counted, wanted = frequencies(sentences), words(to)

    def score(sentence: str) -> float:
        return sum(1 / counted[word] for word in words(sentence) & wanted)

    chosen = sorted(range(len(sentences)), key=lambda at: (-score(sentences[at]), at))[:most]
    return [sentences[at] for at in sorted(chosen)]


def shared(one: str, other: str, counted: Counter[str], most: int) -> list[str]:
    """Return the common words of both texts that at most `most` texts contain, in alphabetical order."""
    return sorted(word for word in words(one) & words(other) if counted[word] <= most)
