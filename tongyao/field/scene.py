"""People in memory: their chunks as vectors and as counts, and how near they are to a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from threadpoolctl import ThreadpoolController

from tongyao.field.bm25 import Counts, Said, Statistics, bm25, standardised
from tongyao.field.encoders.encoder import Encoder, Vectors
from tongyao.field.encoders.features import counted, words
from tongyao.field.encoders.lexical import LexicalEncoder
from tongyao.field.facets import Chunk, Facet, split
from tongyao.protocol.model.sizes import language_of

SVD_WEIGHT: Final = 2.0
MODEL_WEIGHT: Final = 2.0
WORDS_WEIGHT: Final = 1.0
UNIT: Final = 3.0
"""The score of who is one standard deviation above the mean in everything, whichever spaces a query is asked in."""

ONE_THREAD: Final = ThreadpoolController()
"""A handful of queries over a few thousand chunks: more threads of BLAS would mostly wait for each other."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """Every chunk as one encoder sees it: vectors, a row for each chunk of the scene."""

    encoder: Encoder
    vectors: Vectors
    weight: float


@dataclass(frozen=True)
class Spoken:
    """Queries as counts of hashed words, and as each encoder sees them: a row each, and whether it speaks their language."""

    words: csr_matrix
    vectors: list[Vectors]
    speaking: list[npt.NDArray[np.bool_]]

    @cached_property
    def said(self) -> Said:
        """Which words they have."""
        return Said.of(self.words)

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
        return cls(counted(queries, words), vectors, speaking)


@dataclass(frozen=True)
class Asked:
    """Queries laid over a scene, before a side is chosen: how near every chunk is (queries, chunks), which words are said.

    `reference`: the same queries laid over those who tell mean and spread.
    """

    cosines: list[Scores]
    speaking: list[npt.NDArray[np.bool_]]
    said: Said
    statistics: Statistics | None
    reference: Asked | None


@dataclass(frozen=True)
class Side:
    """The chunks of some sides: `rows` of the scene, whose (`people`, from which place of `rows` on), and people's words."""

    rows: npt.NDArray[np.int64]
    owners: npt.NDArray[np.int64]
    people: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    roots: Scores
    counts: Counts


@dataclass(frozen=True)
class Raw:
    """How near each person is, as each space and BM25 count it: (queries, people)."""

    spaces: list[Scores]
    words: Scores


@dataclass(frozen=True)
class Nearness:
    """How near each person is to each query, over the scene's spread, and their nearest chunk.

    Both of the shape (queries, people); a chunk is a row of the scene, -1 where a person has none.
    """

    scores: Scores
    chunks: npt.NDArray[np.int64]


class Scene:
    """People in the order of `profile_ids`, chunks in the order of people and of their texts.

    `counts`: hashed words of each chunk. `samples`: who stands behind others on a tie. `reference`: others of the same
    scene, in the same spaces, who alone tell mean and spread (None: those who are here do). `statistics`: of hashed words
    (sorted) in the whole scene, where these people are only some of it.
    """

    def __init__(
        self, profile_ids: Sequence[str], owners: npt.NDArray[np.int64], chunks: Sequence[Chunk], spaces: Sequence[Space],
        counts: Counts, *, samples: Iterable[str] = (), reference: Scene | None = None,
        statistics: Callable[[npt.NDArray[np.int32]], Statistics] | None = None,
    ) -> None:  # fmt: skip
        self.profile_ids = list(profile_ids)
        self.chunks = list(chunks)
        self.spaces = list(spaces)
        self._owners = owners
        self._counts = counts
        self._reference = reference
        self._statistics = statistics
        self._samples = frozenset(samples)
        self._sides: dict[tuple[Facet, ...], Side] = {}
        standing = sorted(
            range(len(self.profile_ids)), key=lambda n: (self.profile_ids[n] in self._samples, self.profile_ids[n])
        )
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
        counts = Counts.of(counted(pieces, words))
        return cls(list(texts), np.array(owners, dtype=np.int64), chunks, [space], counts, samples=samples)

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
            samples=self._samples, statistics=self._statistics,
        )  # fmt: skip

    def without(self, profile_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Everybody's number but theirs."""
        left_out = set(profile_ids)
        return np.array([n for n, id in enumerate(self.profile_ids) if id not in left_out], dtype=np.int64)

    def ask(self, queries: Sequence[str], spoken: Spoken | None = None) -> Asked:
        """Lay queries over the scene. `spoken`: their vectors in the order of `spaces`, where they are known."""
        with ONE_THREAD.limit(limits=1):
            spoken = spoken or Spoken.of(queries, [space.encoder for space in self.spaces])
            return self._ask(spoken, self._statistics(spoken.said.features) if self._statistics else None)

    def _ask(self, spoken: Spoken, statistics: Statistics | None) -> Asked:
        cosines = [
            np.maximum(vectors @ space.vectors.T, 0).astype(np.float64)
            for space, vectors in zip(self.spaces, spoken.vectors, strict=True)
        ]
        reference = self._reference._ask(spoken, statistics) if self._reference else None
        return Asked(cosines, spoken.speaking, spoken.said, statistics, reference)

    def near(self, asked: Asked, sides: Sequence[Facet]) -> Nearness:
        """Each query against the chunks of `sides`: every space and BM25, standardised, weighted and summed."""
        people, queries = len(self.profile_ids), len(asked.said.words)
        best = np.full((queries, people), -1)
        side = self._side(tuple(sides))
        if not len(side.rows) or not queries:
            return Nearness(np.zeros((queries, people)), best)
        raw = self._raw(asked, side)
        known = raw
        if self._reference is not None and asked.reference is not None:
            known = self._reference._raw(asked.reference, self._reference._side(tuple(sides)))

        scores = WORDS_WEIGHT * standardised(raw.words, known.words)
        weights = np.full((queries, 1), WORDS_WEIGHT)
        nearest = np.zeros((queries, len(side.rows)))
        for number, space in enumerate(self.spaces):
            weight = space.weight * asked.speaking[number][:, None]
            scores += weight * standardised(raw.spaces[number], known.spaces[number])
            nearest += weight * asked.cosines[number][:, side.rows]
            weights += weight
        for query, row in enumerate(nearest):
            order = np.argsort(row, kind="stable")
            best[query, side.owners[order]] = side.rows[order]
        return Nearness(scores * (UNIT / weights), best)

    def _side(self, sides: tuple[Facet, ...]) -> Side:
        if sides not in self._sides:
            among = np.array([chunk.facet in sides for chunk in self.chunks], dtype=bool)
            rows = np.flatnonzero(among)
            people, starts, sizes = np.unique(self._owners[rows], return_index=True, return_counts=True)
            counts = self._counts.grouped(np.where(among, self._owners, -1), len(self.profile_ids))
            self._sides[sides] = Side(rows, self._owners[rows], people, starts, np.sqrt(sizes), counts)
        return self._sides[sides]

    def _raw(self, asked: Asked, side: Side) -> Raw:
        """Summed over the chunks of each person; who has none on these sides is at zero."""
        spaces = []
        for cosines in asked.cosines:
            dense = np.zeros((len(cosines), len(self.profile_ids)))
            if len(side.rows):
                dense[:, side.people] = np.add.reduceat(cosines[:, side.rows] ** 2, side.starts, axis=1) / side.roots
            spaces.append(dense)
        return Raw(spaces, bm25(side.counts, asked.said, asked.statistics))


def searched(text: str) -> list[Chunk]:
    """The chunks of a profile that are searched: all but names."""
    return [chunk for chunk in split(text) if chunk.facet is not Facet.IDENTITY]
