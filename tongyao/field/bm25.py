"""BM25 over hashed features (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

K1: Final = 1.2
B: Final = 0.75

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """Hashed words of documents, an entry for each word of each, in the order of features and, of one, of rows.

    `features`, `rows`, `often`: which word, in which document, how many times. `lengths`: of whole documents, whichever
    of their words are here.
    """

    features: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]
    often: Array
    lengths: Array

    @classmethod
    def of(cls, matrix: csr_matrix) -> Counts:
        """Of a matrix (documents, features)."""
        documents = matrix.shape[0]
        rows = np.repeat(np.arange(documents), np.diff(matrix.indptr))
        often = matrix.data.astype(np.float64)
        return cls.sorted(matrix.indices, rows, often, totals(rows, often, documents))

    @classmethod
    def sorted(
        cls, features: npt.NDArray[np.int32], rows: npt.NDArray[np.int64], often: Array, lengths: Array
    ) -> Counts:
        """Of entries in the order of documents."""
        order = np.argsort(features, kind="stable")
        return cls(features[order], rows[order], often[order], lengths)

    def grouped(self, groups: npt.NDArray[np.int64], size: int) -> Counts:
        """The same of groups of documents: `groups` ascend, but for -1, which is left out; `size`: how many there are."""
        of_entries = groups[self.rows]
        kept = of_entries >= 0
        features, rows, often = self.features[kept], of_entries[kept], self.often[kept]
        first = np.ones(len(rows), dtype=bool)
        first[1:] = (features[1:] != features[:-1]) | (rows[1:] != rows[:-1])
        starts = np.flatnonzero(first)
        summed = np.add.reduceat(often, starts) if len(starts) else often
        lengths = totals(groups[groups >= 0], self.lengths[groups >= 0], size)
        return Counts(features[starts], rows[starts], summed, lengths)

    def places(self, features: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """From which entry on each of `features` (sorted) stands, and how many entries it has."""
        first = np.searchsorted(self.features, features)
        return first, np.searchsorted(self.features, features, side="right") - first


@dataclass(frozen=True)
class Statistics:
    """How many documents there are, their mean length, and in how many of them each of some features is."""

    documents: int
    average: float
    frequency: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: Counts, features: npt.NDArray[np.int32]) -> Statistics:
        """Those of `counts` themselves."""
        lengths = counts.lengths
        return cls(len(lengths), float(lengths.mean()) if lengths.any() else 1.0, counts.places(features)[1])


@dataclass(frozen=True)
class Said:
    """Which words queries say: `features` (sorted), and a row of them for each query. How often it does is not asked."""

    features: npt.NDArray[np.int32]
    words: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, queries: csr_matrix) -> Said:
        features, columns = np.unique(queries.indices, return_inverse=True)
        words = np.zeros((queries.shape[0], len(features)), dtype=bool)
        words[np.repeat(np.arange(len(words)), np.diff(queries.indptr)), columns] = True
        return cls(features, words)


def bm25(counts: Counts, said: Said, statistics: Statistics | None = None) -> Array:
    """Shape (queries, documents), in time that goes with the entries of what is said.

    `statistics`: of `said.features` in more documents than these (None: of these).
    """
    known = statistics or Statistics.of(counts, said.features)
    first, sizes = counts.places(said.features)
    columns = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.arange(len(columns)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    rows, often = counts.rows[entries], counts.often[entries]
    norms = K1 * (1 - B + B * counts.lengths / known.average)
    idf = np.log1p((known.documents - known.frequency + 0.5) / (known.frequency + 0.5))
    weights = idf[columns] * often * (K1 + 1) / (often + norms[rows])
    scores = np.zeros((len(said.words), len(norms)))
    for query, words in enumerate(said.words):
        scores[query] = totals(rows, weights * words[columns], len(norms))
    return scores


def totals(groups: npt.NDArray[np.int64], values: Array, size: int) -> Array:
    """The sum of the values of each of `size` groups."""
    return np.asarray(np.bincount(groups, values, size), dtype=np.float64)


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
