"""BM25 over hashed features (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework")."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

K1: Final = 1.2
B: Final = 0.75


class BM25:
    """Scores every row of a count matrix against a query. Weights are computed once."""

    def __init__(self, counts: csr_matrix) -> None:
        documents = counts.shape[0]
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        average = lengths.mean() if documents and lengths.any() else 1.0
        weights = csr_matrix(counts, dtype=np.float64, copy=True)
        norms = np.repeat(K1 * (1 - B + B * lengths / average), np.diff(weights.indptr))
        idf = np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
        weights.data = idf[weights.indices] * weights.data * (K1 + 1) / (weights.data + norms)
        self._by_feature = weights.tocsc()

    def scores(self, query: csr_matrix) -> npt.NDArray[np.float64]:
        """Shape (queries, documents). A feature counts once however often the query says it."""
        asked = csr_matrix(query, dtype=np.float64, copy=True)
        asked.data[:] = 1.0
        return np.asarray((self._by_feature @ asked.T).todense()).T


def standardised(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each row in standard deviations from its mean; a row without spread is all zeros."""
    spread = values.std(axis=-1, keepdims=True)
    result: npt.NDArray[np.float64] = np.divide(
        values - values.mean(axis=-1, keepdims=True), spread, out=np.zeros_like(values), where=spread > 1e-12
    )
    return result
