"""Runs deliveries to people's own servers side by side."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

import structlog

from tongyao.records.database import RecordsError
from tongyao.records.process.changes import SAFETY_SECONDS, Changes, Watch

log = structlog.get_logger()

LEAST_SECONDS: Final = 2.0
"""Between two looks at what is due, where nothing was."""
AT_ONCE: Final = 50
AT_ONCE_OF_ONE: Final = 2


class DeliveryPool:
    """`what`: is delivered, for the log. `start_due` starts as many deliveries as there are places for, and returns how many.

    It keeps to the number of deliveries at a time by `free`, and to that of one person, so that nobody's slow server takes the
    places of others, by `running` and `most_of_one`.
    """

    most_of_one: Final = AT_ONCE_OF_ONE

    def __init__(self, what: str, start_due: Callable[[], Awaitable[int]]) -> None:
        self._what, self._start_due = what, start_due
        self._people: dict[asyncio.Task[None], str] = {}

    async def run(self, stop: asyncio.Event, changes: Changes, *, idle: float = SAFETY_SECONDS) -> None:
        """Start what is due until `stop`: again when a process has new events, a delivery has ended, or after `idle` seconds."""
        stopping = asyncio.create_task(stop.wait())
        with changes.watch_all() as watch:
            try:
                while not stop.is_set():
                    try:
                        started = await self._start_due()
                    except RecordsError as error:
                        log.warning(f"{self._what} wait for the records", error=type(error).__name__)
                        started = 0
                    except Exception as error:  # the gateway ends with this loop
                        log.error(f"{self._what} wait", error=type(error).__name__)
                        started = 0
                    if not started:
                        await self._pause(stopping, watch, idle)
            finally:
                stopping.cancel()
                await self.stop()

    async def _pause(self, stopping: asyncio.Task[Any], watch: Watch, idle: float) -> None:
        """Until something may be due, at least `LEAST_SECONDS` unless a delivery ends: events may come in great numbers."""
        ends = {stopping, *self._people}
        done, _ = await asyncio.wait(ends, timeout=min(idle, LEAST_SECONDS), return_when=asyncio.FIRST_COMPLETED)
        if not done and idle > LEAST_SECONDS:
            waiting = asyncio.create_task(watch.wait(idle - LEAST_SECONDS))
            await asyncio.wait({waiting, *ends}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def once(self) -> int:
        """Deliver all that is due; returns how many were tried."""
        tried = 0
        while started := await self._start_due():
            tried += started
            await self.drain()
        return tried

    @property
    def free(self) -> int:
        return AT_ONCE - len(self._people)

    @property
    def running(self) -> Mapping[str, int]:
        """How many deliveries run, by person."""
        return Counter(self._people.values())

    def start(self, person: str, delivery: Coroutine[Any, Any, None]) -> None:
        """What `delivery` raises is logged: it is tried again when its lease is over."""
        task = asyncio.create_task(self._logged(delivery))
        self._people[task] = person
        task.add_done_callback(self._people.pop)

    async def _logged(self, delivery: Coroutine[Any, Any, None]) -> None:
        try:
            await delivery
        except Exception as error:
            log.error(f"one of the {self._what} ended early", error=type(error).__name__)

    async def drain(self) -> None:
        """Return when none runs."""
        while self._people:
            await asyncio.wait(list(self._people))

    async def stop(self) -> None:
        """Cancel what runs; it is tried again when its lease is over."""
        for task in list(self._people):
            task.cancel()
        await self.drain()
