"""How many SQL statements a process takes, and a service that has nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tests.support.statements import CountingPostgres, count_process, counting_postgres
from tests.support.until import until
from tongyao.gateway.outbound.agents import AgentCaller
from tongyao.gateway.outbound.notifications import NotificationSender

LOOKED_AT = (
    "UPDATE messages",
    "INSERT INTO door",
    "FROM inbox i WHERE i.closed_at IS NULL",
    "INTO source_turns",
    "LISTEN",
)
"""Statements of the relay, the heartbeat of the doors, notifications, agents, and of the connection that listens."""
FIRST_LOOK_SECONDS = 2.0
"""In which every part ends its first look, all statements of it: they are of the start."""
IDLE_SECONDS = 20.0
MOST = 350
"""Statements of a whole process of 31 model calls, beside transaction control."""


@pytest.fixture
def postgres(home: Path) -> Iterator[CountingPostgres]:
    with counting_postgres(home) as server:
        yield server


async def test_a_whole_process_takes_few_statements(temporal: Client, postgres: CountingPostgres) -> None:
    counted = await count_process(temporal, postgres)
    assert counted.total <= MOST, counted.table()


async def test_a_service_that_has_nothing_to_do_makes_at_most_one_statement_a_second(
    temporal: Client, postgres: CountingPostgres
) -> None:
    stop = asyncio.Event()

    async def asked() -> bool:
        return all(any(table in shape for shape in postgres.counted().statements) for table in LOOKED_AT)

    async with open_stack(temporal, postgres.url, ScriptedEngine(Script())) as stack:
        postgres.start()
        work = [
            asyncio.create_task(NotificationSender(stack.repositories, {}).run(stop)),
            asyncio.create_task(AgentCaller(stack.context).run(stop)),
        ]
        await until(asked, "every part of the service to look for work")
        await asyncio.sleep(FIRST_LOOK_SECONDS)
        began = time.monotonic()
        before = postgres.counted().total
        await asyncio.wait(work, timeout=IDLE_SECONDS)
        counted, seconds = postgres.counted(), time.monotonic() - began
        stop.set()
        await asyncio.gather(*work)
    assert counted.total - before <= seconds, counted.table()
