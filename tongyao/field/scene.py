"""Scores people against queries, with chunk vectors and term counts in memory (docs/field.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from threadpoolctl import ThreadpoolController

from tongyao.field.bm25 import CorpusStatistics, QueryTerms, TermCounts, bm25, z_scores
from tongyao.field.encoders.encoder import Encoder, Vectors
from tongyao.field.encoders.features import count_features, words
from tongyao.field.encoders.lexical import LexicalEncoder
from tongyao.field.facets import Chunk, Facet, split
from tongyao.protocol.model.sizes import language_of

SVD_WEIGHT: Final = 2.0
MODEL_WEIGHT: Final = 2.0
WORDS_WEIGHT: Final = 1.0
LONG_WORDS_WEIGHT: Final = 4.0
"""The weight of BM25 in a query of many lines, which has enough words."""
UNIT: Final = 3.0
"""The score of a person who is one standard deviation above the mean in every space.

This score does not depend on the number of spaces that a query uses.
"""

FEW: Final = 3
"""Least number of people who share a term with a query for a mean and standard deviation of them alone."""

ONE_THREAD: Final = ThreadpoolController()
"""Limits BLAS to one thread. For a few queries over a few thousand chunks, more threads are slower."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class VectorSpace:
    """The vectors of one encoder (one row per chunk of the scene), and the weight of the encoder in the score."""

    encoder: Encoder
    vectors: Vectors
    weight: float


@dataclass(frozen=True)
class EncodedQueries:
    """Queries as hashed term counts, and as vectors of each encoder.

    `speaking`: by encoder and query, whether the encoder supports the language of the query.
    """

    words: csr_matrix
    vectors: list[Vectors]
    speaking: list[npt.NDArray[np.bool_]]

    @cached_property
    def terms(self) -> QueryTerms:
        """The distinct terms of the queries."""
        return QueryTerms.of(self.words)

    @classmethod
    def of(cls, queries: Sequence[str], encoders: Sequence[Encoder]) -> EncodedQueries:
        """Encode each query with the encoders that support its language. Vectors of other encoders are zeros."""
        languages = [language_of(query) for query in queries]
        vectors, speaking = [], []
        for encoder in encoders:
            speaks = np.array(
                [not encoder.languages or language in encoder.languages for language in languages], dtype=bool
            )
            made = np.zeros((len(queries), encoder.dimension), dtype=np.float32)
            if speaks.any():
                made[speaks] = encoder.encode([q for q, s in zip(queries, speaks, strict=True) if s], query=True)
            vectors.append(made)
            speaking.append(speaks)
        return cls(count_features(queries, words), vectors, speaking)


@dataclass(frozen=True)
class QuerySimilarities:
    """Similarities of queries to all chunks of a scene: cosines per space, float64[queries, chunks], and query terms.

    `reference`: similarities of the same queries to the people whose scores give mean and standard deviation.
    """

    cosines: list[Scores]
    speaking: list[npt.NDArray[np.bool_]]
    terms: QueryTerms
    statistics: CorpusStatistics | None
    reference: QuerySimilarities | None


@dataclass(frozen=True)
class FacetChunks:
    """The chunks of some facets.

    `rows`: the rows of these chunks in the scene. `owners`: the owner of each row. `people`: the distinct owners.
    `starts`: the position of each owner's first row. `roots`: the square root of the number of rows of each owner.
    `counts`: term counts per person.
    """

    rows: npt.NDArray[np.int64]
    owners: npt.NDArray[np.int64]
    people: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    roots: Scores
    counts: TermCounts


@dataclass(frozen=True)
class RawScores:
    """Scores before standardisation, float64[queries, people]: one matrix for each space, and one for BM25."""

    spaces: list[Scores]
    words: Scores


@dataclass(frozen=True)
class Nearness:
    """`scores` float64[queries, people]: standardised over the scene. `chunks` int64[queries, people]: row of the
    person's nearest chunk, or -1 without a chunk of these facets. `counted` int64[queries]: number of people in the
    mean.
    """

    scores: Scores
    chunks: npt.NDArray[np.int64]
    counted: npt.NDArray[np.int64]


class Scene:
    """People in the order of `profile_ids`, and their chunks in the same order.

    `owners`: for each chunk, the index of its person. `counts`: term counts of each chunk. `samples`: ids of people who
    rank behind others with equal scores. `reference`: people of the same scene and spaces whose scores give mean and
    standard deviation (None: the people of this object). `statistics`: returns BM25 statistics of the whole scene for
    sorted features; needed if these people are only a part of the scene.
    """

    def __init__(
        self, profile_ids: Sequence[str], owners: npt.NDArray[np.int64], chunks: Sequence[Chunk], spaces: Sequence[VectorSpace],
        counts: TermCounts, *, samples: Iterable[str] = (), reference: Scene | None = None,
        statistics: Callable[[npt.NDArray[np.int32]], CorpusStatistics] | None = None,
    ) -> None:  # fmt: skip
        self.profile_ids = list(profile_ids)
        self.chunks = list(chunks)
        self.spaces = list(spaces)
        self._owners = owners
        self._counts = counts
        self._reference = reference
        self._statistics = statistics
        self._samples = frozenset(samples)
        self._sides: dict[tuple[Facet, ...], FacetChunks] = {}
        standing = sorted(
            range(len(self.profile_ids)), key=lambda n: (self.profile_ids[n] in self._samples, self.profile_ids[n])
        )
        self.precedence = np.zeros(len(self.profile_ids), dtype=np.int64)
        self.precedence[standing] = np.arange(len(standing))

    @classmethod
    def of(cls, texts: dict[str, str], *, samples: Iterable[str] = ()) -> Scene:
        """Make a scene from all its profiles: cut them into chunks, fit an encoder, encode. `texts`: id → profile."""
        owners, chunks, pieces = [], [], []
        for number, text in enumerate(texts.values()):
            for chunk in searchable_chunks(text):
                owners.append(number)
                chunks.append(chunk)
                pieces.append(text[chunk.start : chunk.end])
        whole: list[list[str]] = [[] for _ in texts]
        for owner, piece in zip(owners, pieces, strict=True):
            whole[owner].append(piece)
        encoder = LexicalEncoder.fit(pieces or ["-"], whole=["\n".join(parts) for parts in whole] or ["-"])
        space = VectorSpace(encoder, encoder.encode(pieces), SVD_WEIGHT)
        counts = TermCounts.of(count_features(pieces, words))
        return cls(list(texts), np.array(owners, dtype=np.int64), chunks, [space], counts, samples=samples)

    @property
    def owner_ids(self) -> list[str]:
        """The profile id of each chunk."""
        return [self.profile_ids[owner] for owner in self._owners]

    def pieces(self, texts: dict[str, str]) -> list[str]:
        """Return the text of every chunk. `texts`: id → profile."""
        return [
            texts[self.profile_ids[owner]][chunk.start : chunk.end]
            for owner, chunk in zip(self._owners, self.chunks, strict=True)
        ]

    def with_spaces(self, spaces: Sequence[VectorSpace]) -> Scene:
        """Return a scene with the same people and chunks, and with other spaces."""
        return Scene(
            self.profile_ids, self._owners, self.chunks, spaces, self._counts,
            samples=self._samples, statistics=self._statistics,
        )  # fmt: skip

    def without(self, profile_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the indices of all people except `profile_ids`."""
        left_out = set(profile_ids)
        return np.array([n for n, id in enumerate(self.profile_ids) if id not in left_out], dtype=np.int64)

    def ask(self, queries: Sequence[str], encoded: EncodedQueries | None = None) -> QuerySimilarities:
        """Compare queries with every chunk. `encoded`: the queries, if already encoded in the order of `spaces`."""
        with ONE_THREAD.limit(limits=1):
            encoded = encoded or EncodedQueries.of(queries, [space.encoder for space in self.spaces])
            return self._ask(encoded, self._statistics(encoded.terms.features) if self._statistics else None)

    def _ask(self, encoded: EncodedQueries, statistics: CorpusStatistics | None) -> QuerySimilarities:
        cosines = [
            np.maximum(vectors @ space.vectors.T, 0).astype(np.float64)
            for space, vectors in zip(self.spaces, encoded.vectors, strict=True)
        ]
        reference = self._reference._ask(encoded, statistics) if self._reference else None
        return QuerySimilarities(cosines, encoded.speaking, encoded.terms, statistics, reference)

    def near(self, asked: QuerySimilarities, sides: Sequence[Facet], *, sharing: bool = False) -> Nearness:
        """Score each query against the chunks of these facets: every space and BM25, standardised, weighted and summed.

        `sharing`: for a long query. Mean and standard deviation are those of the people who share a term with the query
        (if they are at least `FEW`), because people who write in another language would make all others seem near. BM25
        has the highest weight. A space in which all scores are equal is left out.
        """
        people, queries = len(self.profile_ids), len(asked.terms.words)
        best = np.full((queries, people), -1)
        side = self._side(tuple(sides))
        if not len(side.rows) or not queries:
            return Nearness(np.zeros((queries, people)), best, np.zeros(queries, dtype=np.int64))
        raw = self._raw(asked, side)
        known = raw
        if self._reference is not None and asked.reference is not None:
            known = self._reference._raw(asked.reference, self._reference._side(tuple(sides)))

        counted = known.words > (0 if sharing else -1)
        counted |= counted.sum(axis=1, keepdims=True) < FEW
        by_words = LONG_WORDS_WEIGHT if sharing else WORDS_WEIGHT
        scores = by_words * z_scores(raw.words, known.words, counted)
        weights = np.full((queries, 1), by_words)
        nearest = np.zeros((queries, len(side.rows)))
        for number, space in enumerate(self.spaces):
            weight = space.weight * asked.speaking[number][:, None]
            standardised = z_scores(raw.spaces[number], known.spaces[number], counted)
            if sharing:
                weight = weight * standardised.any(axis=1, keepdims=True)
            scores += weight * standardised
            nearest += weight * asked.cosines[number][:, side.rows]
            weights += weight
        for query, row in enumerate(nearest):
            order = np.argsort(row, kind="stable")
            best[query, side.owners[order]] = side.rows[order]
        return Nearness(scores * (UNIT / weights), best, counted.sum(axis=1))

    def _side(self, sides: tuple[Facet, ...]) -> FacetChunks:
        if sides not in self._sides:
            among = np.array([chunk.facet in sides for chunk in self.chunks], dtype=bool)
            rows = np.flatnonzero(among)
            people, starts, sizes = np.unique(self._owners[rows], return_index=True, return_counts=True)
            counts = self._counts.grouped(np.where(among, self._owners, -1), len(self.profile_ids))
            self._sides[sides] = FacetChunks(rows, self._owners[rows], people, starts, np.sqrt(sizes), counts)
        return self._sides[sides]

    def _raw(self, asked: QuerySimilarities, side: FacetChunks) -> RawScores:
        """Sum the scores over the chunks of each person. A person without chunks of these facets gets 0."""
        spaces = []
        for cosines in asked.cosines:
            dense = np.zeros((len(cosines), len(self.profile_ids)))
            if len(side.rows):
                dense[:, side.people] = np.add.reduceat(cosines[:, side.rows] ** 2, side.starts, axis=1) / side.roots
            spaces.append(dense)
        return RawScores(spaces, bm25(side.counts, asked.terms, asked.statistics))


def searchable_chunks(text: str) -> list[Chunk]:
    """Return the chunks of a profile, except those of the facet `identity`."""
    return [chunk for chunk in split(text) if chunk.facet is not Facet.IDENTITY]
