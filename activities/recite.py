"""Indexes one level of a profile version for the Highway (docs/highway.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from temporalio import activity

from activities.heartbeats import heartbeats
from tongyao.protocol.contracts.recitation import RECITE_LEVEL, RecitationInput, RecitationProgress
from tongyao.protocol.model.process import ProfileRef


class RecitedLevel(Protocol):
    """Progress of a profile's index: the level just indexed (None: none was missing), and whether all are done."""

    @property
    def level(self) -> object: ...

    @property
    def done(self) -> bool: ...


ReciteLevel = Callable[[str, int, list[str], int], Awaitable[RecitedLevel]]
"""`Highway.recite_level`: takes owner, version, texts and passes, and returns the level."""


class Reciting:
    """`text`: returns the text of a profile version. `recite_level`: `Highway.recite_level`."""

    def __init__(
        self,
        text: Callable[[ProfileRef], Awaitable[str]],
        recite_level: ReciteLevel,
    ) -> None:
        self._text = text
        self._recite_level = recite_level

    @activity.defn(name=RECITE_LEVEL)
    async def recite_level(self, what: RecitationInput) -> RecitationProgress:
        """Index and store the first missing level."""
        text = await self._text(ProfileRef(profile_id=what.profile_id, version=what.version))
        async with heartbeats():
            recited = await self._recite_level(what.profile_id, what.version, [text], what.passes)
        return RecitationProgress(level=getattr(recited.level, "name", ""), done=recited.done)
