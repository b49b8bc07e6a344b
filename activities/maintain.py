"""The steps of maintenance duties (docs/operations.md §11), recitation and re-indexing, with given implementations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from tongyao.field.encoders.encoder import EncoderUnusable, IndexGone
from tongyao.protocol.contracts.maintenance import (
    FILL_INDEX,
    MAINTAIN,
    OPEN_INDEX,
    RECITE_LEVEL,
    SWITCH_INDEX,
    Duty,
    DutyInput,
    DutyReport,
    FillInput,
    ModelSpec,
    RecitationInput,
    RecitationProgress,
    ReindexInput,
    ReindexProgress,
)
from tongyao.protocol.model.process import ProfileRef
from tongyao.records.maintenance import DutyFailed, DutyLog
from tongyao.records.people.scenes import SceneUnknown

RunDuty = Callable[[], Awaitable[DutyReport]]


class Maintaining:
    """Runs maintenance duties, and stores the result of each run for metrics and `tongyao doctor`. `duties`: the
    function of each duty."""

    def __init__(self, duties: Mapping[Duty, RunDuty], log: DutyLog) -> None:
        self._duties = duties
        self._log = log

    @activity.defn(name=MAINTAIN.name)
    async def maintain(self, what: DutyInput) -> DutyReport:
        """Run a duty. If it finds a fault that only an operator can repair, raises an `ApplicationError` without
        retry."""
        try:
            async with heartbeats():
                report = await self._duties[what.duty]()
        except DutyFailed as error:
            await self._log.failed(what.duty, error.code)
            raise ApplicationError(str(error), type=error.code, non_retryable=True) from None
        except Exception as error:
            with suppress(Exception):  # the records may be the cause of the failure
                await self._log.failed(what.duty, type(error).__name__)
            raise
        await self._log.succeeded(what.duty, report.counts)
        return report


class RecitedLevel(Protocol):
    """Progress of a profile's index. `level`: the level just indexed; None if no level was missing. `done`: whether all
    levels are indexed."""

    @property
    def level(self) -> object: ...

    @property
    def done(self) -> bool: ...


ReciteLevel = Callable[[str, int, list[str], int], Awaitable[RecitedLevel]]
"""The type of `Highway.recite_level`: takes owner, version, texts and passes, and returns the level."""


class Reciting:
    """Indexes long profiles. `text`: returns the text of a profile version. `recite_level`: `Highway.recite_level`."""

    def __init__(
        self,
        text: Callable[[ProfileRef], Awaitable[str]],
        recite_level: ReciteLevel,
    ) -> None:
        self._text = text
        self._recite_level = recite_level

    @activity.defn(name=RECITE_LEVEL)
    async def recite_level(self, what: RecitationInput) -> RecitationProgress:
        """Index and store the first missing level of a profile's index."""
        text = await self._text(ProfileRef(profile_id=what.profile_id, version=what.version))
        async with heartbeats():
            recited = await self._recite_level(what.profile_id, what.version, [text], what.passes)
        return RecitationProgress(level=getattr(recited.level, "name", ""), done=recited.done)


T = TypeVar("T")


class Indexing(Protocol):
    """Creates and fills the search indexes of scenes. A number identifies an index."""

    async def open(self, scene: str, kind: str, *, model: ModelSpec | None, refit: bool) -> ReindexProgress:
        """Return the index to fill: an index begun earlier, or else a new index."""
        ...

    async def fill_some(self, index: int, *, most: int) -> ReindexProgress:
        """Add up to `most` missing people to the index."""
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
    """Await `work` while sending heartbeats. Errors that need an operator become errors without retry."""
    try:
        async with heartbeats():
            return await work
    except (EncoderUnusable, IndexGone, SceneUnknown) as error:
        raise ApplicationError(str(error), type=type(error).__name__, non_retryable=True) from None
