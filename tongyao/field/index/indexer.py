"""Builds and updates the indexes of scenes, in batches. An interrupted build can be continued (docs/field.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from tongyao.field.encoders.encoder import Encoder, EncoderUnusable
from tongyao.field.encoders.features import count_features, words
from tongyao.field.index.fitted_scene import FittedScene
from tongyao.field.index.packing import StoredChunks, packed
from tongyao.field.index.store import Index, IndexStore, PendingProfile
from tongyao.field.scene import searchable_chunks
from tongyao.heavy_work import SCENES
from tongyao.protocol.contracts.maintenance import ModelSpec, ReindexProgress
from tongyao.records.database import Pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes
from tongyao.records.privacy.texts import Texts

FIT_PEOPLE: Final = 20_000
"""The lexical encoder is fitted on at most this many people of a scene, chosen deterministically."""

BATCH_PEOPLE: Final = 500
REFIT_GROWTH: Final = 2.0
"""A re-index fits the lexical encoder again if the scene has grown by at least this factor."""

ENCODER_KINDS: Final = ("lexical", "model")


class Indexer:
    """Indexes the scenes of one database.

    `load` makes an encoder with weights. `model` specifies the encoder of new indexes of kind `model`.
    """

    def __init__(
        self, pool: Pool, *, load: Callable[[ModelSpec], Encoder] | None = None, model: ModelSpec | None = None
    ) -> None:
        self.store = IndexStore(pool)
        self._texts = Texts(pool)
        self._profiles, self._scenes = Profiles(pool), Scenes(pool)
        self._load = load
        self._spec = model
        self._models: dict[ModelSpec, Encoder | EncoderUnusable] = {}
        self._learned: dict[int, FittedScene] = {}
        self._loading = asyncio.Lock()

    async def model(self, spec: ModelSpec) -> Encoder:
        """The encoder with weights that `spec` describes. It is loaded once. Raises `EncoderUnusable`."""
        if self._load is None:
            raise EncoderUnusable("this process loads no encoders with weights")
        async with self._loading:
            if spec not in self._models:
                try:
                    self._models[spec] = await asyncio.to_thread(self._load, spec)
                except EncoderUnusable as error:
                    # the failure is cached, so that not every search waits for a new attempt
                    self._models[spec] = error
            found = self._models[spec]
        if isinstance(found, EncoderUnusable):
            raise found
        return found

    async def learned(self, index: Index) -> FittedScene:
        """Return the fit of the lexical encoder of `index`. The last four loaded indexes are cached."""
        async with self._loading:
            if index.id not in self._learned:
                held = await self.store.learned(index)
                self._learned = {index.id: await asyncio.to_thread(FittedScene.from_bytes, held), **self._learned}
                for old in list(self._learned)[4:]:
                    del self._learned[old]
            return self._learned[index.id]

    async def encoder(self, index: Index) -> Encoder:
        """The encoder of the vectors of `index`. Raises `EncoderUnusable` if its weights are missing or changed."""
        if index.kind == "lexical" or index.spec is None:
            return (await self.learned(index)).encoder
        model = await self.model(index.spec)
        if not index.fits(model):
            raise EncoderUnusable(
                f"the index of scene {index.scene_id!r} contains vectors of {index.encoder} ({index.version}, "
                f"{index.dimension} dimensions), but the current weights are different ({model.version}, {model.dimension}): "
                f"run `tongyao field reindex --scene {index.scene_id} --kind model`"
            )
        return model

    async def begin(self, scene: str, kind: str, *, model: ModelSpec | None = None, refit: bool = False) -> Index:
        """Return the index to fill: an unfinished one, else the live one if its encoder still fits, else a new one.

        `model`: the encoder of kind `model`; it replaces the encoder configured for this process. Raises
        `EncoderUnusable`.
        """
        found = {index.state: index for index in await self.store.indexes(scene) if index.kind == kind}
        if kind == "model":
            spec = model or self._spec
            if spec is None:
                raise EncoderUnusable(
                    "no model is set: give --model NAME, or set TONGYAO_FIELD__MODEL (a name or a folder)"
                )
            encoder = await self.model(spec)
            right = next((index for index in found.values() if index.fits(encoder)), None)
            total = await self.store.people_count(scene)
            return right or await self.store.open(scene, kind, encoder, spec=spec, people=total)
        if "filling" in found:
            return found["filling"]
        people = await self.store.people(scene, FIT_PEOPLE)
        if "live" in found and not refit:
            _, total = await self.store.counts(found["live"])
            if total < REFIT_GROWTH * max(1, found["live"].people):
                return found["live"]
        texts = await self._texts.get_many([person.text_id for person in people], erased="")
        learned = await asyncio.to_thread(FittedScene.of, list(texts.values()))
        total = await self.store.people_count(scene)
        blob = await asyncio.to_thread(learned.to_bytes)
        return await self.store.open(scene, kind, learned.encoder, learned=blob, people=total)

    async def fill(self, index: Index, *, most: int = BATCH_PEOPLE) -> int:
        """Index up to `most` missing people. Returns their number; 0 means that the index is complete."""
        members = await self.store.missing(index, most=most)
        if members:
            await self._put(index, members)
        return len(members)

    async def open(self, scene: str, kind: str, *, model: ModelSpec | None, refit: bool) -> ReindexProgress:
        """Call `begin` and return the progress. Raises `SceneUnknown`, `EncoderUnusable`."""
        await self._scenes.get(scene)
        return await self._progress(await self.begin(scene, kind, model=model, refit=refit))

    async def fill_some(self, index: int, *, most: int) -> ReindexProgress:
        """Call `fill` and return the progress. Raises `IndexGone`."""
        found = await self.store.index(index)
        return await self._progress(found, batch=await self.fill(found, most=most))

    async def switch(self, index: int) -> ReindexProgress:
        """Call `finish` and return the progress. Raises `IndexGone`."""
        await self.finish(await self.store.index(index))
        return await self._progress(await self.store.index(index))

    async def _progress(self, index: Index, *, batch: int = 0) -> ReindexProgress:
        held, people = await self.store.counts(index)
        return ReindexProgress(
            index=index.id, encoder=index.encoder, held=held, people=people, batch=batch, live=index.state == "live"
        )

    async def finish(self, index: Index) -> None:
        """Make a filled index live."""
        if index.state != "live":
            await self.store.switch(index)

    async def catch_up(self, scene: str, indexes: Sequence[Index], *, most: int) -> None:
        """Index new and changed people in every live index, at most `most` of them."""
        if not any(index.behind for index in indexes):
            return
        changed = await self.store.changed(scene, most=most)
        for index in indexes:
            members = await self.store.stale(index, changed)
            if members:
                await self._put(index, members)
        await self.store.settle(scene)

    async def _put(self, index: Index, members: Sequence[PendingProfile]) -> None:
        encoder = await self.encoder(index)
        texts = await self._texts.get_many([member.text_id for member in members], erased="")
        learned = await self.learned(index) if index.kind == "lexical" else None
        people = [(member.profile_id, texts[member.text_id]) for member in members]
        stored = await SCENES.run(partial(_stored, people, encoder, learned), person=f"scene/{index.scene_id}")
        await self.store.put(index, members, stored)


def _stored(people: Sequence[tuple[str, str]], encoder: Encoder, learned: FittedScene | None) -> StoredChunks:
    rows = [
        (id, number, chunk, text[chunk.start : chunk.end])
        for id, text in people
        for number, chunk in enumerate(searchable_chunks(text))
    ]
    pieces = [row[3] for row in rows]
    vectors = encoder.encode(pieces) if pieces else np.zeros((0, encoder.dimension), dtype=np.float32)
    counts = count_features(pieces, words) if learned is not None and pieces else None
    return StoredChunks(
        ids=[row[0] for row in rows], numbers=[row[1] for row in rows], chunks=[row[2] for row in rows], vectors=vectors,
        terms=packed(counts) if counts is not None else [], rare=_rare_words(learned, counts) if learned is not None and counts is not None else [],
    )  # fmt: skip


def _rare_words(learned: FittedScene, counts: csr_matrix) -> list[list[int]]:
    rare = learned.rare(counts.indices)
    return [counts.indices[start:end][rare[start:end]].tolist() for start, end in pairwise(counts.indptr)]
