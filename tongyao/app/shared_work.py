"""Work that many ask for at the same time is done once for all of them, and never before they asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SharedWork(Generic[Result]):
    """Whoever asks for work of a key that has begun already waits for the next time that it is done, together with all who ask meanwhile.

    So what is given to anybody was read after they asked, as if they had been alone. Nothing is kept.
    """

    def __init__(self) -> None:
        self._going_on: dict[Hashable, asyncio.Task[Result]] = {}
        self._next: dict[Hashable, asyncio.Task[Result]] = {}

    async def of(self, key: Hashable, work: Callable[[], Coroutine[object, object, Result]]) -> Result:
        """What `work` returns or raises. `key`: equal for those for whom it is the same."""
        joined = self._next.get(key)
        if joined is None:
            joined = self._next[key] = asyncio.create_task(self._done(key, work))
        return await asyncio.shield(joined)  # who gives up waiting does not take it from the others

    async def _done(self, key: Hashable, work: Callable[[], Coroutine[object, object, Result]]) -> Result:
        before = self._going_on.get(key)
        if before is not None:
            await asyncio.wait([before])
        task = self._going_on[key] = self._next.pop(key)
        try:
            return await work()
        finally:
            if self._going_on[key] is task:
                del self._going_on[key]
