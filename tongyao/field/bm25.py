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
class TermCounts:
    """Term counts of documents as sparse entries, sorted by feature, then by row.

    `features`, `rows`, `often`: the hashed term, the document and the count of each entry. `lengths`: lengths of the
    whole documents, even if this object contains only some of their terms.
    """

    features: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]
    often: Array
    lengths: Array

    @classmethod
    def of(cls, matrix: csr_matrix) -> TermCounts:
        """Convert a sparse matrix of counts (documents, features)."""
        documents = matrix.shape[0]
        rows = np.repeat(np.arange(documents), np.diff(matrix.indptr))
        often = matrix.data.astype(np.float64)
        return cls.sorted(matrix.indices, rows, often, grouped_sums(rows, often, documents))

    @classmethod
    def sorted(
        cls, features: npt.NDArray[np.int32], rows: npt.NDArray[np.int64], often: Array, lengths: Array
    ) -> TermCounts:
        """Make term counts from entries that are sorted by document."""
        order = np.argsort(features, kind="stable")
        return cls(features[order], rows[order], often[order], lengths)

    def grouped(self, groups: npt.NDArray[np.int64], size: int) -> TermCounts:
        """Sum the counts over groups of documents.

        `groups`: the group of each document, in ascending order; -1 leaves a document out. `size`: the number of
        groups.
        """
        of_entries = groups[self.rows]
        kept = of_entries >= 0
        features, rows, often = self.features[kept], of_entries[kept], self.often[kept]
        first = np.ones(len(rows), dtype=bool)
        first[1:] = (features[1:] != features[:-1]) | (rows[1:] != rows[:-1])
        starts = np.flatnonzero(first)
        summed = np.add.reduceat(often, starts) if len(starts) else often
        lengths = grouped_sums(groups[groups >= 0], self.lengths[groups >= 0], size)
        return TermCounts(features[starts], rows[starts], summed, lengths)

    def places(self, features: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """For each of the sorted `features`: the index of its first entry, and the number of its entries."""
        first = np.searchsorted(self.features, features)
        return first, np.searchsorted(self.features, features, side="right") - first


@dataclass(frozen=True)
class CorpusStatistics:
    """Number of documents, mean length of the documents, and document frequencies of some features."""

    documents: int
    average: float
    frequency: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: TermCounts, features: npt.NDArray[np.int32]) -> CorpusStatistics:
        lengths = counts.lengths
        return cls(len(lengths), float(lengths.mean()) if lengths.any() else 1.0, counts.places(features)[1])


@dataclass(frozen=True)
class QueryTerms:
    """The terms of queries: `features` (sorted), and `words` bool[queries, features]. Repeated terms count once."""

    features: npt.NDArray[np.int32]
    words: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, queries: csr_matrix) -> QueryTerms:
        features, columns = np.unique(queries.indices, return_inverse=True)
        words = np.zeros((queries.shape[0], len(features)), dtype=bool)
        words[np.repeat(np.arange(len(words)), np.diff(queries.indptr)), columns] = True
        return cls(features, words)


def bm25(counts: TermCounts, terms: QueryTerms, statistics: CorpusStatistics | None = None) -> Array:
    """BM25 scores, float64[queries, documents]. The time is proportional to the number of entries of the query terms.

    `statistics`: statistics of `terms.features` over a larger corpus. None: statistics of these documents.
    """
    known = statistics or CorpusStatistics.of(counts, terms.features)
    first, sizes = counts.places(terms.features)
    columns = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.arange(len(columns)) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    rows, often = counts.rows[entries], counts.often[entries]
    norms = K1 * (1 - B + B * counts.lengths / known.average)
    idf = np.log1p((known.documents - known.frequency + 0.5) / (known.frequency + 0.5))
    weights = idf[columns] * often * (K1 + 1) / (often + norms[rows])
    scores = np.zeros((len(terms.words), len(norms)))
    for query, words in enumerate(terms.words):
        scores[query] = grouped_sums(rows, weights * words[columns], len(norms))
    return scores


def grouped_sums(groups: npt.NDArray[np.int64], values: Array, size: int) -> Array:
    """Return the sum of `values` in each of `size` groups."""
    return np.asarray(np.bincount(groups, values, size), dtype=np.float64)


def z_scores(values: Array, among: Array | None = None, counted: npt.NDArray[np.bool_] | None = None) -> Array:
    """Return the z-scores of each row of `values`, by mean and standard deviation of the same row of `among`.

    `counted`: the entries of `among` that are used (None: all). A row with a standard deviation of 0 becomes zeros.
    """
    among, where = values if among is None else among, True if counted is None else counted
    mean, spread = among.mean(axis=-1, keepdims=True, where=where), among.std(axis=-1, keepdims=True, where=where)
    result: Array = np.divide(values - mean, spread, out=np.zeros_like(values), where=spread > 1e-12)
    return result
