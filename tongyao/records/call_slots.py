"""Limits the number of concurrent model calls of all workers together. Each slot is one PostgreSQL advisory lock."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

import psycopg
from psycopg import AsyncConnection

from tongyao.records.database import DatabaseUnreachable, Pool

_LOCKS: Final = 0x7479  # first half of the key of every lock; the second half is the number of the slot
LOOK_AGAIN_SECONDS: Final = 0.1
ANSWER_SECONDS: Final = 10.0
"""Time limit for opening a connection. A call waits at least this long for the database's reply."""


class NoSlot(Exception):
    """No slot became free within the time limit."""


class _Slot(NamedTuple):
    number: int
    connection: AsyncConnection


class CallSlots:
    """The slots of one worker process. A separate connection holds the locks: if the worker dies, its slots become free."""

    def __init__(self, pool: Pool, most: int, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        assert isinstance(pool.conninfo, str), "`open_pool` opens pools on an address"
        self._address, self._most, self._answer_seconds = pool.conninfo, most, answer_seconds
        self._connection: AsyncConnection | None = None
        self._held: set[int] = set()
        self._giving: set[asyncio.Task[None]] = set()
        self._asking = asyncio.Lock()

    @asynccontextmanager
    async def taken(self, *, wait: float) -> AsyncIterator[None]:
        """Hold one slot during the block. Raises `NoSlot` after `wait` seconds. Raises `DatabaseUnreachable`."""
        slot = await self._take(wait)
        try:
            yield
        finally:
            await asyncio.shield(self._give_back(slot))

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _take(self, wait: float) -> _Slot:
        until = time.monotonic() + wait
        while True:
            trying = asyncio.create_task(self._try())
            try:
                async with asyncio.timeout(max(self._answer_seconds, until - time.monotonic())):
                    slot = await asyncio.shield(trying)
            except asyncio.CancelledError:
                trying.add_done_callback(self._not_wanted)
                raise
            except (psycopg.Error, TimeoutError) as error:
                trying.add_done_callback(self._not_wanted)
                raise DatabaseUnreachable(
                    "the database does not answer the request for a slot for a model call"
                ) from error
            if slot is not None:
                return slot
            if time.monotonic() >= until:
                raise NoSlot(f"all {self._most} slots for model calls are in use")
            await asyncio.sleep(LOOK_AGAIN_SECONDS * random.uniform(0.5, 1.5))

    def _not_wanted(self, trying: asyncio.Task[_Slot | None]) -> None:
        """Give back a slot that was taken for a caller who was cancelled in the meantime."""
        if not trying.cancelled() and trying.exception() is None and (slot := trying.result()) is not None:
            giving = asyncio.create_task(self._give_back(slot))
            self._giving.add(giving)
            giving.add_done_callback(self._giving.discard)

    async def _try(self) -> _Slot | None:
        async with self._asking:
            if self._connection is None or self._connection.closed:
                self._held.clear()
                self._connection = await AsyncConnection.connect(
                    self._address, autocommit=True, connect_timeout=max(2, int(self._answer_seconds))
                )
            # Slots of this session are left out: PostgreSQL would grant a session its own lock again.
            free = [slot for slot in range(self._most) if slot not in self._held]
            random.shuffle(free)
            cursor = await self._connection.execute(
                "SELECT slot FROM unnest(%s::int[]) AS t (slot) WHERE pg_try_advisory_lock(%s, slot) LIMIT 1",
                [free, _LOCKS],
            )
            row = await cursor.fetchone()
            if row is None:
                return None
            self._held.add(row[0])
            return _Slot(int(row[0]), self._connection)

    async def _give_back(self, slot: _Slot) -> None:
        async with self._asking:
            if slot.connection is not self._connection:
                return  # the connection was lost with its locks: another call may hold this number now
            self._held.discard(slot.number)
            with suppress(psycopg.Error):
                await slot.connection.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCKS, slot.number])
