"""A scene too large to hold in memory: who is near is asked of the index, and looked at closely (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, vstack

from tongyao.field.encoder import Encoder, Vectors
from tongyao.field.features import counted, words
from tongyao.field.learned import Learned
from tongyao.field.perspectives import Found, View
from tongyao.field.relevance import relevant
from tongyao.field.scene import MODEL_WEIGHT, SVD_WEIGHT, Scene, Space, Spoken
from tongyao.field.store import Index, IndexStore
from tongyao.field.stored import Stored
from tongyao.protocol.tension import Tension

SAMPLE_PEOPLE = 300
"""People who tell mean and spread of a scene: its scores are in their standard deviations."""

NEAREST_CHUNKS = 100
"""Chunks asked of the index for a raw text; whose they are is scored exactly, over all of their chunks."""

NEAREST_FOR_A_PART = 40
RARE_WORDS = 8
"""Looked up as they are: so many of a raw text, fewer of each part of a tension, whose parts are several."""

RARE_WORDS_OF_A_PART = 3
USING_A_WORD = 10
"""People looked at for each of those words."""


@dataclass(frozen=True)
class Seen:
    """People as all indexes see them: chunks and counts of the lexical one, vectors of each."""

    stored: Stored
    vectors: list[Vectors]


class WideScene:
    """One scene by its live indexes, the lexical one first, with the encoder of each."""

    def __init__(
        self, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: Learned, sample: Seen
    ) -> None:
        self._store = store
        self._indexes = list(indexes)
        self._encoders = list(encoders)
        self._learned = learned
        self._sample = sample

    @classmethod
    async def load(
        cls, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: Learned
    ) -> WideScene:
        """Read the sample. `indexes[0]` is the lexical one, fitted as `learned`."""
        people = await store.some_people(indexes[0], SAMPLE_PEOPLE)
        return cls(store, indexes, encoders, learned, await _seen(store, indexes, people))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Found]]:
        """`relevance.relevant`, over whoever is near each need."""
        answers = []
        for need in needs:
            spoken = await asyncio.to_thread(Spoken.of, [need], self._encoders)
            scene = await self._around([need], spoken, [(0, "")], excluded, max(NEAREST_CHUNKS, 4 * top))
            answers += await asyncio.to_thread(relevant, scene, [need], top=top, excluded=excluded, spoken=spoken)
        return answers

    async def lists(
        self, tension: Tension, *, limit: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> dict[str, list[Found]]:
        """`View.lists`, over whoever is near any part on the side that a perspective compares it with, or on any side."""
        parts = tension.targets()
        spoken = await asyncio.to_thread(Spoken.of, list(parts.values()), self._encoders)
        own = {"T": "moves", "E": "needs"}
        asked = [
            (number, sides)
            for number, label in enumerate(parts)
            if label != "I"
            for sides in (own.get(label, "offers"), "")
        ]
        scene = await self._around(list(parts.values()), spoken, asked, excluded, max(NEAREST_FOR_A_PART, 2 * limit))
        return await asyncio.to_thread(_lists, scene, tension, limit, excluded, threshold, spoken)

    async def _around(
        self,
        queries: Sequence[str],
        spoken: Spoken,
        asked: Sequence[tuple[int, str]],
        excluded: Sequence[str],
        most: int,
    ) -> Scene:
        """The sample, then everybody with a chunk among the nearest `most` of a question: (query, its sides).

        And who uses one of a question's rarest words.
        """
        rare = await asyncio.to_thread(self._rare_words, [queries[number] for number in {query for query, _ in asked}])
        near: set[str] = (
            set(await self._store.using(self._indexes[0], rare, without=excluded, most=USING_A_WORD)) if rare else set()
        )
        for index, vectors, speaking in zip(self._indexes, spoken.vectors, spoken.speaking, strict=True):
            put = [(query, sides) for query, sides in asked if speaking[query] and vectors[query].any()]
            if put:
                rows = vectors[[query for query, _ in put]]
                near |= set(
                    await self._store.nearest(index, rows, [sides for _, sides in put], without=excluded, most=most)
                )
        found = await _seen(self._store, self._indexes, sorted(near))
        return await asyncio.to_thread(self._scene, found)

    def _rare_words(self, queries: Sequence[str]) -> list[int]:
        most = RARE_WORDS if len(queries) == 1 else RARE_WORDS_OF_A_PART
        found: dict[int, None] = {}
        for features in (np.unique(counted([query], words).indices) for query in queries):
            rare = features[self._learned.rare(features)]
            order = np.argsort(self._learned.statistics(rare).frequency, kind="stable")
            found |= dict.fromkeys(rare[order][:most].tolist())
        return list(found)

    def _scene(self, found: Seen) -> Scene:
        known, reference = _people(self._sample.stored.ids)
        people, answers = _people(found.stored.ids)
        weights = [SVD_WEIGHT, *[MODEL_WEIGHT] * (len(self._encoders) - 1)]
        spaces = [
            Space(encoder, np.vstack([before, after]), weight)
            for encoder, before, after, weight in zip(
                self._encoders, self._sample.vectors, found.vectors, weights, strict=True
            )
        ]
        return Scene(
            [*known, *people], np.concatenate([reference, answers + len(known)]),
            [*self._sample.stored.chunks, *found.stored.chunks], spaces,
            csr_matrix(vstack([self._sample.stored.counts, found.stored.counts], format="csr")),
            samples=found.stored.samples, reference=len(known), statistics=self._learned.statistics,
        )  # fmt: skip


def _lists(
    scene: Scene, tension: Tension, limit: int, excluded: Sequence[str], threshold: float, spoken: Spoken
) -> dict[str, list[Found]]:
    return View(scene, tension, excluded, threshold=threshold, spoken=spoken).lists(limit)


async def _seen(store: IndexStore, indexes: Sequence[Index], people: Sequence[str]) -> Seen:
    stored = await store.chunks(indexes[0], people)
    vectors = [stored.vectors]
    for index in indexes[1:]:
        other = await store.chunks(index, people, terms=False)
        places = {(id, no): row for row, (id, no, _) in enumerate(other.rows())}
        made = np.zeros((len(stored.ids), index.dimension), dtype=np.float32)
        for row, (id, no, _) in enumerate(stored.rows()):
            if (id, no) in places:
                made[row] = other.vectors[places[id, no]]
        vectors.append(made)
    return Seen(stored, vectors)


def _people(ids: Sequence[str]) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Distinct ids in order, and whose each row is."""
    people = list(dict.fromkeys(ids))
    places = {id: n for n, id in enumerate(people)}
    return people, np.array([places[id] for id in ids], dtype=np.int64)
