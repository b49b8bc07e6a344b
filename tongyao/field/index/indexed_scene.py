"""Search in a scene too large for memory: candidates from the index, exact scores for the candidates (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from tongyao.field.bm25 import TermCounts
from tongyao.field.encoders.encoder import Encoder, Vectors
from tongyao.field.facets import Facet
from tongyao.field.index.fitted_scene import FittedScene
from tongyao.field.index.packing import StoredChunks, unpacked
from tongyao.field.index.store import EF_SEARCH, Index, IndexStore, NearestQuery, written
from tongyao.field.perspectives import Match, TensionScores
from tongyao.field.relevance import SIDES, answering, relevant, whole_and_parts
from tongyao.field.scene import MODEL_WEIGHT, SVD_WEIGHT, EncodedQueries, Scene, VectorSpace
from tongyao.protocol.model.tension import Tension

SAMPLE_PEOPLE = 300
"""People sampled to estimate the mean and standard deviation by which scores are standardised."""

NEAREST = 40
"""Nearest chunks per facet that the index is asked for, for a raw text. Their owners are then scored over all their chunks."""

NEAREST_FOR_A_PART = 25
NEAREST_ASIDE = 10
EF_ASIDE = 64
"""For one part of a tension: nearest chunks on the facet that a perspective compares it with; on the others (for interference),
and `ef_search` there."""

RARE_WORDS = 8
"""Rarest words looked up exactly: of a raw text, and of each part of a tension."""

RARE_WORDS_OF_A_PART = 3
USING_A_WORD = 10
"""Candidates at most per such word."""


class IndexedScene:
    """One scene, searched through its live indexes (the lexical one first), each with its encoder."""

    def __init__(
        self, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: FittedScene,
        sample: StoredChunks, vectors: Sequence[Vectors],
    ) -> None:  # fmt: skip
        self._store = store
        self._indexes = list(indexes)
        self._encoders = list(encoders)
        self._learned = learned
        self._sample = self._scene(sample, vectors, unpacked(sample.terms), None)

    @classmethod
    async def load(
        cls, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: FittedScene
    ) -> IndexedScene:
        """Read the sample from the index. `indexes[0]` is the lexical one, fitted as `learned`."""
        await asyncio.to_thread(
            EncodedQueries.of, ["-"], encoders[:1]
        )  # jieba's dictionary is read now, which takes a second
        sample = await store.chunks(indexes[0], await store.some_people(indexes[0], SAMPLE_PEOPLE))
        return cls(store, indexes, encoders, learned, sample, await _vectors(store, indexes, sample))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Match]]:
        """`relevance.relevant`, over the candidates of each need."""
        answers = []
        for need in needs:
            encoded = await self._encode([need])
            asked = [(0, side, max(NEAREST, 2 * top), EF_SEARCH) for side in SIDES]
            scene = await self._around(encoded, asked, excluded)
            answers += relevant(scene, [need], top=top, excluded=excluded, encoded=encoded)
        return answers

    async def lists(
        self, tension: Tension, *, limit: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> dict[str, list[Match]]:
        """`TensionScores.lists`, over the candidates of all parts of the tension."""
        parts = tension.targets()
        encoded = await self._encode(list(parts.values()))
        own = {"T": Facet.MOVES, "E": Facet.NEEDS}
        most = max(NEAREST_FOR_A_PART, 2 * limit)
        asked = [
            (number, side, most, EF_SEARCH)
            if side is own.get(label, Facet.OFFERS)
            else (number, side, NEAREST_ASIDE, EF_ASIDE)
            for number, label in enumerate(parts)
            if label != "I"
            for side in SIDES
        ]
        scene = await self._around(encoded, asked, excluded)
        return TensionScores(scene, tension, excluded, threshold=threshold, encoded=encoded).lists(limit)

    async def answering(
        self, tension: Tension, *, top: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> list[Match]:
        """`relevance.answering`, over the candidates of all of the tension at once."""
        encoded = await self._encode(whole_and_parts(tension))
        scene = await self._around(encoded, [(0, side, NEAREST, EF_SEARCH) for side in SIDES], excluded)
        return answering(scene, tension, top=top, excluded=excluded, threshold=threshold, encoded=encoded)

    async def _encode(self, queries: Sequence[str]) -> EncodedQueries:
        """Encode queries; in a thread only with a model, because the lexical encoder takes about as long as starting a thread."""
        if len(self._encoders) > 1:
            return await asyncio.to_thread(EncodedQueries.of, queries, self._encoders)
        return EncodedQueries.of(queries, self._encoders)

    async def _around(
        self, encoded: EncodedQueries, asked: Sequence[tuple[int, Facet, int, int]], excluded: Sequence[str]
    ) -> Scene:
        """A scene of the candidates: owners of the nearest chunks (query, facet, how many, ef) and users of the rarest words."""
        questions = []
        for vectors, speaking in zip(encoded.vectors, encoded.speaking, strict=True):
            literals = {n: written(vectors[n]) for n, speaks in enumerate(speaking) if speaks and vectors[n].any()}
            questions.append(
                [NearestQuery(literals[n], side, most, ef) for n, side, most, ef in asked if n in literals]
            )
        also: list[str] = []
        for index, put in zip(self._indexes[1:], questions[1:], strict=True):
            also += await self._store.near(index, put, without=excluded)
        rare = self._rare_words(encoded, sorted({query for query, *_ in asked}))
        stored = await self._store.around(
            self._indexes[0], questions[0], rare, using=USING_A_WORD, also=also, without=excluded
        )
        counts = unpacked(stored.terms, encoded.terms.features)
        return self._scene(stored, await _vectors(self._store, self._indexes, stored), counts, self._sample)

    def _rare_words(self, encoded: EncodedQueries, queries: Sequence[int]) -> list[int]:
        most = RARE_WORDS if len(queries) == 1 else RARE_WORDS_OF_A_PART
        found: dict[int, None] = {}
        for features in (encoded.terms.features[encoded.terms.words[query]] for query in queries):
            rare = features[self._learned.rare(features)]
            order = np.argsort(self._learned.statistics(rare).frequency, kind="stable")
            found |= dict.fromkeys(rare[order][:most].tolist())
        return list(found)

    def _scene(
        self, stored: StoredChunks, vectors: Sequence[Vectors], counts: TermCounts, reference: Scene | None
    ) -> Scene:
        people, owners = _people(stored.ids)
        weights = [SVD_WEIGHT, *[MODEL_WEIGHT] * (len(self._encoders) - 1)]
        spaces = [
            VectorSpace(encoder, made, weight)
            for encoder, made, weight in zip(self._encoders, vectors, weights, strict=True)
        ]
        return Scene(
            people, owners, stored.chunks, spaces, counts,
            samples=stored.samples, reference=reference, statistics=self._learned.statistics,
        )  # fmt: skip


async def _vectors(store: IndexStore, indexes: Sequence[Index], stored: StoredChunks) -> list[Vectors]:
    """Vectors of the chunks in `stored`, one matrix per index; zeros where an index does not hold a chunk."""
    vectors = [stored.vectors]
    for index in indexes[1:]:
        other = await store.chunks(index, list(dict.fromkeys(stored.ids)), terms=False)
        places = {(id, no): row for row, (id, no, _) in enumerate(other.rows())}
        made = np.zeros((len(stored.ids), index.dimension), dtype=np.float32)
        for row, (id, no, _) in enumerate(stored.rows()):
            if (id, no) in places:
                made[row] = other.vectors[places[id, no]]
        vectors.append(made)
    return vectors


def _people(ids: Sequence[str]) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Distinct ids in order, and the number of the id of each row."""
    people = list(dict.fromkeys(ids))
    places = {id: n for n, id in enumerate(people)}
    return people, np.array([places[id] for id in ids], dtype=np.int64)
