"""The Highway as a retriever: what of a long profile an endpoint sees."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tongyao.highway.highway import Highway, NotRecited


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` of a profile, its activation, and the labels of the queries that lit it."""

    start: int
    end: int
    score: float
    labels: tuple[str, ...]


ReciteMore = Callable[[str, int, int, str], Awaitable[None]]
"""Owner, version, passes, encoder (its label) → such a recitation is on its way, in the background."""


class HighwayRetriever:
    """Seeks each tension's queries in the recited profile. A profile that was not recited yet is recited
    first, in the foreground; the recitation workflow exists so that this is the exception."""

    def __init__(self, highway: Highway, recite_more: ReciteMore | None = None) -> None:
        """`recite_more` is asked where a seek calls for another recitation (`Highway.due`); None: nobody is."""
        self._highway = highway
        self._recite_more = recite_more
        self._reciting: dict[tuple[str, int], asyncio.Lock] = {}

    async def retrieve(
        self, *, owner: str, version: int, text: str, queries: Sequence[tuple[str, str]], budget: int
    ) -> list[Span]:
        """Spans that do not overlap, brightest first, at most `budget` characters together; none where
        nothing is lit.

        Raises ValueError if `text` is not the text that was recited, or `budget` is negative.
        """
        try:
            found, session = await self._highway.seek(owner, version, [text], queries, budget)
        except NotRecited:
            async with self._reciting.setdefault((owner, version), asyncio.Lock()):
                await self._highway.recite(owner, version, [text], directed=False)
            self._reciting.pop((owner, version), None)
            found, session = await self._highway.seek(owner, version, [text], queries, budget)
        due = self._highway.due(found, session)
        if due is not None and self._recite_more is not None:
            await self._recite_more(owner, version, due.passes, due.encoder)
        return [Span(piece.start, piece.end, piece.score, piece.labels) for piece in found.fitted]
