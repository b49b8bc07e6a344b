"""When nobody could hand in a message: gateways beat, gaps are outages, suspended time does not count twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.process import Phase
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.process.gateway_outages import Door
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import NewProcess, Processes

HOUR = timedelta(hours=1)


@pytest.fixture
async def own(fresh_database_url: str) -> AsyncIterator[Pool]:
    """A database of this test alone: an installation has one door."""
    pool = await open_pool(fresh_database_url)
    yield pool
    await pool.close()


async def last_open(pool: Pool, ago: timedelta) -> None:
    """As if no gateway had told anything for so long."""
    async with session(pool) as connection:
        await connection.execute("UPDATE door SET last_open = now() - %s::interval", [ago])


async def process_with(pool: Pool, *changes: tuple[EventKind, datetime, str], since: datetime | None = None) -> str:
    """`since`: when process time stopped, if that was before the process knew."""
    stopped = {} if since is None else {"since": since.isoformat()}
    new = NewProcess(id="p", demander="d", language="en", intent_text_id=None)
    process = (await Processes(pool).create(new)).id
    events = tuple(
        Event(seq=seq, kind=kind, at=at, data={"code": code, **(stopped if kind is EventKind.SUSPENDED else {})})
        for seq, (kind, at, code) in enumerate(changes, 1)
    )
    snapshot = Snapshot(process_id=process, seq=len(events), phase=Phase.CRYSTALLIZING, round=1, waiting=True)
    await Journal(pool).write(Outbox(snapshot=snapshot, events=events), "run")
    return process


def about(seconds: float) -> object:
    return pytest.approx(seconds, abs=30)


async def test_where_no_gateway_ever_told_that_it_was_open_nothing_counts(own: Pool) -> None:
    assert await Door(own).shut_seconds(await process_with(own), datetime.now(UTC) - HOUR) == 0


async def test_a_gap_between_two_beats_is_an_outage_and_a_restart_is_none(own: Pool) -> None:
    door, process, since = Door(own), await process_with(own), datetime.now(UTC) - 10 * HOUR
    assert await door.beat() is None
    await last_open(own, timedelta(seconds=20))
    assert await door.beat() is None
    assert await door.shut_seconds(process, since) == 0
    await last_open(own, 2 * HOUR)
    assert await door.shut_seconds(process, since) == about(7200), "it goes on"
    outages = await asyncio.gather(*(door.beat() for _ in range(4)))
    (outage,) = [one for one in outages if one is not None]
    assert outage.total_seconds() == about(7200), "several gateways may tell, one ends the outage"
    assert await door.shut_seconds(process, since) == about(7200)
    assert await door.shut_seconds(process, datetime.now(UTC) - HOUR) == about(3600), "only since then"
    await last_open(own, HOUR)
    assert await door.shut_seconds(process, since) >= 7200


async def test_while_a_process_is_suspended_its_time_stands_anyway(own: Pool) -> None:
    now = datetime.now(UTC)
    process = await process_with(
        own,
        (EventKind.SUSPENDED, now - 5 * HOUR, "a"),
        (EventKind.SUSPENDED, now - 4.5 * HOUR, "b"),
        (EventKind.RESUMED, now - 4 * HOUR, "a"),
        (EventKind.RESUMED, now - 3 * HOUR, "b"),
        (EventKind.SUSPENDED, now - 1 * HOUR, "a"),
    )
    door = Door(own)
    await door.beat()
    await last_open(own, 6 * HOUR)
    await door.beat()
    # shut for six hours, suspended in the first of them but one, for two hours, and in the last
    assert await door.shut_seconds(process, now - 10 * HOUR) == about(3 * 3600)
    assert await door.shut_seconds(process, now - 2 * HOUR) == about(3600)


async def test_an_outage_that_a_process_noticed_late_is_not_given_back_twice(own: Pool) -> None:
    """A step fails for a minute before the process hears of it; process time stands since the step was started."""
    now = datetime.now(UTC)
    noticed, resumed = now - 2 * HOUR + timedelta(seconds=70), now - HOUR
    process = await process_with(
        own,
        (EventKind.SUSPENDED, noticed, "database_away"),
        (EventKind.RESUMED, resumed, "database_away"),
        (EventKind.SUSPENDED, resumed, "bad_key"),
        (EventKind.RESUMED, resumed, "bad_key"),
        since=now - 2 * HOUR,
    )
    door = Door(own)
    await door.beat()
    await last_open(own, 2 * HOUR)
    await door.beat()
    assert await door.shut_seconds(process, now - 10 * HOUR) == about(3600)
