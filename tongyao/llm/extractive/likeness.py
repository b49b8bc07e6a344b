"""How much two sentences are about the same: cosine of weighted words, Chinese ones found by jieba.

A word weighs more the rarer it is, both among the sentences at hand (TF-IDF) and, for Chinese, in jieba's
own word list; ordinary English words, for which there is no such list here, are left out instead.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from typing import Final

import jieba
import jieba.posseg
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from tongyao.protocol.guards.ordinary_words import ORDINARY_CHINESE, ORDINARY_ENGLISH

jieba.setLogLevel(logging.WARNING)

COMMON: Final = 0.0003
"""A Chinese word that makes up more than this share of running text says nothing about what a sentence is
about."""

KIND: Final = 0.0006
"""The same for a noun of one character, which may also be the kind of thing that a longer word names."""

_CJK = r"\u3400-\u9fff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’:.-][^\W_{_CJK}]+)*")
_FUNCTION: Final = frozenset("的了是我你您他她它们这那吗呢吧啊把被很最都也就还又没不能会可以个要")
_NUMERAL = re.compile(r"[零〇一二三四五六七八九十百千万亿两半几多]+\w?")
_PARTICLES: Final = frozenset("up down in out on off over by away back".split())
_ENDINGS: Final = ("'s", "’s", "ings", "ing", "ers", "er", "ies", "ied", "ed", "es", "s", "e", "y")


def tokens(text: str) -> list[str]:
    """What `text` may be about: English words without their endings, Chinese words; no numbers, no ordinary words.

    The last character of a Chinese word mostly names the kind of thing (a goods van, an electric van), so it counts too.
    """
    found: list[str] = []
    for run in _RUN.findall(text.lower()):
        if "\u3400" <= run[0] <= "\u9fff":
            words = [word for word in jieba.cut_for_search(run) if _telling(word)]
            found += dict.fromkeys([*words, *(word[-1] for word in words if _kind(word[-1]))])
        else:
            found += [stem(word) for word in _parts(run) if _subject(word)]
    return found


def words_for(text: str, wanted: Collection[str]) -> list[str]:
    """The words of `text`, as they stand there, whose `tokens` are among `wanted`; each token once."""
    found: dict[str, str] = {}
    for run in _RUN.findall(text):
        if "\u3400" <= run[0] <= "\u9fff":
            for word in tokens(run):
                if word in wanted:
                    found.setdefault(word, word)
        else:
            told = [word for word in tokens(run) if word in wanted]
            if told and not set(told) <= set(found):
                found.update(dict.fromkeys(told, run))
    return list(dict.fromkeys(found.values()))


def _parts(word: str) -> list[str]:
    """A word, and its parts where it has a hyphen. "lock-up" is neither a lock nor up: it has no parts; "twenty-five" is only its parts."""
    parts = word.split("-")
    if len(parts) == 1 or parts[-1] in _PARTICLES:
        return [word]
    return parts if all(part in ORDINARY_ENGLISH for part in parts) else [word, *parts]


def _subject(word: str) -> bool:
    """Whether an English word may be what a sentence is about: no ordinary word, no number, no adverb."""
    return (
        word not in ORDINARY_ENGLISH
        and len(word) > 1
        and not word[0].isdigit()
        and not (word.endswith("ly") and len(word) > 5)
    )


@lru_cache(maxsize=100_000)
def _telling(word: str) -> bool:
    # A word that jieba only guessed at may be two ordinary ones: those with a function word in them are
    # left out.
    return not (_NUMERAL.fullmatch(word) or _FUNCTION & set(word) or word in ORDINARY_CHINESE) and weight_of(word) > 0


@lru_cache(maxsize=100_000)
def _kind(character: str) -> bool:
    """Whether a single character is a noun of its own and names a kind of thing."""
    return _tags().get(character, "") in ("n", "zg") and _telling(character)


@cache
def _tags() -> dict[str, str]:
    """Word → part of speech, of jieba's word list. Each `initialize` reads the list again."""
    jieba.posseg.dt.initialize()
    return dict(jieba.posseg.dt.word_tag_tab)


@lru_cache(maxsize=100_000)
def weight_of(word: str) -> float:
    """0 for common Chinese words, rising to 1 for such as jieba's list does not know; 1 for all others."""
    if not "\u3400" <= word[0] <= "\u9fff":
        return 1.0
    jieba.initialize()
    share = (jieba.dt.FREQ.get(word) or 0) / jieba.dt.total
    common = KIND if len(word) == 1 else COMMON
    if share > common:
        return 0.0
    weight = math.log(common / max(share, 1e-8)) / math.log(common / 1e-8)
    return (0.3 + 0.7 * weight) * (0.7 if len(word) == 1 else 1.0)


def stem(word: str) -> str:
    """An English word without its ending; two forms of one word mostly have the same."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


class Likeness:
    """A vocabulary learnt from `corpus`; a word that stands everywhere in it weighs little."""

    def __init__(self, corpus: Sequence[str]) -> None:
        self._found: dict[str, list[str]] = {}
        vectorizer = TfidfVectorizer(analyzer=self.tokens, sublinear_tf=True, norm=None)
        self._vectorizer: TfidfVectorizer | None = None
        try:
            vectorizer.fit(corpus)
        except ValueError:  # an empty vocabulary: nothing in the corpus can be compared with anything
            return
        self._vectorizer = vectorizer
        self._weights = diags([weight_of(word) for word in vectorizer.get_feature_names_out()])

    def tokens(self, text: str) -> list[str]:
        """As the function `tokens`; each text is read once."""
        if text not in self._found:
            self._found[text] = tokens(text)
        return self._found[text]

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
