"""Work that many ask for at the same time is done once for all of them (single flight), and its results may be kept for a while."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Flight(Generic[T]):
    began_at: float
    result: asyncio.Future[T]


class SingleFlight(Generic[T]):
    """Results by key. A caller who is cancelled does not end the work for the others: a step that is tried again finds its result.

    `keep`: results that are kept when they are there, the last ones; `seconds`: how long each counts, from when its work began.
    """

    def __init__(self, *, keep: int = 0, seconds: float = math.inf) -> None:
        self._keep, self._seconds = keep, seconds
        self._kept: OrderedDict[Hashable, _Flight[T]] = OrderedDict()
        self._under_way: dict[Hashable, _Flight[T]] = {}
        self._next: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The kept result of `key`, or that of the work under way; else `work` is begun. Raises as `work`, to everybody who waits."""
        flight = self._kept.get(key) or self._under_way.get(key)
        if flight is None or time.monotonic() - flight.began_at > self._seconds:
            flight = self._begin(key, work)
        elif key in self._kept:
            self._kept.move_to_end(key)
        return await asyncio.shield(flight.result)

    async def get_later(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """The result of work that begins after this call, shared with those who call meanwhile. Nothing that was read earlier is returned."""
        if key not in self._next:
            self._next[key] = asyncio.ensure_future(self._after_this(key, work))
        return await asyncio.shield(self._next[key])

    async def _after_this(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        if before := self._under_way.get(key):
            await asyncio.wait([before.result])
        del self._next[key]
        return await self._begin(key, work).result

    def _begin(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> _Flight[T]:
        flight = self._under_way[key] = _Flight(time.monotonic(), asyncio.ensure_future(work()))
        flight.result.add_done_callback(lambda result: self._ended(key, flight))
        return flight

    def _ended(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._under_way.get(key) is flight:
            del self._under_way[key]
        if flight.result.cancelled() or flight.result.exception() is not None:
            return
        self._kept[key] = flight
        self._kept.move_to_end(key)
        while len(self._kept) > self._keep:
            self._kept.popitem(last=False)
