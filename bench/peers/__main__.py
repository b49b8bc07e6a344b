"""Compares Tongyao with other orchestrators: `python -m bench.peers [--run 30x2] [--kill-at 0.4]`.

The model calls of one process of Tongyao are recorded. Each of these programs repeats them with the same dependencies:

    floor       an asyncio loop that stores nothing
    langgraph   LangGraph with PostgreSQL checkpoints (pip install langgraph langgraph-checkpoint-postgres)
    temporal    a bare Temporal workflow with one activity for each call
    tongyao     the product

They run on the same machine in one run, with the same PostgreSQL and Temporal servers. Printed for each:

    share       time of the calls that follow each other ÷ wall time of the slowest process
    CPU         milliseconds per process: the orchestrator, PostgreSQL and the Temporal server together
    kept        bytes stored per process: growth of the database, and the history
    killed      one process alone, whose orchestrator is killed (SIGKILL) at `--kill-at` of the critical path
                and started again: the number of calls that were made a second time

Temporal's workers find their open workflows themselves. LangGraph gets the id of the thread to continue.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from temporalio.client import Client

from bench.orchestration_bench import (
    PARTICIPANTS,
    PROFILE,
    Bench,
    Meter,
    Run,
    in_waves,
    measure_floor,
    messages_api,
    opened,
    read_requests,
)
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

COLUMNS: Final = ("", "share", "CPU", "database", "history", "calls again")


@dataclass(frozen=True)
class Peer:
    """One orchestrator, and the module that runs it in a separate process."""

    name: str
    module: str


PEERS: Final = (
    Peer("langgraph", "bench.peers.langgraph_peer"),
    Peer("temporal", "bench.peers.temporal_peer"),
)


def started(peer: Peer, url: str, requests: Path, target: str, name: str, count: int) -> subprocess.Popen[str]:
    """Start the process of a peer and wait until it is ready. It begins when a line is written to its input."""
    command = [sys.executable, "-m", peer.module, url, str(requests), target, name, str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError(f"{peer.name} ended before it was ready, with {process.wait()}")
    return process


def finished(process: subprocess.Popen[str]) -> float:
    """The wall seconds that the peer reports. Raises `RuntimeError` if it ended without a report."""
    out, _ = process.communicate("go\n")
    if process.returncode:
        raise RuntimeError(f"a peer ended with {process.returncode}")
    return float(out.split()[-1])


def database_bytes(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


async def history_bytes(client: Client, workflow_id: str) -> int:
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    return sum(event.ByteSize() for event in history.events)


def calls_made(record: Path) -> int:
    return len(record.read_text(encoding="utf-8").splitlines())


@dataclass(frozen=True)
class Result:
    """The figures of one orchestrator. None: it has no such figure."""

    name: str
    share: float
    cpu: float
    database: float | None
    history: int | None
    again: int | None

    def row(self) -> str:
        values = (
            f"{self.share:.2f}",
            f"{self.cpu:.0f} ms",
            "–" if self.database is None else f"{self.database / 1000:.0f} KB",
            "–" if self.history is None else f"{self.history / 1000:.0f} KB",
            "–" if self.again is None else str(self.again),
        )
        return f"| {self.name} | {' | '.join(values)} |"


async def measure_peer(peer: Peer, bench: Bench, requests: Path, run: Run, kill_at: float) -> Result:
    """Measure a run of `run.processes` processes, then one process that is killed."""
    critical = len(in_waves(read_requests(requests))) * run.latency
    database = bench.postgres.url(f"peer_{peer.name}")
    with psycopg.connect(bench.postgres.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE peer_{peer.name}")
    target = database if peer.name == "langgraph" else bench.temporal.address
    assert bench.postgres.pid and bench.temporal.pid
    async with messages_api(run.latency) as (url, _):
        process = await asyncio.to_thread(started, peer, url, requests, target, "measured", run.processes)
        meter = Meter({"peer": process.pid, "database": bench.postgres.pid, "server": bench.temporal.pid})
        size, before = database_bytes(database), meter.read()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        wall = float(await asyncio.to_thread(process.stdout.readline))
        after = meter.read()
        process.communicate()
        kept = (database_bytes(database) - size) / run.processes
    record = bench.home / f"killed-{peer.name}.jsonl"
    async with messages_api(run.latency, record) as (url, _):
        process = await asyncio.to_thread(started, peer, url, requests, target, "killed", 1)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        await asyncio.sleep(kill_at * critical)
        process.send_signal(signal.SIGKILL)
        process.wait()
        again = await asyncio.to_thread(started, peer, url, requests, target, "killed", 1)
        await asyncio.to_thread(finished, again)
        repeated = calls_made(record) - len(read_requests(requests)) - 2  # each start makes one warm-up call
    cpu = 1000 * sum(after[name] - before[name] for name in after) / run.processes
    history = await history_bytes(bench.client, "measured-0") if peer.name == "temporal" else None
    return Result(peer.name, critical / wall, cpu, kept if peer.name == "langgraph" else None, history, repeated)


async def measure_tongyao(bench: Bench, requests: Path, run: Run, kill_at: float) -> Result:
    """Measure the product in the same way. Its first process, which records the requests, is not counted."""
    critical = len(in_waves(read_requests(requests))) * run.latency
    choices = await choices_of(bench)
    size = database_bytes(bench.postgres.url())
    seen = await bench.run(run, variant="plain")
    measured = run.processes + 1 + (run.processes == 1)
    kept = (database_bytes(bench.postgres.url()) - size) / measured
    record = bench.home / "killed-tongyao.jsonl"
    async with messages_api(run.latency, record) as (url, _), bench.workers(url, "plain", 1) as (worker,):
        living = asyncio.create_task(bench.live(bench.plain, choices, 0))
        await asyncio.sleep(kill_at * critical)
        worker.kill()
        await worker.start()
        await living
        repeated = calls_made(record) - len(read_requests(requests))
    cpu = sum(seen.cpu[name] for name in ("worker", "server", "database"))
    return Result("tongyao", seen.critical / seen.wall, cpu, kept, seen.bytes, repeated)


async def choices_of(bench: Bench) -> list[Choice]:
    ids = await bench.stack.people({f"p{n}": PROFILE.format(n=n) for n in range(PARTICIPANTS)})
    return [Choice(profile_id=profile, endpoint=EndpointKind.PROXY) for profile in ids]


async def main(run: Run, kill_at: float) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, {run}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ty-peers-")))
        requests = folder / "requests.jsonl"
        async with opened() as bench:
            choices = await choices_of(bench)
            async with messages_api(0.0, requests) as (url, _), bench.workers(url, "plain", 1):
                await bench.live(bench.plain, choices, 0)
            critical = len(in_waves(read_requests(requests))) * run.latency
            async with messages_api(run.latency) as (url, _):
                wall, cpu = await asyncio.to_thread(measure_floor, url, requests, run.processes)
            floor = Result("floor", critical / wall, 1000 * cpu / run.processes, None, None, None)
            print(f"| {' | '.join(COLUMNS)} |\n|---|{'--:|' * (len(COLUMNS) - 1)}\n{floor.row()}", flush=True)
            for peer in PEERS:
                print((await measure_peer(peer, bench, requests, run, kill_at)).row(), flush=True)
            print((await measure_tongyao(bench, requests, run, kill_at)).row(), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Run.read, default=Run(30, 2.0), help="processes x seconds of a model call")
    parser.add_argument("--kill-at", type=float, default=0.4, help="share of the critical path")
    options = parser.parse_args()
    asyncio.run(main(options.run, options.kill_at))
