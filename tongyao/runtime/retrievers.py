"""Retrievers over long profiles: chunks, the Highway, or both (docs/highway.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import structlog
from temporalio.service import RPCError

from tongyao.field.retriever import BUDGET_CHARS, ChunkRetriever
from tongyao.highway.highway import Highway, NotRecited, Walk
from tongyao.highway.retriever import HighwayRetriever
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import Material, Piece
from tongyao.protocol.model.tension import Tension
from tongyao.runtime.start_recitation import Recite

ASK_SECONDS: Final = 5
"""As long as a turn may be held up by asking for a recitation; the next seek asks again."""
_log = structlog.get_logger(__name__)


class _Retriever(Protocol):
    @property
    def name(self) -> str: ...

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension) -> Material: ...


class HighwayMaterial:
    """What a seek lit, in text order. Nothing lit: nothing is shown, for no path is an answer."""

    name: Final = "highway"

    def __init__(self, highway: Highway, recite: Recite | None = None, *, budget_chars: int = BUDGET_CHARS) -> None:
        """`recite` queues the recitation that a seek calls for; None: nobody does."""
        self._recite = recite
        self._retriever = HighwayRetriever(highway, None if recite is None else self._queued)
        self._budget = budget_chars

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension) -> Material:
        spans = await self._retriever.retrieve(
            owner=profile.profile_id,
            version=profile.version,
            text=text,
            queries=list(tension.targets().items()),
            budget=self._budget,
        )
        pieces = [Piece(start=one.start, text=text[one.start : one.end], labels=one.labels) for one in spans]
        return Material(pieces=tuple(sorted(pieces, key=lambda piece: piece.start)), total_chars=len(text))

    async def _queued(self, owner: str, version: int, passes: int, encoder: str) -> None:
        assert self._recite is not None  # else nobody is asked
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await self._recite(owner, version, passes, encoder)
        except (RPCError, TimeoutError) as error:
            _log.warning("recitation_not_queued", profile=owner, version=version, reason=type(error).__name__)


class BothMaterial:
    """Half the room for each; what both found is shown once."""

    name: Final = "both"

    def __init__(self, first: _Retriever, second: _Retriever) -> None:
        self._retrievers = (first, second)

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension) -> Material:
        pieces: list[Piece] = []
        for retriever in self._retrievers:
            pieces += (await retriever.retrieve(profile, text, tension)).pieces
        return Material(pieces=_joined(pieces, text), total_chars=len(text))


class HighwayMemory:
    """Write-back: what a process used of a profile strengthens the owner's own units, once per process."""

    def __init__(self, highway: Highway) -> None:
        self._highway = highway

    async def strengthen(
        self, profile: ProfileRef, occasion: str, queries: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> None:
        """`spans` of the profile answered `queries`. A profile that was never recited has nothing to strengthen."""
        walk = Walk(queries=tuple(queries), spans=tuple((0, start, end) for start, end in spans))
        try:
            await self._highway.write_back(profile.profile_id, profile.version, occasion, [walk])
        except NotRecited:
            return


def retriever(name: str, highway: Highway, recite: Recite | None = None) -> _Retriever:
    """The retriever of this name in the settings. `recite` queues a recitation."""
    if name == "chunks":
        return ChunkRetriever()
    if name == "highway":
        return HighwayMaterial(highway, recite)
    half = BUDGET_CHARS // 2
    return BothMaterial(ChunkRetriever(budget_chars=half), HighwayMaterial(highway, recite, budget_chars=half))


def _joined(pieces: Sequence[Piece], text: str) -> tuple[Piece, ...]:
    merged: list[tuple[int, int, frozenset[str]]] = []
    for piece in sorted(pieces, key=lambda one: one.start):
        start, end, labels = piece.start, piece.start + len(piece.text), frozenset(piece.labels)
        if merged and start <= merged[-1][1]:
            first, last, before = merged[-1]
            merged[-1] = (first, max(last, end), before | labels)
        else:
            merged.append((start, end, labels))
    return tuple(
        Piece(start=start, text=text[start:end], labels=tuple(sorted(labels))) for start, end, labels in merged
    )
