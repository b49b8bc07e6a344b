"""At most so many model calls at a time, of all workers together: one PostgreSQL advisory lock for each."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import psycopg
from psycopg import AsyncConnection

from tongyao.records.database import DatabaseUnreachable, Pool

_LOCKS: Final = 0x7479  # the first half of every lock's key; the second is the number of the slot
LOOK_AGAIN_SECONDS: Final = 0.1
ANSWER_SECONDS: Final = 10.0
"""How long a connection may take, and how long a call waits for an answer at least."""


class NoSlot(Exception):
    """All slots were taken for the whole time."""


class CallSlots:
    """Slots of one worker process. They are held by a connection of its own: a worker that dies gives them back."""

    def __init__(self, pool: Pool, most: int, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        assert isinstance(pool.conninfo, str), "`open_pool` opens pools on an address"
        self._address, self._most, self._answer_seconds = pool.conninfo, most, answer_seconds
        self._connection: AsyncConnection | None = None
        self._held: set[int] = set()
        self._giving: set[asyncio.Task[None]] = set()
        self._asking = asyncio.Lock()

    @asynccontextmanager
    async def taken(self, *, wait: float) -> AsyncIterator[None]:
        """Hold one slot during the block. Raises `NoSlot` after `wait` seconds, `DatabaseUnreachable`."""
        slot = await self._take(wait)
        try:
            yield
        finally:
            await asyncio.shield(self._give_back(slot))

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _take(self, wait: float) -> int:
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
                raise DatabaseUnreachable("the records do not answer for a slot of model calls") from error
            if slot is not None:
                return slot
            if time.monotonic() >= until:
                raise NoSlot(f"all {self._most} model calls that may run at a time are under way")
            await asyncio.sleep(LOOK_AGAIN_SECONDS * random.uniform(0.5, 1.5))

    def _not_wanted(self, trying: asyncio.Task[int | None]) -> None:
        """Whoever tried was cancelled meanwhile."""
        if not trying.cancelled() and trying.exception() is None and (slot := trying.result()) is not None:
            giving = asyncio.create_task(self._give_back(slot))
            self._giving.add(giving)
            giving.add_done_callback(self._giving.discard)

    async def _try(self) -> int | None:
        async with self._asking:
            if self._connection is None or self._connection.closed:
                self._held.clear()
                self._connection = await AsyncConnection.connect(
                    self._address, autocommit=True, connect_timeout=max(2, int(self._answer_seconds))
                )
            # A session that asks for a lock of its own gets it once more: those are left out.
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
            return int(row[0])

    async def _give_back(self, slot: int) -> None:
        async with self._asking:
            if slot not in self._held or self._connection is None:
                return  # the connection was lost, and its locks with it
            self._held.discard(slot)
            with suppress(psycopg.Error):
                await self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCKS, slot])
