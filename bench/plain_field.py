"""A baseline for the field's lexical scoring, built from scikit-learn only (docs/field.md §4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import normalize

from tongyao.field.bm25 import QueryTerms, TermCounts, bm25, z_scores
from tongyao.field.encoders.features import grams, words
from tongyao.field.facets import Facet, split

DIMENSION: Final = 150
SVD_WEIGHT: Final = 2.0


def plain_lists(texts: dict[str, str], needs: Sequence[str], *, top: int = 10) -> list[list[str]]:
    """For each need, the ids of the nearest `top` profiles, best first.

    TF-IDF over Latin tokens and Chinese 1- and 2-grams is reduced by a randomized SVD fitted on chunks. A person's
    dense score is the sum over chunks of max(0, cos)², divided by the root of the number of chunks. The total is twice
    this score plus BM25 (k1 1.2, b 0.75) over words, Latin tokens and bi-grams, both as z-scores. The encoder is
    scikit-learn's, not the field's.
    """
    owners, pieces = [], []
    for number, text in enumerate(texts.values()):
        for chunk in split(text):
            if chunk.facet is not Facet.IDENTITY:
                owners.append(number)
                pieces.append(text[chunk.start : chunk.end])
    membership = csr_matrix((np.ones(len(owners)), (owners, range(len(owners)))), shape=(len(texts), len(owners)))

    tfidf = TfidfVectorizer(analyzer=lambda text: list(grams(text)), sublinear_tf=True)
    weighted: Any = tfidf.fit_transform(pieces)
    svd = TruncatedSVD(min(DIMENSION, min(weighted.shape) - 1), random_state=0).fit(weighted)
    vectors = normalize(svd.transform(weighted))
    cosines = np.maximum(normalize(svd.transform(tfidf.transform(needs))) @ vectors.T, 0)
    sizes = np.maximum(np.asarray(membership.sum(axis=1)).ravel(), 1)
    dense = np.asarray((membership @ (cosines**2).T).T) / np.sqrt(sizes)

    counter = CountVectorizer(analyzer=lambda text: list(words(text)))
    counts: Any = counter.fit_transform(pieces)
    sparse = bm25(TermCounts.of(csr_matrix(membership @ counts)), QueryTerms.of(csr_matrix(counter.transform(needs))))

    scores = SVD_WEIGHT * z_scores(dense) + z_scores(sparse)
    ids = list(texts)
    return [[ids[n] for n in np.argsort(-row, kind="stable")[:top]] for row in scores]
