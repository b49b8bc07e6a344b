"""People in memory: their chunks as vectors and as counts, and how near they are to a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tongyao.field.bm25 import Statistics, bm25, restricted, row_sums, standardised
from tongyao.field.encoder import Encoder, Vectors
from tongyao.field.facets import Chunk, Facet, split
from tongyao.field.features import counted, words
from tongyao.field.lexical import LexicalEncoder
from tongyao.protocol.sizes import language_of

SVD_WEIGHT: Final = 2.0
MODEL_WEIGHT: Final = 2.0
WORDS_WEIGHT: Final = 1.0
UNIT: Final = 3.0
"""The score of who is one standard deviation above the mean in everything, whichever spaces a query is asked in."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """Every chunk as one encoder sees it: vectors, a row for each chunk of the scene."""

    encoder: Encoder
    vectors: Vectors
    weight: float


@dataclass(frozen=True)
class Spoken:
    """Queries as each encoder sees them: a row each, and whether the encoder speaks the query's language at all."""

    vectors: list[Vectors]
    speaking: list[npt.NDArray[np.bool_]]

    @classmethod
    def of(cls, queries: Sequence[str], encoders: Sequence[Encoder]) -> Spoken:
        """Encode the queries, each by the encoders that speak its language; zeros elsewhere."""
        languages = [language_of(query) for query in queries]
        vectors, speaking = [], []
        for encoder in encoders:
            speaks = np.array([not encoder.languages or one in encoder.languages for one in languages], dtype=bool)
            made = np.zeros((len(queries), encoder.dimension), dtype=np.float32)
            if speaks.any():
                made[speaks] = encoder.encode([q for q, s in zip(queries, speaks, strict=True) if s], query=True)
            vectors.append(made)
            speaking.append(speaks)
        return cls(vectors, speaking)


@dataclass(frozen=True)
class Asked:
    """Queries laid over a scene, before a side is chosen: how near every chunk is (queries, chunks), what words they share."""

    cosines: list[Scores]
    speaking: list[npt.NDArray[np.bool_]]
    features: csr_matrix
    held: csr_matrix
    statistics: Statistics | None


@dataclass(frozen=True)
class Nearness:
    """How near each person is to each query, over the scene's spread, and their nearest chunk.

    Both of the shape (queries, people); a chunk is a row of the scene, -1 where a person has none.
    """

    scores: Scores
    chunks: npt.NDArray[np.int64]


class Scene:
    """People in the order of `profile_ids`, chunks in the order of people and of their texts.

    `counts`: hashed words of each chunk. `samples`: who stands behind others on a tie. `reference`: how many people,
    from the first, only tell mean and spread (None: everybody does, and everybody is an answer). `statistics`: of
    hashed words (sorted) in the whole scene, where these people are only some of it.
    """

    def __init__(
        self, profile_ids: Sequence[str], owners: npt.NDArray[np.int64], chunks: Sequence[Chunk], spaces: Sequence[Space],
        counts: csr_matrix, *, samples: Iterable[str] = (), reference: int | None = None,
        statistics: Callable[[npt.NDArray[np.int32]], Statistics] | None = None,
    ) -> None:  # fmt: skip
        self.profile_ids = list(profile_ids)
        self.chunks = list(chunks)
        self.spaces = list(spaces)
        self._owners = owners
        self._counts = counts
        self._lengths = row_sums(counts)
        self._facets = np.array([chunk.facet.value for chunk in chunks])
        self._reference = reference
        self._statistics = statistics
        self._samples = frozenset(samples)
        self.answerable = range(reference or 0, len(self.profile_ids))
        standing = sorted(self.answerable, key=lambda n: (self.profile_ids[n] in self._samples, self.profile_ids[n]))
        self.precedence = np.zeros(len(self.profile_ids), dtype=np.int64)
        self.precedence[standing] = np.arange(len(standing))

    @classmethod
    def of(cls, texts: dict[str, str], *, samples: Iterable[str] = ()) -> Scene:
        """Chunk, fit and encode profiles given by id: all of a scene."""
        owners, chunks, pieces = [], [], []
        for number, text in enumerate(texts.values()):
            for chunk in searched(text):
                owners.append(number)
                chunks.append(chunk)
                pieces.append(text[chunk.start : chunk.end])
        whole: list[list[str]] = [[] for _ in texts]
        for owner, piece in zip(owners, pieces, strict=True):
            whole[owner].append(piece)
        encoder = LexicalEncoder.fit(pieces or ["-"], whole=["\n".join(one) for one in whole] or ["-"])
        space = Space(encoder, encoder.encode(pieces), SVD_WEIGHT)
        return cls(
            list(texts), np.array(owners, dtype=np.int64), chunks, [space], counted(pieces, words), samples=samples
        )

    @property
    def owner_ids(self) -> list[str]:
        """Whose each chunk is."""
        return [self.profile_ids[owner] for owner in self._owners]

    def pieces(self, texts: dict[str, str]) -> list[str]:
        """The words of every chunk."""
        return [
            texts[self.profile_ids[owner]][chunk.start : chunk.end]
            for owner, chunk in zip(self._owners, self.chunks, strict=True)
        ]

    def seen_by(self, spaces: Sequence[Space]) -> Scene:
        """The same people in other spaces."""
        return Scene(
            self.profile_ids, self._owners, self.chunks, spaces, self._counts,
            samples=self._samples, reference=self._reference, statistics=self._statistics,
        )  # fmt: skip

    def ask(self, queries: Sequence[str], spoken: Spoken | None = None) -> Asked:
        """Lay queries over the scene. `spoken`: their vectors in the order of `spaces`, where they are known."""
        spoken = spoken or Spoken.of(queries, [space.encoder for space in self.spaces])
        asked = counted(queries, words)
        features = np.unique(asked.indices)
        statistics = self._statistics(features) if self._statistics else None
        cosines = [
            np.maximum(vectors @ space.vectors.T, 0).astype(np.float64)
            for space, vectors in zip(self.spaces, spoken.vectors, strict=True)
        ]
        return Asked(
            cosines, spoken.speaking, restricted(asked, features), restricted(self._counts, features), statistics
        )

    def near(self, asked: Asked, sides: Sequence[Facet]) -> Nearness:
        """Each query against the chunks of `sides`: every space and BM25, standardised, weighted and summed."""
        people, queries = len(self.profile_ids), asked.features.shape[0]
        rows = np.flatnonzero(np.isin(self._facets, [side.value for side in sides]))
        if not len(rows) or not queries:
            return Nearness(np.zeros((queries, people)), np.full((queries, people), -1))
        owners = self._owners[rows]
        membership = csr_matrix((np.ones(len(rows)), (owners, np.arange(len(rows)))), shape=(people, len(rows)))
        roots = np.sqrt(np.maximum(np.asarray(membership.sum(axis=1)).ravel(), 1))

        scores = np.zeros((queries, people))
        weights = np.full((queries, 1), WORDS_WEIGHT)
        nearest = np.zeros((queries, len(rows)))
        for space, everywhere, speaks in zip(self.spaces, asked.cosines, asked.speaking, strict=True):
            cosines = everywhere[:, rows]
            dense = np.asarray((membership @ (cosines**2).T).T) / roots
            weight = space.weight * speaks[:, None]
            scores += weight * standardised(dense, self._reference)
            nearest += weight * cosines
            weights += weight

        counts = csr_matrix(membership @ asked.held[rows])
        lengths = np.asarray(membership @ self._lengths[rows])
        known = asked.statistics or Statistics.of(counts, lengths)
        scores += WORDS_WEIGHT * standardised(bm25(counts, lengths, asked.features, known), self._reference)

        best = np.full((queries, people), -1)
        for query, row in enumerate(nearest):
            order = np.argsort(row, kind="stable")
            best[query, owners[order]] = rows[order]
        return Nearness(scores * (UNIT / weights), best)


def searched(text: str) -> list[Chunk]:
    """The chunks of a profile that are searched: all but names."""
    return [chunk for chunk in split(text) if chunk.facet is not Facet.IDENTITY]
