"""Growth: `python -m bench.growth_bench [--open 10000] [--finished 100000]`.

On two cores it takes about 40 minutes with the defaults (opening takes 130 to 280 ms per process) and 2 minutes with 30
and 1000. It measures open processes that wait for people, beside the records of finished processes. The finished
processes are closed copies of the records of an open one: row, seats, inbox and events, under other ids. Their
workflows do not exist, as after Temporal's retention.

Goals (2 cores): worker ≤ 1.5 GB, inbox p99 ≤ 5 ms, killed to applied ≤ 15 s.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import Final, LiteralString

import psycopg
from psycopg import sql

from bench.orchestration_bench import Bench
from bench.waiting_processes import Waiting, killed_to_applied, records_megabytes, temporal_megabytes, waiting
from tongyao.runtime.settings import Settings

BATCH: Final = 10_000
INBOX_QUERIES: Final = 500
CHANGED: Final[dict[str, dict[str, LiteralString]]] = {
    "processes": {"id": "n.id", "root_id": "n.id", "phase": "'completed'", "outcome": "'completed'", "waiting": "false",
                  "ended_at": "now()", "deadline_at": "NULL"},
    "seats": {"process_id": "n.id"},
    "inbox": {"process_id": "n.id", "id": "n.id || '/' || t.id", "closed_at": "now()"},
    "events": {"process_id": "n.id"},
}  # fmt: skip
"""Table → columns that have other values in the copy of a process."""


async def main(open_count: int, finished: int) -> None:
    # The default number of cached workflows is used. As in production, workflows beyond it are replayed when a message
    # arrives.
    async with waiting(cached=Settings().worker_cached_workflows) as here:
        print(
            "| open | finished | worker, MB | records, MB | Temporal, MB | inbox p50, ms | inbox p99, ms | killed to applied, s |"
            " opening one, ms |"
        )
        print("|---|---|---|---|---|---|---|---|---|", flush=True)
        each = 0.0
        for share in (0.1, 0.5, 1.0):  # so that an interrupted run also has figures
            count = max(1, int(share * open_count))
            each = await here.grow(count)
            await measure(here, 0, each)
        await asyncio.to_thread(add_finished, here.bench.postgres.url(), here.open_ids[-1], finished)
        await measure(here, finished, each)


async def measure(here: Waiting, finished: int, each: float) -> None:
    memory = here.worker_megabytes
    times = sorted(await inbox_times(here.bench, here.people))
    restart = await killed_to_applied(here.bench, here.worker, here.open_ids)
    sizes = records_megabytes(here.bench), temporal_megabytes(here.bench.home)
    print(
        f"| {len(here.open_ids):,} | {finished:,} | {memory:.0f} | {sizes[0]:.1f} | {sizes[1]:.1f} "
        f"| {times[len(times) // 2]:.1f} | {times[int(0.99 * len(times))]:.1f} | {restart:.1f} | {each:.0f} |",
        flush=True,
    )


async def inbox_times(bench: Bench, people: Sequence[str]) -> list[float]:
    """The milliseconds of each query, after one uncounted query."""
    inbox, times = bench.stack.repositories.inbox, []
    await inbox.of_person(people[0])
    for number in range(INBOX_QUERIES):
        began = time.perf_counter()
        await inbox.of_person(people[number % len(people)])
        times.append(1000 * (time.perf_counter() - began))
    return times


def add_finished(database_url: str, template: str, count: int) -> None:
    """Insert closed copies of the records of `template`."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        for first in range(0, count, BATCH):
            last = min(first + BATCH, count) - 1
            for table, changed in CHANGED.items():
                names = [
                    row[0]
                    for row in connection.execute(
                        "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND table_schema = "
                        "current_schema() AND is_generated = 'NEVER' ORDER BY ordinal_position",
                        [table],
                    ).fetchall()
                ]
                values = [
                    sql.SQL(changed[name]) if name in changed else sql.SQL("t.{}").format(sql.Identifier(name))
                    for name in names
                ]
                key = "id" if table == "processes" else "process_id"
                connection.execute(
                    sql.SQL(
                        "INSERT INTO {table} ({names}) SELECT {values} FROM {table} t, "
                        "(SELECT 'c-finished-' || g AS id FROM generate_series(%s::int, %s::int) g) n WHERE t.{key} = %s"
                    ).format(
                        table=sql.Identifier(table),
                        names=sql.SQL(", ").join(map(sql.Identifier, names)),
                        values=sql.SQL(", ").join(values),
                        key=sql.Identifier(key),
                    ),
                    [first, last, template],
                )
        connection.execute("ANALYZE")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, default=10_000, help="number of open processes with people")
    parser.add_argument("--finished", type=int, default=100_000, help="number of finished processes in the records")
    options = parser.parse_args()
    asyncio.run(main(options.open, options.finished))
