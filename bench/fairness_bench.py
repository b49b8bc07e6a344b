"""A demander with many processes beside a demander with one: `python -m bench.fairness_bench [200] [--seconds 0.5]
[--slots 4]`.

Every process has two proxies and three rounds. Each answer of the model takes a fixed time, and the worker runs few
model steps at a time. So most of the time is spent in the task queue. The single process begins when all of the many
processes have begun. Its time is measured alone, beside the many on a server without fairness (first in, first out),
and beside the many on a server with fairness. Figures: seconds of the single process, seconds of the last of the many,
and the number of the many that ended before the single process.

For both servers together, 30 processes took five minutes and 200 took 17 minutes on two busy cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.orchestration_bench import PROFILE, Bench, opened
from tests.support.scripted import Script
from tongyao.runtime.local import temporal
from tongyao.runtime.local.worker_process import WorkerProcess

AT_ONCE = 20
"""The number of processes that are started in parallel."""


async def main(many: int, seconds: float, slots: int) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    print(f"{many} processes of one demander, 1 of another; {seconds:g} s an answer, {slots} model steps at a time")
    print("| server | the single one, s | the last of the many, s | of the many, ended before the single one |")
    print("|---|---|---|---|", flush=True)
    with_fairness = temporal.FAIRNESS
    alone = await measure(0, seconds, slots)
    print(f"| alone | {alone[0]:.1f} | | |", flush=True)
    temporal.FAIRNESS = "matching.enableFairness=false"
    first_come = await measure(many, seconds, slots)
    print(f"| first in, first out | {first_come[0]:.1f} | {first_come[1]:.1f} | {first_come[2]} |", flush=True)
    temporal.FAIRNESS = with_fairness
    fair = await measure(many, seconds, slots)
    print(f"| with fairness | {fair[0]:.1f} | {fair[1]:.1f} | {fair[2]} |", flush=True)


async def measure(many: int, seconds: float, slots: int) -> tuple[float, float, int]:
    """Return seconds of the single process and of the last of the many, and how many of the many ended before it."""
    async with opened() as bench:
        script = bench.home / "script.json"
        script.write_text(Script(seconds=seconds, verdicts=["more", "exhausted"]).model_dump_json())
        people = await bench.stack.people({f"p{n}": PROFILE.format(n=n) for n in range(4)})
        environment = {
            "DATABASE_URL": bench.postgres.url(),
            "TEMPORAL_ADDRESS": bench.temporal.address,
            "TONGYAO_HOME": str(bench.home),
            "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
            "TONGYAO_ENGINE_FILE": str(script),
            "TONGYAO_WORKER_CACHED_WORKFLOWS": str(many + 100),
            # The same two people take part in all processes. By default, one demander can have one person seated 30
            # times a month.
            "TONGYAO_CONSENT__PAIR_PER_MONTH": str(many + 1),
            "TONGYAO_LOG_LEVEL": "warning",
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
        # A second worker writes the records, so that only model steps use the slots.
        process = WorkerProcess(environment, log=bench.home / "process.log", role="process")
        models = WorkerProcess(
            {**environment, "TONGYAO_WORKER_ACTIVITIES": str(slots)}, log=bench.home / "models.log", role="models"
        )
        await process.start()
        await models.start()
        try:
            return await race(bench, people, many)
        finally:
            await models.stop()
            await process.stop()


async def race(bench: Bench, people: Sequence[str], many: int) -> tuple[float, float, int]:
    free = asyncio.Semaphore(AT_ONCE)
    began = time.monotonic()
    ended: list[float] = []

    async def begin(demander: str) -> str:
        async with free:
            return await bench.stack.start(
                people[:2], demander=demander, auto_confirm=True, max_rounds=5, residuals="off"
            )

    async def follow(process: str) -> None:
        await bench.client.get_workflow_handle(process).result()
        ended.append(time.monotonic())

    following = [
        asyncio.create_task(follow(one)) for one in await asyncio.gather(*(begin("many") for _ in range(many)))
    ]
    single_began = time.monotonic()
    await bench.client.get_workflow_handle(await begin("single")).result()
    single = time.monotonic()
    before = len(ended)
    await asyncio.gather(*following)
    return single - single_began, (max(ended) - began) if ended else 0.0, before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("many", nargs="?", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds of each answer of the model")
    parser.add_argument("--slots", type=int, default=4, help="model steps at a time")
    options = parser.parse_args()
    asyncio.run(main(options.many, options.seconds, options.slots))
