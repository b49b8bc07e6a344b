"""How much two sentences are about the same: cosine of weighted words, Chinese ones found by jieba.

A word weighs more the rarer it is, both among the sentences at hand (TF-IDF) and, for Chinese, in jieba's
own word list; ordinary English words, for which there is no such list here, are left out instead.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import jieba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.preprocessing import normalize

jieba.setLogLevel(logging.WARNING)

COMMON: Final = 0.00015
"""A Chinese word that makes up more than this share of running text says nothing about what a sentence is
about."""

_CJK = r"\u3400-\u9fff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’:.-][^\W_{_CJK}]+)*")
_FUNCTION: Final = frozenset("的了是我你您他她它们这那吗呢吧啊把被很最都也就还又没不能会可以个要")
_NUMERAL = re.compile(r"[零〇一二三四五六七八九十百千万亿两半几多]+\w?")
_ORDINARY: Final = ENGLISH_STOP_WORDS | frozenset(
    """
    want wants wanted need needs needed offer offers offered can't won't don't doesn't didn't isn't i've i'm
    i'd it's that's make makes made like liked year years week weeks weekly month months day days daily hour
    hours minute minutes time times people person persons thing things use used uses using work works worked
    working look looks looked looking someone somebody anybody nobody everybody everyone anyone good better
    best new old way ways know knows knew known think thinks thought say says said tell tells told ask asks
    asked come comes came going goes went gone get gets got give gives gave given take takes took taken let
    lets keep keeps kept bring brings brought run runs ran running start started stop stopped try tried long
    short big small little lot lots kind sort bit half end set right left place hand hands help helps far
    near able right really just own mine half whole second later early soon today hundred thousand per cent
    percent pound pounds euro euros dollar dollars number numbers read write wrote written call called show
    showed shown turn turned hold holds held pay pays paid cost costs point case fact part parts January
    February March April May June July August September October November December Monday Tuesday Wednesday
    Thursday Friday Saturday Sunday
    """.lower().split()
)
_ENDINGS: Final = ("'s", "’s", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y")


def tokens(text: str) -> list[str]:
    """What `text` may be about: English words without their endings, Chinese words; no numbers, no ordinary
    words."""
    found: list[str] = []
    for run in _RUN.findall(text.lower()):
        if "\u3400" <= run[0] <= "\u9fff":
            found += [word for word in jieba.cut_for_search(run) if _telling(word)]
        elif run not in _ORDINARY and not run[0].isdigit() and len(run) > 1:
            found.append(_stem(run))
    return found


@cache
def _telling(word: str) -> bool:
    # A word that jieba only guessed at may be two ordinary ones: those with a function word in them are
    # left out.
    return not (_NUMERAL.fullmatch(word) or _FUNCTION & set(word)) and _weight(word) > 0


@cache
def _weight(word: str) -> float:
    """0 for common Chinese words, rising to 1 for such as jieba's list does not know; 1 for all others."""
    if not "\u3400" <= word[0] <= "\u9fff":
        return 1.0
    jieba.initialize()
    share = (jieba.dt.FREQ.get(word) or 0) / jieba.dt.total
    if share > COMMON:
        return 0.0
    weight = math.log(COMMON / max(share, 1e-8)) / math.log(COMMON / 1e-8)
    return (0.3 + 0.7 * weight) * (0.6 if len(word) == 1 else 1.0)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


class Likeness:
    """A vocabulary learnt from `corpus`; a word that stands everywhere in it weighs little."""

    def __init__(self, corpus: Sequence[str]) -> None:
        vectorizer = TfidfVectorizer(analyzer=tokens, sublinear_tf=True, norm=None)
        self._vectorizer: TfidfVectorizer | None = None
        try:
            vectorizer.fit(corpus)
        except ValueError:  # an empty vocabulary: nothing in the corpus can be compared with anything
            return
        self._vectorizer = vectorizer
        self._weights = diags([_weight(word) for word in vectorizer.get_feature_names_out()])

    def between(self, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float64]:
        """Cosines in 0..1, an array of shape (len(rows), len(columns))."""
        if self._vectorizer is None or not rows or not columns:
            return np.zeros((len(rows), len(columns)))
        return np.asarray((self._of(rows) @ self._of(columns).T).todense(), dtype=np.float64)

    def shared(self, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float64]:
        """How many words they have in common, in the same shape."""
        if self._vectorizer is None or not rows or not columns:
            return np.zeros((len(rows), len(columns)))
        return np.asarray((self._of(rows).sign() @ self._of(columns).sign().T).todense(), dtype=np.float64)

    def _of(self, texts: Sequence[str]) -> csr_matrix:
        assert self._vectorizer is not None
        return normalize(self._vectorizer.transform(texts) @ self._weights)
