"""The encoder without weights: TF-IDF over hashed grams, then a randomized SVD fitted on the scene."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tongyao.field.bm25 import grouped_sums
from tongyao.field.encoders.encoder import Vectors
from tongyao.field.encoders.features import count_features, grams

DIMENSION: Final = 150
MAX_FEATURES: Final = 60_000
RARITY: Final = 1.5
"""Power of the inverse document frequency."""

FLATTENING: Final = 0.5
"""Components are divided by this power of their singular values: 0 is plain LSA, 1 weights all alike (docs/field.md
§4)."""

SPARSE_ENOUGH: Final = 40_000
"""For fewer entries than this, a binary search per entry is faster than a table of all columns."""


class LexicalEncoder:
    """Latent semantic analysis: TF-IDF (sub-linear counts), reduced to `dimension` components. Deterministic.

    Features that only one text has are dropped. If more than `max_features` remain, the rarest are dropped.
    """

    name = "lexical"
    languages: frozenset[str] = frozenset()

    def __init__(self, features: npt.NDArray[np.int32], idf: Vectors, components: Vectors) -> None:
        self._features = features
        self._idf = idf
        # an array of another layout would be copied at each call
        self._components = np.ascontiguousarray(components, dtype=np.float32)
        self.dimension = components.shape[1]

    @cached_property
    def version(self) -> str:
        """A digest of the fitted arrays. Vectors of different fits are not comparable."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:16]

    def to_bytes(self) -> bytes:
        """Return the fitted arrays as NPZ, which `from_bytes` reads."""
        held = io.BytesIO()
        np.savez(held, features=self._features, idf=self._idf, components=self._components)
        return held.getvalue()

    @classmethod
    def from_bytes(cls, learned: bytes) -> LexicalEncoder:
        with np.load(io.BytesIO(learned), allow_pickle=False) as held:
            return cls(held["features"], held["idf"], held["components"])

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        *,
        whole: Sequence[str] | None = None,
        dimension: int = DIMENSION,
        max_features: int = MAX_FEATURES,
        rarity: float = RARITY,
        flattening: float = FLATTENING,
    ) -> LexicalEncoder:
        """Fit the inverse document frequencies on `texts` (chunks) and the SVD on `whole` texts (None: on `texts`).

        Components are divided by a power (`flattening`) of their singular value. So frequent subjects do not outweigh
        the others. Vectors of a small scene are padded with zeros to `dimension`.
        """
        counts = count_features(texts, grams)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        least = 2 if len(texts) > 3 else 1
        features = np.flatnonzero(frequency >= least)
        if len(features) > max_features:
            features = np.sort(features[np.argsort(-frequency[features], kind="stable")[:max_features]])
        idf = (np.log((1 + len(texts)) / (1 + frequency[features])) + 1) ** rarity
        together = counts if whole is None else count_features(whole, grams)
        weighted = _weighted(_restricted(together, features), idf)
        from sklearn.utils.extmath import randomized_svd  # imported late because it needs much memory, as in `features`

        rank = min(dimension, min(weighted.shape) - 1)
        components = np.zeros((len(features), dimension), dtype=np.float32)
        if rank >= 1:
            _, strengths, right = randomized_svd(weighted, rank, n_iter=4, random_state=0)
            components[:, :rank] = right.T / np.maximum(strengths, 1e-6) ** flattening
        elif len(features):
            components[:, 0] = 1  # with only one text, every feature that it shares with a query counts
        return cls(features.astype(np.int32), idf.astype(np.float32), components)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Vectors of norm 1, shape (texts, dimension). A text without a known feature gets zeros."""
        weighted = _weighted(_restricted(count_features(texts, grams), self._features), self._idf)
        vectors = np.asarray(weighted.astype(np.float32) @ self._components)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 1e-9)
        return unit


def _restricted(counts: csr_matrix, features: npt.NDArray[Any]) -> csr_matrix:
    """The columns `features` (sorted) of a matrix with millions of columns, in time proportional to its entries."""
    if len(features) == 0:
        return csr_matrix((counts.shape[0], 0))
    if counts.nnz < SPARSE_ENOUGH or len(features) > np.iinfo(np.int16).max:
        columns = np.minimum(np.searchsorted(features, counts.indices), len(features) - 1)
        kept = features[columns] == counts.indices
    else:
        places = np.zeros(counts.shape[1], dtype=np.int16)
        places[features] = np.arange(1, len(features) + 1)
        columns = places[counts.indices].astype(np.int32) - 1
        kept = columns >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return csr_matrix((counts.data[kept], columns[kept], before[counts.indptr]), shape=(counts.shape[0], len(features)))


def _weighted(counts: csr_matrix, idf: npt.NDArray[np.float64] | Vectors) -> csr_matrix:
    """Sub-linear counts multiplied by idf. Each row has norm 1."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    weights = (1 + np.log(counts.data)) * np.asarray(idf, dtype=np.float64)[counts.indices]
    lengths = np.sqrt(grouped_sums(rows, weights**2, counts.shape[0]))
    lengths[lengths == 0] = 1
    return csr_matrix((weights / lengths[rows], counts.indices, counts.indptr), shape=counts.shape)
