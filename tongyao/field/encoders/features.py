"""Tokenisation and feature hashing: Latin tokens, Chinese 1- and 2-grams, words by jieba."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from scipy.sparse import csr_matrix

from tongyao.protocol.model.unicode_text import normalized

BITS: Final = 22
"""4 million hash buckets: two features of one scene collide about once in a thousand."""

_RUNS = re.compile(r"([\u3400-\u9fff\uf900-\ufaff]+)|([a-z0-9][a-z0-9+#.]*[a-z0-9+#]|[a-z0-9])")


def runs(text: str) -> list[tuple[str, str]]:
    """Pairs (Chinese stretch, Latin token) in text order. In each pair exactly one of the two is empty."""
    return _RUNS.findall(normalized("NFKC", text).lower())


def grams(text: str) -> Iterator[str]:
    """Latin tokens and Chinese 1- and 2-grams: the features of the lexical encoder."""
    return _tokens(text)


def words(text: str) -> Iterator[str]:
    """The terms of BM25: all of `grams`, and the words that jieba finds, except words of two characters."""
    return _tokens(text, _cutter())


def _tokens(text: str, cut: Callable[[str], Iterable[str]] | None = None) -> Iterator[str]:
    for han, latin in runs(text):
        if latin:
            yield latin
            continue
        yield from han
        yield from map("".join, pairwise(han))
        if cut is not None:
            yield from ("w:" + word for word in cut(han) if len(word) != 2)


def count_features(texts: Iterable[str], analyse: Callable[[str], Iterable[str]]) -> csr_matrix:
    """One row of hashed feature counts per text; 2**BITS columns."""
    matrix: Any = _hasher().transform(analyse(text) for text in texts)
    return csr_matrix(matrix)


@lru_cache(maxsize=1)
def _hasher() -> Any:
    # takes 65 MB, which a gateway without searches should not need
    from sklearn.feature_extraction import FeatureHasher

    return FeatureHasher(n_features=1 << BITS, input_type="string", alternate_sign=False)


@lru_cache(maxsize=1)
def _cutter() -> Callable[[str], Iterable[str]]:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    cut: Callable[[str], Iterable[str]] = tokenizer.lcut
    return cut
