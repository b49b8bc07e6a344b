"""Indexes one level of a profile version for the Highway (docs/highway.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from temporalio import activity

from tongyao.protocol.contracts.recitation import RECITE_LEVEL, RecitationInput, RecitationProgress
from tongyao.protocol.model.process import ProfileRef

BEAT_SECONDS = 5


class Step(Protocol):
    """Progress of a memory: the level just recited (None: it was done before), and whether all is done."""

    @property
    def level(self) -> object: ...

    @property
    def done(self) -> bool: ...


ReciteLevel = Callable[[str, int, list[str], int], Awaitable[Step]]
"""`Highway.recite_level`: owner, version, texts, passes → the step."""


class Reciting:
    """`text`: the text of a profile version. `recite_level`: `Highway.recite_level`."""

    def __init__(
        self,
        text: Callable[[ProfileRef], Awaitable[str]],
        recite_level: ReciteLevel,
    ) -> None:
        self._text = text
        self._recite_level = recite_level

    @activity.defn(name=RECITE_LEVEL)
    async def recite_level(self, what: RecitationInput) -> RecitationProgress:
        """Recite and store the first level that is missing."""
        text = await self._text(ProfileRef(profile_id=what.profile_id, version=what.version))
        work = asyncio.ensure_future(self._recite_level(what.profile_id, what.version, [text], what.passes))
        try:
            while not (await asyncio.wait([work], timeout=BEAT_SECONDS))[0]:
                activity.heartbeat()
        finally:
            work.cancel()
        step = work.result()
        return RecitationProgress(level=getattr(step.level, "name", ""), done=step.done)
