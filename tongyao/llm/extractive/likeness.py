"""How much two sentences are about the same: cosine of TF-IDF over words (Latin) and character pairs (Chinese)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

_RUN = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+(?:['’:.][^\W_\u3400-\u9fff]+)*")
_FUNCTION: Final = frozenset("的了是我你您他她它们这那吗呢吧啊把被")
_LIGHT: Final = frozenset(
    "在有和就不也都个上下里一二三四五六七八九十没要能会给到让很最只过着得地来去说还可以做人想找用从对与及或年月日天两几多少每次前后时候里外大小"
)
_STOP: Final = ENGLISH_STOP_WORDS | frozenset(
    ["want", "need", "offer", "can't", "won't", "don't", "i've", "i'm", "make", "like", "year", "years", "week", "month", "day", "time", "people", "thing", "things", "use", "used", "work", "look", "looking", "someone", "somebody", "anybody", "nobody"]
)
_ENDINGS: Final = ("'s", "’s", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y")


def tokens(text: str) -> list[str]:
    """Words without their endings; Chinese as pairs of characters; no numbers, no function words."""
    found: list[str] = []
    for run in _RUN.findall(text.lower()):
        if "\u3400" <= run[0] <= "\u9fff":
            found += [
                pair
                for pair in (run[at : at + 2] for at in range(len(run) - 1))
                if not (_FUNCTION & set(pair)) and not set(pair) <= _LIGHT
            ]
        elif run not in _STOP and not run.isdigit() and len(run) > 1:
            found.append(_stem(run))
    return found


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


class Likeness:
    """A vocabulary learnt from `corpus`; a word that stands everywhere in it weighs little."""

    def __init__(self, corpus: Sequence[str]) -> None:
        self._vectorizer: TfidfVectorizer | None = TfidfVectorizer(analyzer=tokens, sublinear_tf=True)
        try:
            self._vectorizer.fit(corpus)
        except ValueError:  # the empty vocabulary: nothing in the corpus can be compared with anything
            self._vectorizer = None

    def between(self, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float64]:
        """Cosines in 0..1, an array of shape (len(rows), len(columns))."""
        if self._vectorizer is None or not rows or not columns:
            return np.zeros((len(rows), len(columns)))
        product = self._vectorizer.transform(rows) @ self._vectorizer.transform(columns).T
        return np.asarray(product.todense(), dtype=np.float64)
