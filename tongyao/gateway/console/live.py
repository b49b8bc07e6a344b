"""Notifies open pages that a process has changed. A notification has no content. After it, the page reloads its parts.

A party is notified only of new events that it may see, so a notification reveals nothing about others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from tongyao.app.authorization import Caller, ProcessAccess
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.app.messaging.party_events import PartyEvents, party_events
from tongyao.gateway.problems import HttpProblem
from tongyao.records.database import RecordsError

log = structlog.get_logger()


@dataclass
class _Party:
    """The viewers of one process with the same view."""

    events: PartyEvents
    caller: Caller
    waiting: set[asyncio.Event] = field(default_factory=set)


def _counted_as(caller: Caller) -> str:
    return caller.person or caller.id


class Live:
    """Runs one task for each process with viewers. The task reads the records when they notify it of a change."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._parties: dict[str, dict[tuple[str, str], _Party]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._open: Counter[str] = Counter()

    def admit(self, caller: Caller) -> None:
        """Raises `HttpProblem` (429) if the caller has as many open streams as allowed."""
        most = self._context.options.most_streams
        if self._open[_counted_as(caller)] >= most:
            raise HttpProblem(429, "too_many_at_once", f"at most {most} at a time", headers={"Retry-After": "60"})

    @contextmanager
    def counted(self, caller: Caller) -> Iterator[None]:
        """Count one open stream of this caller while the block runs."""
        self._open[_counted_as(caller)] += 1
        try:
            yield
        finally:
            self._open -= Counter([_counted_as(caller)])

    async def changes(self, caller: Caller, process_id: str, shown: str | None = None) -> AsyncIterator[None]:
        """Yields when there are new events for this caller. Raises `Problem`s only at the beginning.

        `shown`: the last event that the caller's page includes. Later events are new. If None, events after this call
        are new.
        """
        events, access = await party_events(self._context, caller, process_id)
        changed = asyncio.Event()
        party = await self._joined(process_id, events, access, caller)
        party.waiting.add(changed)
        if shown is not None and party.events.position != shown:
            changed.set()
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield None
        finally:
            party.waiting.discard(changed)

    async def _joined(self, process_id: str, events: PartyEvents, access: ProcessAccess, caller: Caller) -> _Party:
        key = (access.role.value, access.alias)
        known = self._parties.get(process_id, {}).get(key)
        if known is not None:
            return known
        while (await events.read())[0]:  # skip existing events: `shown` of each viewer is compared with the last
            pass
        party = self._parties.setdefault(process_id, {}).setdefault(key, _Party(events, caller))
        task = self._tasks.get(process_id)
        if task is None or task.done():
            self._tasks[process_id] = asyncio.create_task(self._watch(process_id))
        return party

    async def _watch(self, process_id: str) -> None:
        """Notify the viewers of a process until there are none."""
        with self._context.repositories.changes.watch(process_id) as watch:
            while True:
                await watch.wait()
                parties = self._parties[process_id]
                for key in [key for key, party in parties.items() if not party.waiting]:
                    del parties[key]
                if not parties:
                    del self._parties[process_id], self._tasks[process_id]
                    return
                new = [party for party in list(parties.values()) if await self._is_new(process_id, party)]
                for (
                    party
                ) in new:  # all are notified together, so that requests of the first party do not delay the others
                    for waiting in party.waiting:
                        waiting.set()

    async def _is_new(self, process_id: str, party: _Party) -> bool:
        """Return whether there are new events that a party may see. Events that cannot be read now are read later."""
        try:
            new, rewound = await party.events.read()
        except (RecordsError, Problem):
            return False  # the records are unavailable; the next notification reads them again
        except Exception as error:  # an error must not prevent the notification of other viewers
            log.error("a live page is not told of events", process=process_id, error=type(error).__name__)
            return False
        return bool(new) or rewound is not None
