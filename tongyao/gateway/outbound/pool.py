"""Runs deliveries to people's own servers side by side."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping
from typing import Any


class DeliveryPool:
    """`most`: deliveries at a time. `most_of_one`: of one person, so that nobody's slow server takes the places of others.

    Whoever starts a delivery keeps to both, by `free` and `running`.
    """

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self.most_of_one = most_of_one
        self._most = most
        self._people: dict[asyncio.Task[None], str] = {}

    @property
    def free(self) -> int:
        return self._most - len(self._people)

    @property
    def running(self) -> Mapping[str, int]:
        """How many deliveries run, by person."""
        return Counter(self._people.values())

    def start(self, person: str, delivery: Coroutine[Any, Any, None]) -> None:
        """`delivery` takes care of its own errors and of its end."""
        task = asyncio.create_task(delivery)
        self._people[task] = person
        task.add_done_callback(self._people.pop)

    async def one_ended(self, seconds: float) -> None:
        """Return when a delivery has ended, or after so many seconds."""
        if self._people:
            await asyncio.wait(self._people, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)

    async def drain(self) -> None:
        """Return when none runs."""
        while self._people:
            await asyncio.wait(list(self._people))

    async def stop(self) -> None:
        """Cancel what runs; it is tried again when its lease is over."""
        for task in list(self._people):
            task.cancel()
        await self.drain()
