"""Runs deliveries to people's own servers side by side: so many at a time, so many of one person, each for so long at most."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any


class DeliveryPool:
    """`most`: deliveries at a time. `most_of_one`: of one person, so that nobody's slow server takes the places of others."""

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self.most_of_one = most_of_one
        self._most = most
        self._running: dict[asyncio.Task[None], str] = {}

    @property
    def free(self) -> int:
        return self._most - len(self._running)

    @property
    def busy(self) -> list[str]:
        """People who have as many deliveries running as they may."""
        counts = Counter(self._running.values())
        return sorted(person for person, running in counts.items() if running >= self.most_of_one)

    def start(self, person: str, delivery: Coroutine[Any, Any, None]) -> None:
        """`delivery` takes care of its own errors and of its end."""
        task = asyncio.create_task(delivery)
        self._running[task] = person
        task.add_done_callback(self._running.pop)

    async def one_ended(self, seconds: float) -> None:
        """Return when a delivery has ended, or after so many seconds."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)

    async def drain(self) -> None:
        """Return when none runs."""
        while self._running:
            await asyncio.wait(list(self._running))

    async def stop(self) -> None:
        """Cancel what runs; it is tried again when its lease is over."""
        for task in list(self._running):
            task.cancel()
        await self.drain()
