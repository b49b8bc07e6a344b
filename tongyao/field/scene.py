"""One scene in memory: its chunks as vectors and as counts, and how near people are to a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tongyao.field.bm25 import BM25, standardised
from tongyao.field.concepts import concepts
from tongyao.field.facets import Chunk, Facet, split
from tongyao.field.features import counted, words
from tongyao.field.lexical import LexicalEncoder, Vectors

SVD_WEIGHT: Final = 2.0
CONCEPT_WEIGHT: Final = 0.5

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Nearness:
    """How near each person is to each query, over the scene's spread, and their nearest chunk.

    Both of the shape (queries, people); a chunk is a row of the scene, -1 where a person has none.
    """

    scores: Scores
    chunks: npt.NDArray[np.int64]


class Scene:
    """People in the order of `profile_ids`, chunks in the order of people and of their texts."""

    def __init__(
        self, profile_ids: Sequence[str], owners: npt.NDArray[np.int64], chunks: Sequence[Chunk],
        encoder: LexicalEncoder, vectors: Vectors, counts: csr_matrix, groups: csr_matrix,
    ) -> None:  # fmt: skip
        self.profile_ids = list(profile_ids)
        self.chunks = list(chunks)
        self._owners = owners
        self._encoder = encoder
        self._vectors = vectors
        self._counts = counts
        self._groups = groups
        self._facets = np.array([chunk.facet.value for chunk in chunks])

    @classmethod
    def of(cls, texts: dict[str, str]) -> Scene:
        """Chunk, fit and encode profiles given by id."""
        owners, chunks, pieces = [], [], []
        for number, text in enumerate(texts.values()):
            for chunk in split(text):
                if chunk.facet is not Facet.IDENTITY:
                    owners.append(number)
                    chunks.append(chunk)
                    pieces.append(text[chunk.start : chunk.end])
        whole: list[list[str]] = [[] for _ in texts]
        for owner, piece in zip(owners, pieces, strict=True):
            whole[owner].append(piece)
        encoder = LexicalEncoder.fit(pieces or ["-"], whole=["\n".join(one) for one in whole] or ["-"])
        return cls(
            list(texts), np.array(owners, dtype=np.int64), chunks, encoder, encoder.encode(pieces),
            counted(pieces, words),
            counted(pieces, concepts),
        )  # fmt: skip

    def near(self, queries: Sequence[str], sides: Sequence[Facet]) -> Nearness:
        """Each query against the chunks of `sides`: vectors, BM25 and concepts, standardised and summed."""
        people = len(self.profile_ids)
        rows = np.flatnonzero(np.isin(self._facets, [side.value for side in sides]))
        if not len(rows) or not queries:
            return Nearness(np.zeros((len(queries), people)), np.full((len(queries), people), -1))
        owners = self._owners[rows]
        membership = csr_matrix((np.ones(len(rows)), (owners, np.arange(len(rows)))), shape=(people, len(rows)))
        cosines = np.maximum(self._encoder.encode(queries) @ self._vectors[rows].T, 0).astype(np.float64)
        sizes = np.maximum(np.asarray(membership.sum(axis=1)).ravel(), 1)
        dense = np.asarray((membership @ (cosines**2).T).T) / np.sqrt(sizes)
        lexical = BM25(csr_matrix(membership @ self._counts[rows])).scores(counted(queries, words))
        best = np.full((len(queries), people), -1)
        for query, row in enumerate(cosines):
            order = np.argsort(row, kind="stable")
            best[query, owners[order]] = rows[order]
        shared = BM25(csr_matrix(membership @ self._groups[rows])).scores(counted(queries, concepts))
        together = SVD_WEIGHT * standardised(dense) + standardised(lexical)
        return Nearness(together + CONCEPT_WEIGHT * standardised(shared), best)
