"""A scene too large to hold in memory: who is near is asked of the index, and looked at closely (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongyao.field.bm25 import Counts
from tongyao.field.encoder import Encoder, Vectors
from tongyao.field.facets import Facet
from tongyao.field.learned import Learned
from tongyao.field.perspectives import Found, View
from tongyao.field.relevance import SIDES, relevant
from tongyao.field.scene import MODEL_WEIGHT, SVD_WEIGHT, Scene, Space, Spoken
from tongyao.field.store import EF_SEARCH, Index, IndexStore, Question, written
from tongyao.field.stored import Stored, unpacked
from tongyao.protocol.tension import Tension

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
        self._sample = self._scene(sample, unpacked(sample.stored.terms), None)

    @classmethod
    async def load(
        cls, store: IndexStore, indexes: Sequence[Index], encoders: Sequence[Encoder], learned: Learned
    ) -> WideScene:
        """Read the sample. `indexes[0]` is the lexical one, fitted as `learned`."""
        people = await store.some_people(indexes[0], SAMPLE_PEOPLE)
        return cls(store, indexes, encoders, learned, await _seen(store, indexes, people))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Found]]:
        """`relevance.relevant`, over whoever is near each need."""
        return [await self._relevant(need, top, excluded) for need in needs]

    async def _relevant(self, need: str, top: int, excluded: Sequence[str]) -> list[Found]:
        spoken = await asyncio.to_thread(Spoken.of, [need], self._encoders)
        asked = [(0, side, max(NEAREST, 2 * top), EF_SEARCH) for side in SIDES]
        seen = await self._around(spoken, asked, excluded)
        [found] = await asyncio.to_thread(
            lambda: relevant(self._asked(seen, spoken), [need], top=top, excluded=excluded, spoken=spoken)
        )
        return found

    async def lists(
        self, tension: Tension, *, limit: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> dict[str, list[Found]]:
        """`View.lists`, over whoever is near any part on the side that a perspective compares it with, or on any side."""
        parts = tension.targets()
        spoken = await asyncio.to_thread(Spoken.of, list(parts.values()), self._encoders)
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
        seen = await self._around(spoken, asked, excluded)
        return await asyncio.to_thread(
            lambda: View(self._asked(seen, spoken), tension, excluded, threshold=threshold, spoken=spoken).lists(limit)
        )

    async def _around(
        self, spoken: Spoken, asked: Sequence[tuple[int, Facet, int, int]], excluded: Sequence[str]
    ) -> Seen:
        """Everybody with a chunk among the nearest of a question (query, side, how many, ef), or who uses its rarest words."""
        rare = self._rare_words(spoken, sorted({query for query, *_ in asked}))
        searches = []
        for index, vectors, speaking in zip(self._indexes, spoken.vectors, spoken.speaking, strict=True):
            said = {
                query: written(vectors[query])
                for query, speaks in enumerate(speaking)
                if speaks and vectors[query].any()
            }
            put = [Question(said[query], side, most, ef) for query, side, most, ef in asked if query in said]
            words = rare if index is self._indexes[0] else []
            half = len(put) // 2  # on two connections at once
            searches += [
                self._store.near(index, questions, by, using=USING_A_WORD, without=excluded)
                for questions, by in ((put[:half], words), (put[half:], []))
                if questions or by
            ]
        near = set[str]().union(*await asyncio.gather(*searches))
        return await _seen(self._store, self._indexes, sorted(near))

    def _rare_words(self, spoken: Spoken, queries: Sequence[int]) -> list[int]:
        most = RARE_WORDS if len(queries) == 1 else RARE_WORDS_OF_A_PART
        found: dict[int, None] = {}
        for features in (np.unique(spoken.words[query].indices) for query in queries):
            rare = features[self._learned.rare(features)]
            order = np.argsort(self._learned.statistics(rare).frequency, kind="stable")
            found |= dict.fromkeys(rare[order][:most].tolist())
        return list(found)

    def _asked(self, seen: Seen, spoken: Spoken) -> Scene:
        """Those who were seen, with the words that are asked for, against the sample's mean and spread."""
        asked = np.unique(spoken.words.indices)
        return self._scene(seen, unpacked(seen.stored.terms, asked), self._sample)

    def _scene(self, seen: Seen, counts: Counts, reference: Scene | None) -> Scene:
        people, owners = _people(seen.stored.ids)
        weights = [SVD_WEIGHT, *[MODEL_WEIGHT] * (len(self._encoders) - 1)]
        spaces = [
            Space(encoder, vectors, weight)
            for encoder, vectors, weight in zip(self._encoders, seen.vectors, weights, strict=True)
        ]
        return Scene(
            people, owners, seen.stored.chunks, spaces, counts,
            samples=seen.stored.samples, reference=reference, statistics=self._learned.statistics,
        )  # fmt: skip


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
