"""A scene too large to hold in memory: who is near is asked of the index, and looked at closely (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from tongyao.field.bm25 import Counts
from tongyao.field.encoders.encoder import Encoder, Vectors
from tongyao.field.facets import Facet
from tongyao.field.index.fitted import Learned
from tongyao.field.index.packing import Stored, unpacked
from tongyao.field.index.store import EF_SEARCH, Index, IndexStore, Question, written
from tongyao.field.perspectives import Found, View
from tongyao.field.relevance import SIDES, relevant
from tongyao.field.scene import MODEL_WEIGHT, SVD_WEIGHT, Scene, Space, Spoken
from tongyao.protocol.model.tension import Tension

SAMPLE_PEOPLE = 300
"""People who tell mean and spread of a scene: its scores are in their standard deviations."""

NEAREST = 40
"""Chunks of each side asked of the index for a raw text; whose they are is scored exactly, over all of their chunks."""

NEAREST_FOR_A_PART = 25
NEAREST_ASIDE = 10
EF_ASIDE = 64
"""For a part of a tension: on the side that a perspective compares it with, and on the others (for interference)."""

RARE_WORDS = 8
"""Looked up as they are: so many of a raw text, fewer of each part of a tension, whose parts are several."""

RARE_WORDS_OF_A_PART = 3
USING_A_WORD = 10
"""People looked at for each of those words."""


class WideScene:
    """One scene by its live indexes, the lexical one first, with the encoder of each."""

    def __init__(
        self, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: Learned,
        sample: Stored, vectors: Sequence[Vectors],
    ) -> None:  # fmt: skip
        self._store = store
        self._indexes = list(indexes)
        self._encoders = list(encoders)
        self._learned = learned
        self._sample = self._scene(sample, vectors, unpacked(sample.terms), None)

    @classmethod
    async def load(
        cls, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: Learned
    ) -> WideScene:
        """Read the sample. `indexes[0]` is the lexical one, fitted as `learned`."""
        await asyncio.to_thread(Spoken.of, ["-"], encoders[:1])  # jieba's dictionary is read now, which takes a second
        sample = await store.chunks(indexes[0], await store.some_people(indexes[0], SAMPLE_PEOPLE))
        return cls(store, indexes, encoders, learned, sample, await _vectors(store, indexes, sample))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Found]]:
        """`relevance.relevant`, over whoever is near each need."""
        answers = []
        for need in needs:
            spoken = await self._spoken([need])
            asked = [(0, side, max(NEAREST, 2 * top), EF_SEARCH) for side in SIDES]
            scene = await self._around(spoken, asked, excluded)
            answers += relevant(scene, [need], top=top, excluded=excluded, spoken=spoken)
        return answers

    async def lists(
        self, tension: Tension, *, limit: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> dict[str, list[Found]]:
        """`View.lists`, over whoever is near any part on the side that a perspective compares it with, or on any side."""
        parts = tension.targets()
        spoken = await self._spoken(list(parts.values()))
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
        scene = await self._around(spoken, asked, excluded)
        return View(scene, tension, excluded, threshold=threshold, spoken=spoken).lists(limit)

    async def _spoken(self, queries: Sequence[str]) -> Spoken:
        """Only a model is worth a thread: the rest, and scoring a few hundred chunks, takes about as long as waking one."""
        if len(self._encoders) > 1:
            return await asyncio.to_thread(Spoken.of, queries, self._encoders)
        return Spoken.of(queries, self._encoders)

    async def _around(
        self, spoken: Spoken, asked: Sequence[tuple[int, Facet, int, int]], excluded: Sequence[str]
    ) -> Scene:
        """Everybody with a chunk among the nearest of a question (query, side, how many, ef), or who uses its rarest words."""
        questions = []
        for vectors, speaking in zip(spoken.vectors, spoken.speaking, strict=True):
            said = {n: written(vectors[n]) for n, speaks in enumerate(speaking) if speaks and vectors[n].any()}
            questions.append([Question(said[n], side, most, ef) for n, side, most, ef in asked if n in said])
        also: list[str] = []
        for index, put in zip(self._indexes[1:], questions[1:], strict=True):
            also += await self._store.near(index, put, without=excluded)
        rare = self._rare_words(spoken, sorted({query for query, *_ in asked}))
        stored = await self._store.around(
            self._indexes[0], questions[0], rare, using=USING_A_WORD, also=also, without=excluded
        )
        counts = unpacked(stored.terms, spoken.said.features)
        return self._scene(stored, await _vectors(self._store, self._indexes, stored), counts, self._sample)

    def _rare_words(self, spoken: Spoken, queries: Sequence[int]) -> list[int]:
        most = RARE_WORDS if len(queries) == 1 else RARE_WORDS_OF_A_PART
        found: dict[int, None] = {}
        for features in (spoken.said.features[spoken.said.words[query]] for query in queries):
            rare = features[self._learned.rare(features)]
            order = np.argsort(self._learned.statistics(rare).frequency, kind="stable")
            found |= dict.fromkeys(rare[order][:most].tolist())
        return list(found)

    def _scene(self, stored: Stored, vectors: Sequence[Vectors], counts: Counts, reference: Scene | None) -> Scene:
        people, owners = _people(stored.ids)
        weights = [SVD_WEIGHT, *[MODEL_WEIGHT] * (len(self._encoders) - 1)]
        spaces = [
            Space(encoder, made, weight) for encoder, made, weight in zip(self._encoders, vectors, weights, strict=True)
        ]
        return Scene(
            people, owners, stored.chunks, spaces, counts,
            samples=stored.samples, reference=reference, statistics=self._learned.statistics,
        )  # fmt: skip


async def _vectors(store: IndexStore, indexes: Sequence[Index], stored: Stored) -> list[Vectors]:
    """The chunks that the lexical index holds, as each index has them; zeros where one does not."""
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
    """Distinct ids in order, and whose each row is."""
    people = list(dict.fromkeys(ids))
    places = {id: n for n, id in enumerate(people)}
    return people, np.array([places[id] for id in ids], dtype=np.int64)
