"""Finds phrases that a proxy must not disclose, as others would read them (docs/protocol.md §3.5). Pure, linear."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from tongyao.protocol.model.unicode_text import UNSPACED, folded, for_others

_LETTER: Final = rf"(?:(?![{UNSPACED}])[^\W\d_])"
_WORD: Final = re.compile(rf"[{UNSPACED}]|\d+|{_LETTER}+(?:'{_LETTER}+)*")
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("‘’‚‛`´ʼʹ′＇", "'"))
_GOES_ON: Final = 4
"""Least length of a phrase that is found at the start of a longer word: `debt` is found in `debtor`, `art` not in
`artist`."""
_ENDINGS: Final = ("s", "'s")


class Forbidden:
    """Forbidden phrases, compared with the letters and digits of a text as others would read it.

    Differences in separators, case, width, accents, markup and character references are ignored. A match begins at the
    start of a word or after an apostrophe. Digits of a text are ignored for phrases without digits. A phrase without
    letters and digits is searched literally.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        read = {phrase: "".join(_words(phrase)) for phrase in phrases}
        self._worded = [letters for letters in read.values() if letters]
        self._signs = [phrase.strip() for phrase, letters in read.items() if not letters and phrase.strip()]

    def stands_in(self, *texts: str) -> bool:
        """Whether any of the phrases occurs in `texts`, read one after the other."""
        if any(sign in text for sign in self._signs for text in texts):
            return True
        if not self._worded:
            return False
        words = [word for text in texts for word in _words(text)]
        whole, without_digits = _Letters(words), _Letters([word for word in words if not word.isdigit()])
        return any(
            (whole if any(map(str.isdigit, phrase)) else without_digits).contain(phrase) for phrase in self._worded
        )


class _Letters:
    """Words joined without separators."""

    def __init__(self, words: Sequence[str]) -> None:
        self._text = "".join(words)
        self._ends = list(accumulate(map(len, words)))
        self._begins = {0, *self._ends}

    def contain(self, phrase: str) -> bool:
        """Whether `phrase` occurs here, from the start of a word to the end of a word or of its stem."""
        at = self._text.find(phrase)
        while at >= 0:
            if (at in self._begins or self._text[at - 1] == "'") and self._may_end(at + len(phrase)):
                return True
            at = self._text.find(phrase, at + 1)
        return False

    def _may_end(self, end: int) -> bool:
        number = bisect_left(self._ends, end)
        begin = self._ends[number - 1] if number else 0
        rest = self._text[end : self._ends[number]]
        return not rest or rest in _ENDINGS or (end - begin >= _GOES_ON and not rest[0].isdigit())


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(html.unescape(for_others(text)).translate(_APOSTROPHES)).text)
