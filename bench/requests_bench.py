"""Requests to the gateway beside running processes: `python -m bench.requests_bench [50 100 300] [--processes 30]`.

The gateway runs in a separate process. The processes run with the extractive engine and wait for one person each.
During the requests further processes start, one a second. The API is asked for an inbox, a process and a list in turn,
at each of these rates (requests a second) for ten seconds, from this machine. Printed for each rate: the answers that
arrived, their statuses, and the median and 99th percentile of the time from the planned start to the whole answer.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

import httpx

from bench.orchestration_bench import Bench, opened
from bench.viewers_bench import MOST, gateway, room, started_worker

SECONDS: Final = 10
SLOWEST: Final = 30.0
"""Seconds after which a request counts as unanswered."""


async def main(rates: Sequence[int], processes: int) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    async with opened() as bench, AsyncExitStack() as closing:
        environment = {
            **await started_worker(bench, closing),
            **{f"TONGYAO_GATEWAY__{name}": "1000000/minute" for name in ("RATE", "ADDRESS_RATE")},
            **{f"TONGYAO_GATEWAY__{name}": "10000" for name in MOST},
        }
        port, _ = await gateway(environment, closing)
        rooms = [await room(bench) for _ in range(processes)]
        token = (await bench.stack.repositories.tokens.issue("person", person="p-demander")).secret
        limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
        http = await closing.enter_async_context(
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}",
                headers={"Authorization": f"Bearer {token}"},
                timeout=SLOWEST,
                limits=limits,
            )
        )
        paths = ["/inbox", *(f"/processes/{pid}" for pid, _ in rooms), "/processes"]
        print(
            f"{processes} processes wait\n\n| requests a second | answered | statuses | median, ms | 99th percentile, ms |"
        )
        print("|--:|--:|---|--:|--:|", flush=True)
        for rate in rates:
            starting = asyncio.create_task(_start_more(bench))
            waited, statuses = await _requests(http, paths, rate)
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            waited.sort()
            print(
                f"| {rate} | {len(waited)} of {rate * SECONDS} | {dict(statuses)} | {1000 * waited[len(waited) // 2]:.0f} | "
                f"{1000 * waited[int(0.99 * len(waited))]:.0f} |",
                flush=True,
            )


async def _start_more(bench: Bench) -> None:
    while True:
        await room(bench)
        await asyncio.sleep(1)


async def _requests(http: httpx.AsyncClient, paths: Sequence[str], rate: int) -> tuple[list[float], Counter[str]]:
    """Send requests at a fixed rate. Return the seconds of each answer, and the statuses."""
    waited: list[float] = []
    statuses: Counter[str] = Counter()
    began = time.monotonic()

    async def one(number: int) -> None:
        planned = began + number / rate
        await asyncio.sleep(planned - time.monotonic())
        try:
            answer = await http.get(paths[number % len(paths)])
        except httpx.HTTPError as error:
            statuses[type(error).__name__] += 1
            return
        statuses[str(answer.status_code)] += 1
        waited.append(time.monotonic() - planned)

    async with asyncio.TaskGroup() as group:
        for number in range(rate * SECONDS):
            group.create_task(one(number))
    return waited, statuses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rates", nargs="*", type=int, default=[50, 100, 300])
    parser.add_argument("--processes", type=int, default=30)
    given = parser.parse_args()
    asyncio.run(main(given.rates, given.processes))
