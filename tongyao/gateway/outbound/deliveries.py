"""Runs deliveries to people's own servers concurrently."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog

from tongyao.records.database import RecordsError
from tongyao.records.process.changes import SAFETY_SECONDS, Changes, Watch

log = structlog.get_logger()

LEAST_SECONDS: Final = 2.0
"""The shortest pause before the next query for due deliveries, if the last query found none."""
AT_ONCE: Final = 50
AT_ONCE_OF_ONE: Final = 2
"""Most concurrent deliveries to one person, so that a slow server does not occupy the places of others."""


class _Due(Protocol):
    @property
    def person(self) -> str: ...


T = TypeVar("T", bound=_Due)


class Deliveries(ABC, Generic[T]):
    """Deliveries of one kind, at most `AT_ONCE` at a time. Each is leased, so several gateways may run them."""

    what = "deliveries"
    """The name of the deliveries in the log."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._people: dict[asyncio.Task[None], str] = {}

    @abstractmethod
    async def due(self, most: int, *, of_one: int, running: Counter[str]) -> Sequence[T]:
        """Lease at most `most` due deliveries, and for each person at most `of_one`, including those in `running`."""

    @abstractmethod
    async def deliver(self, due: T) -> None:
        """Make one delivery. An exception is logged, and the delivery is tried again when its lease is over."""

    async def run(self, stop: asyncio.Event, *, idle: float = SAFETY_SECONDS) -> None:
        """Start due deliveries until `stop` is set.

        Looks for due deliveries when a process has new events, when a delivery has ended, and after `idle` seconds.
        """
        stopping = asyncio.create_task(stop.wait())
        with self._changes.watch_all() as watch:
            try:
                while not stop.is_set():
                    started = 0
                    try:
                        started = await self._start_due()
                    except RecordsError as error:
                        log.warning(f"{self.what} wait for the records", error=type(error).__name__)
                    except Exception as error:  # the error must not end this loop, because the gateway would end, too
                        log.error(f"{self.what} wait", error=type(error).__name__)
                    if not started:
                        await self._pause(stopping, watch, idle)
            finally:
                stopping.cancel()
                for task in list(self._people):  # a cancelled delivery is tried again when its lease is over
                    task.cancel()
                await self._drain()

    async def once(self) -> int:
        """Make all due deliveries. Returns the number of attempts."""
        tried = 0
        while started := await self._start_due():
            tried += started
            await self._drain()
        return tried

    async def _start_due(self) -> int:
        free = AT_ONCE - len(self._people)
        due = await self.due(free, of_one=AT_ONCE_OF_ONE, running=Counter(self._people.values()))
        for entry in due:
            task = asyncio.create_task(self._logged(entry))
            self._people[task] = entry.person
            task.add_done_callback(self._people.pop)
        return len(due)

    async def _logged(self, due: T) -> None:
        try:
            await self.deliver(due)
        except Exception as error:
            log.error(f"one of the {self.what} ended early", error=type(error).__name__)

    async def _pause(self, stopping: asyncio.Task[Any], watch: Watch, idle: float) -> None:
        """Wait until a delivery ends or may be due. To limit queries, no new one is due within `LEAST_SECONDS`."""
        ends = {stopping, *self._people}
        done, _ = await asyncio.wait(ends, timeout=min(idle, LEAST_SECONDS), return_when=asyncio.FIRST_COMPLETED)
        if not done and idle > LEAST_SECONDS:
            waiting = asyncio.create_task(watch.wait(idle - LEAST_SECONDS))
            await asyncio.wait({waiting, *ends}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def _drain(self) -> None:
        while self._people:
            await asyncio.wait(list(self._people))


def retry_seconds(attempts: int, *, first: int, factor: int, most: int) -> float:
    """Return the seconds between attempt number `attempts` and the next: exponential from `first`, at most `most`."""
    return float(min(first * factor ** (attempts - 1), most))
