"""Cost of open processes that wait: `python -m bench.open_processes_bench [10 100 1000]`.

Processes that wait for one person are opened, eight at a time up to each number, and left open. Measured are the
worker's memory, the size of both databases, and an inbox query. Also measured is the time in which a killed worker
restarts and applies a waiting message. The tension is given at the start, so no model is asked before a person has
spoken.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence

from bench.orchestration_bench import Bench
from bench.waiting_processes import killed_to_applied, records_megabytes, temporal_megabytes, waiting


async def main(numbers: Sequence[int]) -> None:
    async with waiting(cached=max(numbers) + 100) as here:
        print(
            "| open | worker, MB | records, MB | Temporal, MB | inbox query, ms | killed to applied, s | opening one, ms |"
        )
        print("|---|---|---|---|---|---|---|", flush=True)
        for number in sorted(numbers):
            each = await here.grow(number)
            memory = here.worker_megabytes
            inbox = await inbox_milliseconds(here.bench, here.people)
            restart = await killed_to_applied(here.bench, here.worker, here.open_ids)
            sizes = records_megabytes(here.bench), temporal_megabytes(here.bench.home)
            print(
                f"| {number:,} | {memory:.0f} | {sizes[0]:.1f} | {sizes[1]:.1f} | {inbox:.1f} | {restart:.1f} | {each:.0f} |",
                flush=True,
            )


async def inbox_milliseconds(bench: Bench, people: Sequence[str]) -> float:
    times = []
    for person in people:
        began = time.perf_counter()
        await bench.stack.repositories.inbox.of_person(person)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


if __name__ == "__main__":
    asyncio.run(main([int(number) for number in sys.argv[1:]] or [10, 100, 1000]))
