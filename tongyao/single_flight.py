"""Single flight: concurrent callers of the same work share one execution. Results may be cached for a time."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Flight(Generic[T]):
    began_at: float
    result: asyncio.Future[T]


class SingleFlight(Generic[T]):
    """Results by key. A cancelled caller does not end the work for the others, so a retried step finds its result.

    `keep`: number of most recently used results that are cached. `seconds`: validity of a result, from the start of its
    work.
    """

    def __init__(self, *, keep: int = 0, seconds: float = math.inf) -> None:
        self._keep, self._seconds = keep, seconds
        self._kept: OrderedDict[Hashable, _Flight[T]] = OrderedDict()
        self._under_way: dict[Hashable, _Flight[T]] = {}
        self._next: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return the cached result of `key`, or that of the running work; otherwise start `work`. Raises as `work`."""
        flight = self._valid(self._kept, key)
        if flight is not None:
            self._kept.move_to_end(key)
        else:
            flight = self._valid(self._under_way, key) or self._begin(key, work)
        return await asyncio.shield(flight.result)

    async def get_later(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of work that starts after this call. All callers until that start share the work."""
        if key not in self._next:
            self._next[key] = asyncio.ensure_future(self._after_this(key, work))
        return await asyncio.shield(self._next[key])

    async def _after_this(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        if before := self._under_way.get(key):
            await asyncio.wait([before.result])
        del self._next[key]
        return await self._begin(key, work).result

    def _valid(self, flights: Mapping[Hashable, _Flight[T]], key: Hashable) -> _Flight[T] | None:
        flight = flights.get(key)
        return flight if flight is not None and time.monotonic() - flight.began_at <= self._seconds else None

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
