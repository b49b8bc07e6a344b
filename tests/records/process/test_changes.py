"""Readers of events are told of new ones at once, over one connection, and also after that connection was lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest

from tests.records.conftest import Announce
from tests.records.process.test_journal import outbox
from tests.support.until import until
from tongyao.records.database import Pool, open_pool
from tongyao.records.process.changes import Changes, Watch
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import NewProcess, Processes

PATIENCE = 60.0


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:  # nobody else listens in this database
    pool = await open_pool(fresh_database_url, max_size=4)
    yield pool
    await pool.close()


@pytest.fixture
def announce(pool: Pool) -> Announce:
    async def make() -> str:
        async with pool.connection() as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM processes")
            row = await cursor.fetchone()
        assert row is not None
        new = NewProcess(id=f"process-{row['n']}", demander="somebody", language="en", intent_text_id=None)
        return (await Processes(pool).create(new)).id

    return make


async def listening(pool: Pool) -> list[int]:
    """Backends that listen."""
    async with pool.connection() as connection:
        cursor = await connection.execute(
            """SELECT pid FROM pg_stat_activity
               WHERE application_name = 'tongyao-listen' AND datname = current_database() AND query LIKE 'LISTEN%'"""
        )
        return [row["pid"] for row in await cursor.fetchall()]


async def until_listening(pool: Pool, *, besides: int = 0) -> int:

    async def another() -> list[int]:
        return [pid for pid in await listening(pool) if pid != besides]

    return (await until(another, "a connection that listens"))[0]


async def woken_by_each(pool: Pool, watch: Watch, process: str) -> None:
    """Three times, as the connection itself wakes every reader once when it stands."""
    for seq in range(1, 4):
        await Journal(pool).write(outbox(process, seq, seq), "run")
        await asyncio.wait_for(watch.wait(10 * PATIENCE), PATIENCE)


async def test_a_reader_is_woken_by_every_event_of_its_process_and_by_its_end(pool: Pool, announce: Announce) -> None:
    process = await announce()
    with Changes(pool).watch(process) as watch:
        await until_listening(pool)
        await woken_by_each(pool, watch, process)
        await Journal(pool).set_ended(process, "failed")
        await asyncio.wait_for(watch.wait(10 * PATIENCE), PATIENCE)


async def test_many_readers_share_one_connection_and_the_last_one_closes_it(pool: Pool, announce: Announce) -> None:
    processes = [await announce() for _ in range(3)]
    changes = Changes(pool)
    with ExitStack() as readers:
        for process in processes * 4:
            readers.enter_context(changes.watch(process))
        await until_listening(pool)
        assert len(await listening(pool)) == 1

    async def nobody_listens() -> bool:
        return not await listening(pool)

    await until(nobody_listens)


async def test_a_broken_connection_is_made_again(pool: Pool, announce: Announce) -> None:
    process = await announce()
    with Changes(pool).watch(process) as watch:
        first = await until_listening(pool)
        async with pool.connection() as connection:
            await connection.execute("SELECT pg_terminate_backend(%s)", [first])
        await until_listening(pool, besides=first)
        await woken_by_each(pool, watch, process)


async def test_a_wait_that_is_cancelled_at_the_moment_of_a_change_ends(pool: Pool) -> None:
    """Otherwise a relay that is stopped just then would run on."""
    with Changes(pool).watch_messages() as watch:
        await watch.wait(0)
        for steps in range(5):
            waiting = asyncio.create_task(watch.wait(60))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            watch.wake()
            for _ in range(steps):
                await asyncio.sleep(0)
            if waiting.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            await watch.wait(0)
