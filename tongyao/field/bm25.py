"""BM25 over hashed features (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

K1: Final = 1.2
B: Final = 0.75

SPARSE_ENOUGH: Final = 40_000
"""Entries below which searching for each is quicker than a table of all columns."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """How many documents there are, their mean length, and in how many of them each of some features is."""

    documents: int
    average: float
    frequency: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: csr_matrix, lengths: Array) -> Statistics:
        """Those of `counts` (documents, features) themselves."""
        average = float(lengths.mean()) if len(lengths) and lengths.any() else 1.0
        return cls(counts.shape[0], average, np.bincount(counts.indices, minlength=counts.shape[1]))


def bm25(counts: csr_matrix, lengths: Array, asked: csr_matrix, statistics: Statistics) -> Array:
    """Shape (queries, documents). `counts` and `asked` have the same few columns, `lengths` are of whole documents.

    A feature counts once however often the query says it.
    """
    weights = csr_matrix(counts, dtype=np.float64, copy=True)
    norms = np.repeat(K1 * (1 - B + B * lengths / statistics.average), np.diff(weights.indptr))
    frequency = statistics.frequency
    idf = np.log1p((statistics.documents - frequency + 0.5) / (frequency + 0.5))
    weights.data = idf[weights.indices] * weights.data * (K1 + 1) / (weights.data + norms)
    once = csr_matrix(asked, dtype=np.float64, copy=True)
    once.data[:] = 1.0
    return np.asarray((weights @ once.T).todense()).T


class BM25:
    """Scores every row of a count matrix against queries."""

    def __init__(self, counts: csr_matrix) -> None:
        self._counts = counts
        self._lengths = row_sums(counts)

    def scores(self, query: csr_matrix) -> Array:
        """Shape (queries, documents)."""
        features = np.unique(query.indices)
        counts = restricted(self._counts, features)
        return bm25(counts, self._lengths, restricted(query, features), Statistics.of(counts, self._lengths))


@dataclass(frozen=True)
class Counts:
    """A matrix of counts (documents, `features`) and how long the documents are, whichever features are kept."""

    features: npt.NDArray[np.int32]
    matrix: csr_matrix
    lengths: Array

    @classmethod
    def of(cls, counts: csr_matrix, features: npt.NDArray[np.int32] | None = None) -> Counts:
        """Of a matrix with millions of columns those that are used, or the given ones (sorted)."""
        lengths = row_sums(counts)
        if features is not None:
            return cls(features, restricted(counts, features), lengths)
        used, places = np.unique(counts.indices, return_inverse=True)
        matrix = csr_matrix((counts.data, places, counts.indptr), shape=(counts.shape[0], len(used)))
        return cls(used.astype(np.int32), matrix, lengths)

    def common(self, features: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Those of `features` (sorted) that are here."""
        return features[np.isin(features, self.features, assume_unique=True)]

    def columns(self, features: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """The columns of `features`, all of which are here."""
        return np.searchsorted(self.features, features)


def row_sums(counts: csr_matrix) -> Array:
    """As `counts.sum(axis=1)`, in time that goes with the entries and not with the columns."""
    before = np.concatenate([[0.0], np.cumsum(counts.data, dtype=np.float64)])
    sums: Array = before[counts.indptr[1:]] - before[counts.indptr[:-1]]
    return sums


def restricted(counts: csr_matrix, features: npt.NDArray[Any]) -> csr_matrix:
    """The columns `features` (sorted) of a matrix with millions of them, in time that goes with its entries."""
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


def standardised(values: Array, among: Array | None = None) -> Array:
    """Each row in standard deviations from the mean of the same row of `among` (None: of itself).

    A row without spread is all zeros.
    """
    among = values if among is None else among
    spread = among.std(axis=-1, keepdims=True)
    result: Array = np.divide(
        values - among.mean(axis=-1, keepdims=True), spread, out=np.zeros_like(values), where=spread > 1e-12
    )
    return result
