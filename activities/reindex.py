"""The steps that build a new index of a scene (docs/field.md §6). Each step is idempotent."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from tongyao.field.encoders.encoder import EncoderUnusable, IndexGone
from tongyao.protocol.contracts.reindex import (
    FILL_INDEX,
    OPEN_INDEX,
    SWITCH_INDEX,
    FillInput,
    ModelSpec,
    ReindexInput,
    ReindexProgress,
)
from tongyao.records.people.scenes import SceneUnknown

T = TypeVar("T")


class Indexing(Protocol):
    """Creates and fills indexes, which are identified by number."""

    async def open(self, scene: str, kind: str, *, model: ModelSpec | None, refit: bool) -> ReindexProgress:
        """Return the index to fill: one that was begun earlier, or else a new one."""
        ...

    async def fill_some(self, index: int, *, most: int) -> ReindexProgress:
        """Index up to `most` people who are missing."""
        ...

    async def switch(self, index: int) -> ReindexProgress:
        """Make searches use this index instead of the previous one."""
        ...


class Reindexing:
    def __init__(self, indexing: Indexing) -> None:
        self._indexing = indexing

    @activity.defn(name=OPEN_INDEX.name)
    async def open_index(self, what: ReindexInput) -> ReindexProgress:
        return await _done(self._indexing.open(what.scene, what.kind, model=what.model, refit=what.refit))

    @activity.defn(name=FILL_INDEX.name)
    async def fill_index(self, what: FillInput) -> ReindexProgress:
        return await _done(self._indexing.fill_some(what.index, most=what.most))

    @activity.defn(name=SWITCH_INDEX.name)
    async def switch_index(self, what: FillInput) -> ReindexProgress:
        return await _done(self._indexing.switch(what.index))


async def _done(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` while sending heartbeats. Errors that only an operator can remove are not retried."""
    try:
        async with heartbeats():
            return await work
    except (EncoderUnusable, IndexGone, SceneUnknown) as error:
        raise ApplicationError(str(error), type=type(error).__name__, non_retryable=True) from None
