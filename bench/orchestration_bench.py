"""Overhead of durable orchestration: `python -m bench.orchestration_bench [--runs 1x0.2 1x2 30x2 200x5] [--people 2]
[--workers 2] [--variants plain codec traces]`. To compare with an earlier version: `python -m bench.against REV`.

It runs whole processes of 5 participants and 5 rounds, from the raw intent to the deliveries. It uses the real worker,
a real Temporal server with its database on disk, PostgreSQL, and the engine for Claude. The engine calls a local
Messages API over HTTP, in which every answer takes a fixed time and arrives in 100 deltas. The floor is a plain asyncio
loop. It makes the same streamed calls, recorded from a process, in the same order, without orchestration.

    share   critical path (calls that must follow each other × latency) ÷ wall time of the slowest process;
            all processes start at once
    CPU     milliseconds per process, by program; the floor's CPU is the cost of the same calls without Tongyao

Variants: `plain` (payloads in Temporal are not encrypted), `codec` (encrypted, as in every default), `traces`
(encrypted, and workers send traces to a collector that discards them). The variants of a run are measured one after the
other, on the same servers. Everything runs on one machine, including the Messages API. With many processes the Messages
API takes CPU time from the other programs.

Time on two idle cores: half a minute for 1x0.2, one minute for 1x2, two for 30x2, six for 200x5; the same for each
variant.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from anthropic import AsyncAnthropic
from temporalio.client import Client

from bench.trace_collector import trace_collector
from tests.support.messages_api.responder import Responder
from tests.support.messages_api.server import MessagesServer
from tests.support.stack import Stack
from tongyao.app.context import AppContext
from tongyao.llm.anthropic.request import converse
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.migrate import migrate
from tongyao.runtime import wiring
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.server_process import free_port
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect

PARTICIPANTS: Final = 5
ROUNDS: Final = 5
DELTAS: Final = 100
GOALS: Final[Mapping[tuple[int, float], float]] = {(1, 0.2): 0.82, (30, 2.0): 0.85, (200, 5.0): 0.5}
"""Goals for the share of the critical path. The last one applies to two workers."""
CPU_GOAL: Final = 250
"""Goal for the CPU over the floor, in milliseconds per process."""
VARIANTS: Final = ("plain", "codec", "traces")
HISTORY_GOALS: Final = ((200, 28_000), (270, 36_000))
"""Goals for the events and bytes of a history: with proxies only, and with two people."""
PROFILE: Final = (
    "I repair tide gauges in four harbours, mostly number {n}. I can offer ten years of readings to whoever needs them. "
    "I keep a workshop with a lathe and lend it out. I will not travel in winter. I do not work without an agreement. "
    "I want to learn how boats are scheduled around the tide. I know the harbour masters by name. I once ran a bus line. "
    "I can draw maps that people read. I have two evenings a week. I dislike meetings. I want to see plans tried early. "
    "I can weld. I speak three languages. I want to hand my readings on. I count passengers for a hobby. "
)
INTENT: Final = (
    "I want to keep the winter crossing open without a second crew. We tried it with volunteers, and it failed."
)


@dataclass(frozen=True)
class Run:
    """`processes` at once. Each answer of a model takes `latency` seconds."""

    processes: int
    latency: float

    def __str__(self) -> str:
        return f"{self.processes}x{self.latency:g}"

    @classmethod
    def read(cls, text: str) -> Run:
        processes, _, latency = text.partition("x")
        return cls(int(processes), float(latency))


@dataclass(frozen=True)
class Seen:
    """The figures of one run: seconds, milliseconds of CPU per process by part, and the largest history.

    `critical`: seconds of the calls that follow each other, counted in the recorded requests.
    """

    run: Run
    variant: str
    workers: int
    critical: float
    wall: float
    cpu: Mapping[str, float]
    floor_wall: float
    floor_cpu: float
    events: int
    bytes: int
    calls: float


# --- the Messages API, in a separate process --------------------------------------------------------------------------


class Recording(Responder):
    """Answers like `Responder`, and appends every request to a file, so that the floor can repeat it."""

    path: Path | None = None

    def __call__(self, request: Mapping[str, Any]) -> str:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(request) + "\n")
        return super().__call__(request)


def serve(port: int, latency: float, record: Path | None) -> None:
    respond = Recording(rounds=ROUNDS, exhausted_from=ROUNDS - 1, items=3)
    object.__setattr__(respond, "path", record)
    with MessagesServer(respond, port=port, latency=latency, deltas=DELTAS):
        print("serving", flush=True)
        sys.stdin.read()


@asynccontextmanager
async def messages_api(latency: float, record: Path | None = None) -> AsyncIterator[tuple[str, psutil.Process]]:
    port = free_port()
    command = [sys.executable, "-m", "bench.orchestration_bench", "--serve", str(port), str(latency), str(record or "")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    await asyncio.to_thread(process.stdout.readline)
    try:
        yield f"http://127.0.0.1:{port}", psutil.Process(process.pid)
    finally:
        process.communicate()


# --- the floor --------------------------------------------------------------------------------------------------------


async def floor(base_url: str, requests: Sequence[Mapping[str, Any]], processes: int) -> None:
    """Make the same calls in the same order: dependent calls one after the other, independent calls in parallel."""
    client = AsyncAnthropic(api_key="any", base_url=base_url, max_retries=0)
    waves = in_waves(requests)

    async def one() -> None:
        for wave in waves:
            await asyncio.gather(*(converse(client, body, idle=60, total=120) for body in wave))

    await asyncio.gather(*(one() for _ in range(processes)))
    await client.close()


def in_waves(requests: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    """Group recorded requests by their dependencies: adjacent requests of the same step form one wave."""
    waves: list[list[dict[str, Any]]] = []
    last = ""
    for request in requests:
        body = {name: value for name, value in request.items() if name != "stream"}
        text = json.dumps(body)
        step = max(("formulate", "project", "observe", "plan", "deliver"), key=lambda one: text.rfind(f'step=\\"{one}'))
        if step != last or step in ("formulate", "observe", "plan"):
            waves.append([])
        waves[-1].append(body)
        last = step
    return waves


def read_requests(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measure_floor(base_url: str, requests: Path, processes: int) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of a process that does nothing else."""
    command = [sys.executable, "-m", "bench.orchestration_bench", "--floor", base_url, str(requests), str(processes)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wall, cpu = json.loads(printed.splitlines()[-1])
    return wall, cpu


def run_floor(base_url: str, path: Path, processes: int) -> None:
    requests = read_requests(path)
    asyncio.run(floor(base_url, requests[:1], 1))  # the first call loads modules, so it is not counted
    began, used = time.monotonic(), time.process_time()
    asyncio.run(floor(base_url, requests, processes))
    print(json.dumps([time.monotonic() - began, time.process_time() - used]))


# --- the whole stack --------------------------------------------------------------------------------------------------


class Meter:
    """CPU seconds of named process trees."""

    def __init__(self, roots: Mapping[str, int]) -> None:
        self._roots = {name: psutil.Process(pid) for name, pid in roots.items()}

    def read(self) -> dict[str, float]:
        return {name: _cpu(root) for name, root in self._roots.items()}


def _cpu(root: psutil.Process) -> float:
    total = 0.0
    for process in [root, *root.children(recursive=True)]:
        try:
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
        except psutil.NoSuchProcess:
            continue
    return total


@dataclass
class Bench:
    """Servers that run during all runs. Each run has its own workers and its own Messages API.

    `stack` encrypts payloads for Temporal, and `plain` does not. `collector`: the address to which workers may send
    traces.
    """

    home: Path
    postgres: LocalPostgres
    temporal: LocalTemporal
    settings: Settings
    stack: Stack
    plain: Stack
    client: Client
    collector: str

    @asynccontextmanager
    async def workers(self, base_url: str, variant: str, count: int) -> AsyncIterator[list[WorkerProcess]]:
        environment = {
            "DATABASE_URL": self.postgres.url(),
            "TEMPORAL_ADDRESS": self.temporal.address,
            "ANTHROPIC_BASE_URL": base_url,
            "ANTHROPIC_API_KEY": "any",
            "TONGYAO_ENGINE": "anthropic",
            "TONGYAO_HOME": str(self.home),
            "TONGYAO_WORKER_ACTIVITIES": "1200",
            "TONGYAO_LOG_LEVEL": "warning",
            "TONGYAO_TEMPORAL_ENCRYPTION": "0" if variant == "plain" else "1",
            "TONGYAO_TEMPORAL_AUTHENTICATED": "1",
            "TONGYAO_TRACES_ENDPOINT": self.collector if variant == "traces" else "",
        }
        workers = [WorkerProcess(environment, log=self.home / f"worker-{number}.log") for number in range(count)]
        async with AsyncExitStack() as started:
            for worker in workers:
                started.push_async_callback(worker.stop)
                await worker.start()
            yield workers

    async def run(self, run: Run, *, people: int = 0, variant: str = "codec", workers: int = 1) -> Seen:
        """Run one process without latency, whose requests the floor repeats. Then measure."""
        recorded = self.home / f"requests-{time.monotonic_ns()}.jsonl"
        ids = await self.stack.people({f"p{n}": PROFILE.format(n=n) for n in range(PARTICIPANTS)})
        choices = [
            Choice(profile_id=one, endpoint=EndpointKind.HUMAN if number < people else EndpointKind.PROXY)
            for number, one in enumerate(ids)
        ]
        stack = self.plain if variant == "plain" else self.stack
        async with messages_api(0.0, recorded) as (url, _), self.workers(url, variant, 1):
            await self.live(stack, choices, people)
        async with messages_api(run.latency) as (url, served), self.workers(url, variant, workers) as running:
            # in its first process, a worker loads its workflow sandbox and opens its connections
            if run.processes == 1:
                await self.live(stack, choices, people)
            assert self.postgres.pid and self.temporal.pid
            worker_pids = {f"worker {number}": worker.pid for number, worker in enumerate(running) if worker.pid}
            pids = {"server": self.temporal.pid, "database": self.postgres.pid, "api": served.pid}
            meter = Meter(worker_pids | pids)
            before, began = meter.read(), time.monotonic()
            finished = await asyncio.gather(*(self.live(stack, choices, people) for _ in range(run.processes)))
            wall = time.monotonic() - began
            after = meter.read()
            used = {name: after[name] - before[name] for name in after}
            sizes = [await self._history(one) for one in finished[:5]]
            calls = len(await self.stack.repositories.ledger.calls(finished[0]))
            floor_wall, floor_cpu = (0.0, 0.0) if people else measure_floor(url, recorded, run.processes)
        critical = len(in_waves(read_requests(recorded))) * run.latency
        cpu = {name: 1000 * used[name] / run.processes for name in pids}
        cpu["worker"] = 1000 * sum(used[name] for name in worker_pids) / run.processes
        events, size = max(sizes)
        return Seen(
            run,
            variant,
            workers,
            critical,
            wall,
            cpu,
            floor_wall,
            1000 * floor_cpu / run.processes,
            events,
            size,
            calls,
        )

    async def live(self, stack: Stack, choices: Sequence[Choice], people: int) -> str:
        """Run one process from start to end. It asks no questions about residual tensions, because nobody would answer."""
        pid = await stack.start(choices, intent=INTENT, auto_confirm=True, residuals="off")
        if people:
            await self._speak(stack, pid)
        await stack.handle(pid).result()
        return pid

    async def _speak(self, stack: Stack, pid: str) -> None:
        """Answer every ask to the people at once."""
        repositories, said = stack.repositories, set[tuple[str, str, int]]()
        while not (await repositories.processes.get(pid)).ended_at:
            for ask in await repositories.inbox.of_process(pid, open_only=True):
                # the answer is being recorded; a second one would be a correction
                if (ask.ask, ask.alias, ask.round) in said:
                    continue
                said.add((ask.ask, ask.alias, ask.round))
                if ask.ask == "projection":
                    words = PROFILE.format(n=ask.alias) if ask.round == 1 else None
                    await stack.speak(pid, ask.alias, ask.round, words)
                elif ask.ask == "answer":
                    await stack.say(pid, "answer_plan", alias=ask.alias, revision=ask.round, answer="commit")
            await asyncio.sleep(0.1)

    async def _history(self, pid: str) -> tuple[int, int]:
        history = await self.stack.handle(pid).fetch_history()
        words = ("tide gauges", "winter crossing")
        assert not any(word in str(event) for event in history.events for word in words), "a text is in the history"
        return len(history.events), sum(event.ByteSize() for event in history.events)


@asynccontextmanager
async def opened() -> AsyncIterator[Bench]:
    async with AsyncExitStack() as exit_stack:
        home = Path(
            exit_stack.enter_context(tempfile.TemporaryDirectory(prefix="ty-bench-", ignore_cleanup_errors=True))
        )
        home.chmod(0o755)
        postgres = LocalPostgres(home)
        exit_stack.callback(postgres.stop)
        migrate(postgres.start())
        temporal = LocalTemporal(home)
        exit_stack.callback(temporal.stop)
        await temporal.start()
        settings = Settings(home=home, database_url=postgres.url(), temporal_address=temporal.address)
        repositories = await exit_stack.enter_async_context(wiring.repositories(settings))
        client = await connect(settings)
        plain = await connect(settings.model_copy(update={"temporal_encryption": False}))
        collector = exit_stack.enter_context(trace_collector())
        yield Bench(
            home,
            postgres,
            temporal,
            settings,
            Stack(AppContext(repositories, client)),
            Stack(AppContext(repositories, plain)),
            client,
            collector,
        )


def report(seen: Seen, people: int) -> str:
    events, size = HISTORY_GOALS[people > 0]
    history_goal = f" (goals {events} and {size:,})"
    ours = sum(seen.cpu[name] for name in ("worker", "server", "database"))
    goal = GOALS.get((seen.run.processes, seen.run.latency))
    parts = ", ".join(f"{name} {seen.cpu[name]:.0f}" for name in ("worker", "server", "database"))
    return "\n".join(
        [
            f"{seen.run}, {seen.variant}, {seen.workers} worker{'s' * (seen.workers > 1)}: wall {seen.wall:.2f} s, "
            f"critical path {seen.critical:.1f} s",
            f"  share {seen.critical / seen.wall:.3f}"
            + (f" (goal {goal})" if goal else "")
            + (f"; the floor's {seen.critical / seen.floor_wall:.3f}" if seen.floor_wall else ""),
            f"  CPU a process: {parts} = {ours:.0f} ms, the floor {seen.floor_cpu:.0f} ms, "
            f"over it {ours - seen.floor_cpu:.0f} ms (goal {CPU_GOAL}); the Messages API {seen.cpu['api']:.0f} ms",
            f"  history: {seen.events} events, {seen.bytes:,} bytes{history_goal}; {seen.calls:g} model calls",
        ]
    )


async def main(runs: Sequence[Run], people: int, variants: Sequence[str], workers: int) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    async with opened() as bench:
        for run in runs:
            for variant in variants:
                seen = await bench.run(run, people=people, variant=variant, workers=workers)
                print(report(seen, people), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runs", nargs="+", type=Run.read, default=[Run(1, 0.2), Run(1, 2.0), Run(30, 2.0), Run(200, 5.0)]
    )
    parser.add_argument(
        "--people", type=int, default=0, help="number of the five participants who are people and answer at once"
    )
    parser.add_argument(
        "--variants", nargs="+", choices=VARIANTS, default=["codec"], help="measured one after the other"
    )
    parser.add_argument("--workers", type=int, default=1, help="worker processes")
    parser.add_argument("--serve", nargs=3, metavar=("PORT", "LATENCY", "RECORD"), help=argparse.SUPPRESS)
    parser.add_argument("--floor", nargs=3, metavar=("URL", "REQUESTS", "PROCESSES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(int(options.serve[0]), float(options.serve[1]), Path(options.serve[2]) if options.serve[2] else None)
    elif options.floor:
        run_floor(options.floor[0], Path(options.floor[1]), int(options.floor[2]))
    else:
        asyncio.run(main(options.runs, options.people, options.variants, options.workers))
