"""Retrievers over long profiles: chunks, the Highway, or both (docs/highway.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Literal

import structlog
from temporalio.service import RPCError

from activities.dependencies import Retriever
from crystalline_highway.highway import Highway, NotRecited, ReciteRequest, UsedSpans
from tongyao.field.retriever import BUDGET_CHARS, ChunkRetriever, joined, labels_in, queries_of
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import Material, Piece
from tongyao.protocol.model.tension import Tension
from tongyao.runtime.start_recitation import Recite
from tongyao.single_flight import SingleFlight

ASK_SECONDS: Final = 5
"""Seconds that a turn waits until a re-indexing is queued. After a failure, the next search queues it again."""
_log = structlog.get_logger(__name__)


class HighwayRetriever:
    """Returns the passages that a search in the indexed profile finds, in text order.

    A profile that is not indexed yet is indexed first, in the foreground and without vectors. Usually the recitation
    workflow has indexed it before.
    """

    name: Final = "highway"

    def __init__(self, highway: Highway, recite: Recite | None = None, *, budget_chars: int = BUDGET_CHARS) -> None:
        """`recite` queues the re-indexing that a search needs (`Highway.due`). If None, no re-indexing is queued."""
        self._highway = highway
        self._recite = recite
        self._budget = budget_chars
        self._reciting = SingleFlight[None]()

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension, focus: tuple[str, ...] = ()) -> Material:
        """Return pieces of `text`, at most `budget_chars` characters together, each with the parts that it matches.

        Raises `ValueError` if `text` is not the indexed text.
        """
        owner, version, queries = profile.profile_id, profile.version, list(queries_of(tension, focus).items())
        try:
            found, session = await self._highway.seek(owner, version, [text], queries, self._budget)
        except NotRecited:
            await self._reciting.get(
                (owner, version), lambda: self._highway.recite(owner, version, [text], directed=False)
            )
            found, session = await self._highway.seek(owner, version, [text], queries, self._budget)
        due = self._highway.due(found, session)
        if due is not None and self._recite is not None:
            await self._queue(self._recite, profile, due)
        spans = sorted((span.start, span.end, labels_in(tension, span.labels)) for span in found.fitted)
        pieces = tuple(Piece(start=start, text=text[start:end], labels=labels) for start, end, labels in spans)
        return Material(pieces=pieces, total_chars=len(text))

    async def _queue(self, recite: Recite, profile: ProfileRef, due: ReciteRequest) -> None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await recite(profile.profile_id, profile.version, due.passes, due.encoder)
        except (RPCError, TimeoutError) as error:
            _log.warning(
                "recitation_not_queued",
                profile=profile.profile_id,
                version=profile.version,
                reason=type(error).__name__,
            )


class BothRetrievers:
    """Combines two retrievers, each with half the budget. Passages that both find are returned once."""

    name: Final = "both"

    def __init__(self, first: Retriever, second: Retriever) -> None:
        self._retrievers = (first, second)

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension, focus: tuple[str, ...] = ()) -> Material:
        spans = []
        for retriever in self._retrievers:
            found = await retriever.retrieve(profile, text, tension, focus)
            spans += [(piece.start, piece.start + len(piece.text), piece.labels) for piece in found.pieces]
        return Material(pieces=joined(text, spans), total_chars=len(text))


class HighwayFeedback:
    """Relevance feedback: for each unit of the profile, counts the processes in which its passages were used."""

    def __init__(self, highway: Highway) -> None:
        self._highway = highway

    async def strengthen(
        self, profile: ProfileRef, occasion: str, queries: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> None:
        """Count that the profile's characters in `spans` answered `queries`. Does nothing without an index."""
        walk = UsedSpans(queries=tuple(queries), spans=tuple((0, start, end) for start, end in spans))
        try:
            await self._highway.write_back(profile.profile_id, profile.version, occasion, [walk])
        except NotRecited:
            return


def retriever(name: Literal["highway", "both"], highway: Highway, recite: Recite | None = None) -> Retriever:
    """Return the retriever with this name. `recite` queues a re-indexing."""
    if name == "highway":
        return HighwayRetriever(highway, recite)
    half = BUDGET_CHARS // 2
    return BothRetrievers(ChunkRetriever(budget_chars=half), HighwayRetriever(highway, recite, budget_chars=half))
