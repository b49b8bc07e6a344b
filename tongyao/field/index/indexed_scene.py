"""Search in a scene that is too large for memory (docs/field.md §6).

The index yields candidates. Then the exact scores of the candidates are computed.
"""

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
"""The number of people sampled to estimate the mean and the standard deviation of scores."""

NEAREST = 40
"""For a raw text: the number of nearest chunks per facet requested from the index.

The owners of these chunks are then scored over all their chunks.
"""

NEAREST_FOR_A_PART = 25
NEAREST_ASIDE = 10
EF_ASIDE = 64
"""For one part of a tension.

`NEAREST_FOR_A_PART`: nearest chunks of the facet with which a perspective compares the part. `NEAREST_ASIDE`: nearest
chunks of the other facets, for interference. `EF_ASIDE`: `ef_search` for the other facets.
"""

RARE_WORDS = 8
"""The number of rarest words of a raw text that are looked up exactly."""

RARE_WORDS_OF_A_PART = 3
USING_A_WORD = 10
"""`RARE_WORDS_OF_A_PART`: rarest words looked up for a part of a tension. `USING_A_WORD`: maximum candidates per word.
"""


class IndexedScene:
    """One scene, searched through its live indexes. The lexical index is the first. Each index has its encoder."""

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
        """Read the sample from the index. `indexes[0]` is the lexical index, and `learned` is its fit."""
        await asyncio.to_thread(
            EncodedQueries.of, ["-"], encoders[:1]
        )  # loads jieba's dictionary now, which takes a second
        sample = await store.chunks(indexes[0], await store.some_people(indexes[0], SAMPLE_PEOPLE))
        return cls(store, indexes, encoders, learned, sample, await _vectors(store, indexes, sample))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Match]]:
        """Call `relevance.relevant` on the candidates of each need."""
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
        """Call `TensionScores.lists` on the candidates of all parts of the tension."""
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
        """Call `relevance.answering` on the candidates of the whole tension."""
        encoded = await self._encode(whole_and_parts(tension))
        scene = await self._around(encoded, [(0, side, NEAREST, EF_SEARCH) for side in SIDES], excluded)
        return answering(scene, tension, top=top, excluded=excluded, threshold=threshold, encoded=encoded)

    async def _encode(self, queries: Sequence[str]) -> EncodedQueries:
        """Encode queries, in a thread if there is an encoder with weights.

        The lexical encoder alone takes only about as long as the start of a thread.
        """
        if len(self._encoders) > 1:
            return await asyncio.to_thread(EncodedQueries.of, queries, self._encoders)
        return EncodedQueries.of(queries, self._encoders)

    async def _around(
        self, encoded: EncodedQueries, asked: Sequence[tuple[int, Facet, int, int]], excluded: Sequence[str]
    ) -> Scene:
        """Make a scene of the candidates: owners of the nearest chunks, and users of the rarest words.

        `asked`: for each lookup the number of the query, the facet, the number of chunks, `ef_search`.
        """
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
    """Vectors of the chunks in `stored`, one matrix per index. The rows of chunks that an index lacks are zeros."""
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
    """Distinct ids in order, and for each row the number of its id."""
    people = list(dict.fromkeys(ids))
    places = {id: n for n, id in enumerate(people)}
    return people, np.array([places[id] for id in ids], dtype=np.int64)
