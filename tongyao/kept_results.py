"""Results that are made once for everybody who asks for them, and go on being made when whoever asked first no longer waits."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")


class KeptResults(Generic[T]):
    """The last `most` results, by key. A step whose time is over finds the result in its next try instead of making it anew."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, asyncio.Future[T]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """The result for `key`; `make` is called where there is none. Raises as `make`."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = asyncio.ensure_future(make())
            making.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(making)

    def _ended(self, key: Hashable, made: asyncio.Future[T]) -> None:
        self._making.pop(key, None)
        if made.cancelled() or made.exception() is not None:
            return
        self._kept[key] = made.result()
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
