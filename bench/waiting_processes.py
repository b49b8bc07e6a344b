"""Processes that wait for people, shared by the benchmarks of open processes and of growth."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import psycopg

from bench.orchestration_bench import PROFILE, Bench, opened
from tongyao.protocol.model.messages import MESSAGE, Author
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import Tension
from tongyao.runtime.local.worker_process import WorkerProcess

AT_ONCE: Final = 8
PEOPLE: Final = 50
"""The number of people who share the processes, so that an inbox contains some dozens of asks."""
TENSION: Final = Tension.model_validate(
    {
        "language": "en",
        "transition": "From a crossing that closes in winter to one that does not",
        "initial_state": "One crew, one boat, ten years of readings",
        "barriers": ["A second crew cannot be paid"],
        "exchange": "The readings",
    }
)


@dataclass
class Waiting:
    """Servers, one worker, people, and the ids of the processes that wait for these people."""

    bench: Bench
    worker: WorkerProcess
    people: list[str]
    open_ids: list[str] = field(default_factory=list)

    @property
    def worker_megabytes(self) -> float:
        assert self.worker.pid is not None
        return float(psutil.Process(self.worker.pid).memory_info().rss) / 1e6

    async def grow(self, number: int) -> float:
        """Open processes until there are `number`. Returns the mean milliseconds per process."""
        opening, began = number - len(self.open_ids), time.monotonic()
        await open_more(self.bench, self.people, self.open_ids, number)
        return 1000 * (time.monotonic() - began) / max(1, opening)


@asynccontextmanager
async def waiting(*, cached: int) -> AsyncIterator[Waiting]:
    """Start servers and a worker, and describe the machine. `cached`: workflows that the worker keeps in memory."""
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}", flush=True)
    async with opened() as bench:
        people = await bench.stack.people({f"p{n}": PROFILE.format(n=n) for n in range(PEOPLE)})
        environment = {
            "DATABASE_URL": bench.postgres.url(),
            "TEMPORAL_ADDRESS": bench.temporal.address,
            "TONGYAO_HOME": str(bench.home),
            "TONGYAO_ENGINE": "extractive",
            "TONGYAO_WORKER_CACHED_WORKFLOWS": str(cached),
            "TONGYAO_LOG_LEVEL": "warning",
        }
        worker = WorkerProcess(environment, log=bench.home / "worker.log")
        await worker.start()
        try:
            yield Waiting(bench, worker, people)
        finally:
            await worker.stop()


async def open_more(bench: Bench, people: Sequence[str], open_ids: list[str], number: int) -> None:
    """Open processes until there are `number`. Return when each of them waits for its person."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(index: int) -> str:
        async with free:
            person, proxy = people[index % PEOPLE], people[(index + 1) % PEOPLE]
            chosen = [Choice(profile_id=person, endpoint=EndpointKind.HUMAN), Choice(profile_id=proxy)]
            pid = await bench.stack.start(chosen, tension=TENSION, auto_confirm=True)
            while not await bench.stack.repositories.inbox.of_process(pid, open_only=True):
                await asyncio.sleep(0.05)
            return pid

    open_ids += await asyncio.gather(*(one(index) for index in range(len(open_ids), number)))


async def killed_to_applied(bench: Bench, worker: WorkerProcess, open_ids: Sequence[str]) -> float:
    """Kill the worker with SIGKILL, start it again, and send one message to the process that has waited longest.

    The relay of the service delivers the message. Returns the seconds until the message is applied.
    """
    began = time.monotonic()
    stack, process, stop = bench.stack, open_ids[0], asyncio.Event()
    worker.kill()
    await worker.start()
    [ask] = await stack.repositories.inbox.of_process(process, open_only=True)
    message = MESSAGE.validate_python(
        {
            "kind": "extend_deadline",
            "key": uuid.uuid4().hex,
            "author": Author(role="operator"),
            "alias": ask.alias,
            "seconds": 3600,
        }
    )
    relaying = asyncio.create_task(stack.relay.run(stop))
    stored = await stack.relay.send(process, message, author_id="operator", via="bench")
    while stored.verdict is None:
        await asyncio.sleep(0.05)
        stored = await stack.repositories.messages.get(stored.id)
    assert stored.verdict.accepted, stored.verdict
    took = time.monotonic() - began
    stop.set()
    await relaying
    return took


def records_megabytes(bench: Bench) -> float:
    with psycopg.connect(bench.postgres.url()) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return float(row[0]) / 1e6


def temporal_megabytes(home: Path) -> float:
    return sum(path.stat().st_size for path in home.glob("temporal.db*")) / 1e6
