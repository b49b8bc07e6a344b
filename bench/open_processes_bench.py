"""Cost of open processes that wait: `python -m bench.open_processes_bench [10 100 1000]`.

Processes whose one person is waited for, opened eight at a time up to each number and left open: the worker's memory,
the size of both databases, an inbox query, and how long a worker that was killed takes until a message that waited
for it is applied. The tension is brought along, so that no model is asked before somebody has spoken.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
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
"""Who share the processes, so that an inbox holds some dozens of asks as it would."""
TENSION: Final = Tension.model_validate(
    {
        "language": "en",
        "transition": "From a crossing that closes in winter to one that does not",
        "initial_state": "One crew, one boat, ten years of readings",
        "barriers": ["A second crew cannot be paid"],
        "exchange": "The readings",
    }
)


async def main(numbers: Sequence[int]) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    print(
        "| open | worker, MB | records, MB | Temporal, MB | inbox query, ms | killed to applied, s | opening one, ms |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    async with opened() as bench:
        people = await bench.stack.people({f"p{n}": PROFILE.format(n=n) for n in range(PEOPLE)})
        environment = {
            "DATABASE_URL": bench.postgres.url(),
            "TEMPORAL_ADDRESS": bench.temporal.address,
            "TONGYAO_HOME": str(bench.home),
            "TONGYAO_ENGINE": "extractive",
            "TONGYAO_WORKER_CACHED_WORKFLOWS": str(max(numbers) + 100),
            "TONGYAO_LOG_LEVEL": "warning",
        }
        worker = WorkerProcess(environment, log=bench.home / "worker.log")
        await worker.start()
        open_ids: list[str] = []
        try:
            for number in sorted(numbers):
                began = time.monotonic()
                opening = number - len(open_ids)
                await open_more(bench, people, open_ids, number)
                each = 1000 * (time.monotonic() - began) / max(1, opening)
                assert worker.pid is not None
                memory = psutil.Process(worker.pid).memory_info().rss / 1e6
                inbox = await inbox_milliseconds(bench, people)
                restart = await killed_to_applied(bench, worker, open_ids)
                sizes = records_megabytes(bench), temporal_megabytes(bench.home)
                print(
                    f"| {number:,} | {memory:.0f} | {sizes[0]:.1f} | {sizes[1]:.1f} | {inbox:.1f} | {restart:.1f} | {each:.0f} |",
                    flush=True,
                )
        finally:
            await worker.stop()


async def open_more(bench: Bench, people: Sequence[str], open_ids: list[str], number: int) -> None:
    """Open processes until there are `number`, and return when each of them waits for its person."""
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


async def inbox_milliseconds(bench: Bench, people: Sequence[str]) -> float:
    times = []
    for person in people:
        began = time.perf_counter()
        await bench.stack.repositories.inbox.of_person(person)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


async def killed_to_applied(bench: Bench, worker: WorkerProcess, open_ids: Sequence[str]) -> float:
    """SIGKILL, start again, and one message to the process that has waited longest, brought by the relay of the service."""
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


if __name__ == "__main__":
    asyncio.run(main([int(number) for number in sys.argv[1:]] or [10, 100, 1000]))
