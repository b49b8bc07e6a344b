"""Runs deliveries to people's own servers side by side."""

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
"""Between two looks at what is due, where nothing was."""
AT_ONCE: Final = 50
AT_ONCE_OF_ONE: Final = 2
"""Deliveries of one person at a time: a slow server does not take the places of others."""


class _Due(Protocol):
    @property
    def person(self) -> str: ...


T = TypeVar("T", bound=_Due)


class Deliveries(ABC, Generic[T]):
    """Deliveries of one kind, at most `AT_ONCE` at a time. Several may run in an installation: what is due is leased to one of them."""

    what = "deliveries"
    """Names them in the log."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._people: dict[asyncio.Task[None], str] = {}

    @abstractmethod
    async def due(self, most: int, *, of_one: int, running: Counter[str]) -> Sequence[T]:
        """Lease at most `most` of the due deliveries, of each person at most `of_one` with those that run (`running`, by person)."""

    @abstractmethod
    async def deliver(self, due: T) -> None:
        """Deliver what is due. An exception is logged, and the delivery is tried again when its lease is over."""

    async def run(self, stop: asyncio.Event, *, idle: float = SAFETY_SECONDS) -> None:
        """Start what is due until `stop`: again when a process has new events, a delivery has ended, or after `idle` seconds."""
        stopping = asyncio.create_task(stop.wait())
        with self._changes.watch_all() as watch:
            try:
                while not stop.is_set():
                    started = 0
                    try:
                        started = await self._start_due()
                    except RecordsError as error:
                        log.warning(f"{self.what} wait for the records", error=type(error).__name__)
                    except Exception as error:  # the gateway ends with this loop
                        log.error(f"{self.what} wait", error=type(error).__name__)
                    if not started:
                        await self._pause(stopping, watch, idle)
            finally:
                stopping.cancel()
                for task in list(self._people):  # it is tried again when its lease is over
                    task.cancel()
                await self._drain()

    async def once(self) -> int:
        """Deliver all that is due; returns how many were tried."""
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
        """Until something may be due, at least `LEAST_SECONDS` unless a delivery ends: events may come in great numbers."""
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
    """Seconds after try number `attempts` until the next: `first`, then `factor` times as many each time, at most `most`."""
    return float(min(first * factor ** (attempts - 1), most))
