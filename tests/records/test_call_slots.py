"""The limit of model calls holds for all workers together, and a worker that dies gives its slots back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from tongyao.records.call_slots import CallSlots, NoSlot
from tongyao.records.database import DatabaseUnreachable, Pool, open_pool


@pytest.fixture
async def own_pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url, max_size=2)
    yield pool
    await pool.close()


async def test_two_workers_share_one_limit(own_pool: Pool) -> None:
    one, other = CallSlots(own_pool, 3), CallSlots(own_pool, 3)
    async with AsyncExitStack() as held:
        await held.enter_async_context(one.taken(wait=60))
        await held.enter_async_context(one.taken(wait=60))
        async with other.taken(wait=60):
            for slots in (one, other):
                with pytest.raises(NoSlot, match="3 slots"):
                    async with slots.taken(wait=0):
                        raise AssertionError("a fourth call")
        async with other.taken(wait=60):
            pass
    await one.aclose()
    await other.aclose()


async def test_whoever_waits_goes_on_when_a_call_ends(own_pool: Pool) -> None:
    slots = CallSlots(own_pool, 1)
    under_way = most = 0

    async def call() -> None:
        nonlocal under_way, most
        async with slots.taken(wait=60):
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    await asyncio.gather(*(call() for _ in range(5)))
    assert most == 1
    await slots.aclose()


async def test_a_worker_that_lost_its_connection_holds_nothing(own_pool: Pool, fresh_database_url: str) -> None:
    dead, other = CallSlots(own_pool, 1), CallSlots(own_pool, 1)
    async with dead.taken(wait=60):
        with psycopg.connect(fresh_database_url, autocommit=True) as server:
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                " AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        async with other.taken(wait=60):
            pass
    async with dead.taken(wait=60):
        pass
    await dead.aclose()
    await other.aclose()


async def test_a_call_that_lost_its_slot_with_the_connection_gives_back_no_slot_of_another(
    own_pool: Pool, fresh_database_url: str
) -> None:
    slots, other = CallSlots(own_pool, 1), CallSlots(own_pool, 1)
    first, second = AsyncExitStack(), AsyncExitStack()
    await first.enter_async_context(slots.taken(wait=60))
    with psycopg.connect(fresh_database_url, autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    while True:
        try:
            await second.enter_async_context(slots.taken(wait=60))
            break
        except DatabaseUnreachable:  # the first request finds the broken connection
            continue
    await first.aclose()
    with pytest.raises(NoSlot):
        async with other.taken(wait=0.5):
            pass
    await second.aclose()
    await slots.aclose()
    await other.aclose()


async def test_whoever_is_cancelled_while_asking_keeps_no_slot(own_pool: Pool) -> None:
    slots = CallSlots(own_pool, 1)

    async def call() -> None:
        async with slots.taken(wait=60):
            await asyncio.sleep(60)

    for _ in range(3):
        asking = asyncio.create_task(call())
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    async with slots.taken(wait=60):
        pass
    await slots.aclose()


async def test_a_database_that_never_answers_holds_nobody_longer_than_the_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        pool: Pool = AsyncConnectionPool(f"postgresql://127.0.0.1:{deaf.getsockname()[1]}/d", open=False)
        slots = CallSlots(pool, 1, answer_seconds=0.1)

        async def call() -> None:
            with pytest.raises(DatabaseUnreachable):
                async with slots.taken(wait=0):
                    raise AssertionError("there is no slot")

        async with asyncio.timeout(60):
            await asyncio.gather(*(call() for _ in range(5)))
