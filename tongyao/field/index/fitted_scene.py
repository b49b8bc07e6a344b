"""The fit of a scene: lexical encoder and document frequencies of words (docs/field.md §6). Also small scenes in
memory."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tongyao.field.bm25 import CorpusStatistics
from tongyao.field.encoders.encoder import Encoder
from tongyao.field.encoders.features import count_features, words
from tongyao.field.encoders.lexical import LexicalEncoder
from tongyao.field.index.store import Index, IndexStore
from tongyao.field.perspectives import Match, TensionScores
from tongyao.field.relevance import answering, relevant
from tongyao.field.scene import MODEL_WEIGHT, Scene, VectorSpace, searchable_chunks
from tongyao.heavy_work import SCENES
from tongyao.protocol.model.tension import Tension

RARE_PEOPLE: Final = 3
RARE_SHARE: Final = 0.002
"""A word is rare if at most `RARE_PEOPLE` people, or at most the share `RARE_SHARE` of them, use it.

Rare words are looked up exactly.
"""


@dataclass(frozen=True)
class FittedScene:
    """`encoder`, and the statistics of BM25.

    `documents`: number of people. `average`: mean length of their texts. `features`: sorted hashed words that at least
    two people use. `frequency`: the number of people who use each of these words.
    """

    encoder: LexicalEncoder
    documents: int
    average: float
    features: npt.NDArray[np.int32]
    frequency: npt.NDArray[np.int32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> FittedScene:
        """Fit on these profiles."""
        pieces = [[text[chunk.start : chunk.end] for chunk in searchable_chunks(text)] for text in texts]
        whole = ["\n".join(parts) for parts in pieces]
        encoder = LexicalEncoder.fit([piece for parts in pieces for piece in parts] or ["-"], whole=whole or ["-"])
        counts = count_features(whole or ["-"], words)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        features = np.flatnonzero(frequency >= 2)
        return cls(
            encoder, counts.shape[0], float(counts.sum() / counts.shape[0]) or 1.0, features.astype(np.int32),
            frequency[features].astype(np.int32),
        )  # fmt: skip

    def rare(self, features: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Whether each hashed word is rare: bool, one per feature. The encoder knows little about rare words."""
        return self.statistics(features).frequency <= max(RARE_PEOPLE, RARE_SHARE * self.documents)

    def statistics(self, features: npt.NDArray[np.int32]) -> CorpusStatistics:
        """BM25 statistics of these features. An unknown feature counts as used by one person."""
        if len(self.features) == 0:
            return CorpusStatistics(self.documents, self.average, np.ones(len(features), dtype=np.int64))
        places = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
        known = self.features[places] == features
        return CorpusStatistics(self.documents, self.average, np.where(known, self.frequency[places], 1))

    def to_bytes(self) -> bytes:
        held = io.BytesIO()
        np.savez(
            held, encoder=np.frombuffer(self.encoder.to_bytes(), dtype=np.uint8), features=self.features,
            frequency=self.frequency, documents=self.documents, average=self.average,
        )  # fmt: skip
        return held.getvalue()

    @classmethod
    def from_bytes(cls, learned: bytes) -> FittedScene:
        with np.load(io.BytesIO(learned), allow_pickle=False) as held:
            return cls(
                LexicalEncoder.from_bytes(held["encoder"].tobytes()), int(held["documents"]), float(held["average"]),
                held["features"], held["frequency"],
            )  # fmt: skip


class InMemoryScene:
    """One scene, with the lexical encoder fitted on all of its people."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @classmethod
    async def of(
        cls,
        name: str,
        texts: dict[str, str],
        samples: set[str],
        store: IndexStore,
        models: Sequence[tuple[Index, Encoder]],
    ) -> InMemoryScene:
        """Fit the lexical encoder on `texts` (id → profile). Read the vectors of `models` from their indexes."""
        fit = partial(Scene.of, texts, samples=samples)
        scene = await SCENES.run(fit, person=f"scene/{name}")
        spaces = list(scene.spaces)
        for index, encoder in models:
            stored = await store.chunks(index, list(texts), terms=False)
            places = {(id, chunk): row for row, (id, _, chunk) in enumerate(stored.rows())}
            vectors = np.zeros((len(scene.chunks), index.dimension), dtype=np.float32)
            for row, key in enumerate(zip(scene.owner_ids, scene.chunks, strict=True)):
                if key in places:
                    vectors[row] = stored.vectors[places[key]]
            spaces.append(VectorSpace(encoder, vectors, MODEL_WEIGHT))
        return cls(scene.with_spaces(spaces))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Match]]:
        """Call `relevance.relevant` on all people of the scene."""
        return await asyncio.to_thread(relevant, self._scene, needs, top=top, excluded=excluded)

    async def lists(
        self, tension: Tension, *, limit: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> dict[str, list[Match]]:
        """Call `TensionScores.lists` on all people of the scene."""
        return await asyncio.to_thread(
            lambda: TensionScores(self._scene, tension, excluded, threshold=threshold).lists(limit)
        )

    async def answering(
        self, tension: Tension, *, top: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> list[Match]:
        """Call `relevance.answering` on all people of the scene."""
        return await asyncio.to_thread(answering, self._scene, tension, top=top, excluded=excluded, threshold=threshold)
