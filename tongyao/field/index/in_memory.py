"""A scene small enough to hold in memory: everybody is looked at, nothing is approximated (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from tongyao.field.encoders.encoder import Encoder
from tongyao.field.index.store import Index, IndexStore
from tongyao.field.perspectives import Found, View
from tongyao.field.relevance import relevant
from tongyao.field.scene import MODEL_WEIGHT, Scene, Space
from tongyao.protocol.model.tension import Tension


class HeldScene:
    """One scene, fitted on all of its people."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @classmethod
    async def of(
        cls, texts: dict[str, str], samples: set[str], store: IndexStore, models: Sequence[tuple[Index, Encoder]]
    ) -> HeldScene:
        """Fit the lexical encoder; vectors of `models` are read from their indexes."""
        scene = await asyncio.to_thread(Scene.of, texts, samples=samples)
        spaces = list(scene.spaces)
        for index, encoder in models:
            stored = await store.chunks(index, list(texts), terms=False)
            places = {(id, chunk): row for row, (id, _, chunk) in enumerate(stored.rows())}
            vectors = np.zeros((len(scene.chunks), index.dimension), dtype=np.float32)
            for row, key in enumerate(zip(scene.owner_ids, scene.chunks, strict=True)):
                if key in places:
                    vectors[row] = stored.vectors[places[key]]
            spaces.append(Space(encoder, vectors, MODEL_WEIGHT))
        return cls(scene.seen_by(spaces))

    async def relevant(self, needs: Sequence[str], *, top: int, excluded: Sequence[str] = ()) -> list[list[Found]]:
        """`relevance.relevant`, over everybody."""
        return await asyncio.to_thread(relevant, self._scene, needs, top=top, excluded=excluded)

    async def lists(
        self, tension: Tension, *, limit: int, excluded: Sequence[str] = (), threshold: float = 0.0
    ) -> dict[str, list[Found]]:
        """`View.lists`, over everybody."""
        return await asyncio.to_thread(lambda: View(self._scene, tension, excluded, threshold=threshold).lists(limit))
