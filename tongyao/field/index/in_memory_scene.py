"""Exhaustive search in a scene that fits into memory (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import numpy as np

from tongyao.field.encoders.encoder import Encoder
from tongyao.field.index.store import Index, IndexStore
from tongyao.field.perspectives import Match, TensionScores
from tongyao.field.relevance import answering, relevant
from tongyao.field.scene import MODEL_WEIGHT, Scene, VectorSpace
from tongyao.heavy_work import SCENES
from tongyao.protocol.model.tension import Tension


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
        """Fit the lexical encoder on `texts` (id → profile) of the scene `name`. Read the vectors of `models` from their indexes."""
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
        """`relevance.answering`, over all people of the scene."""
        return await asyncio.to_thread(answering, self._scene, tension, top=top, excluded=excluded, threshold=threshold)
