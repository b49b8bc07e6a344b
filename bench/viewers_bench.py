"""Viewers of one running process: `python -m bench.viewers_bench [--viewers 200]`.

The gateway runs in a separate process. Each viewer has its own session and keeps the stream of the process's page open.
When the stream reports a change, the viewer reloads the page, as the page's script does. Measured: the time from
PostgreSQL's notification of an observation to its arrival at each viewer and to each viewer's new page; the gateway's
memory and CPU. Viewers are plain sockets, so that reading two hundred streams takes little CPU of this process, which
shares two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import psutil
import psycopg

from bench.orchestration_bench import PROFILE, Bench, opened
from bench.waiting_processes import TENSION
from tongyao.app.people.sessions import open_session
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.process.changes import EVENTS
from tongyao.runtime.local.server_process import free_port
from tongyao.runtime.local.worker_process import WorkerProcess

PEOPLE: Final = 5
MOST: Final = ("MOST_STREAMS", "MOST_PAGES", "MOST_REQUESTS", "MOST_CONNECTIONS")
ROUNDS: Final = 4
SETTLE_SECONDS: Final = 15.0
"""The wait after an observation until all its effects are visible."""
EARLY_SECONDS: Final = 0.1
"""A viewer may seem to see an event this many seconds before this process notes its notification, because threads wait
for each other.
"""
SPREAD: Final = 1.0
AT_MOST_EVERY: Final = 1.0
"""The delays of the page's script. A page is loaded at a random moment within `SPREAD` seconds, and at the earliest
`AT_MOST_EVERY` seconds after the previous page.
"""
COMING: Final = 20
"""The number of viewers that connect at a time."""
POLL_SECONDS: Final = 0.05


@dataclass
class Viewer:
    """`told`: times at which the stream reported a change. `loaded`: (requested, answered, status, bytes) of each new page."""

    secret: str
    told: list[float] = field(default_factory=list)
    loaded: list[tuple[float, float, int, int]] = field(default_factory=list)

    async def look(self, port: int, pid: str, ready: asyncio.Event) -> None:
        """Open the page's stream, and load the page whenever the stream reports a change, as `static/console.js` does."""
        changed = asyncio.Event()
        loading = asyncio.create_task(self._load(port, f"/console/processes/{pid}", changed))
        reader, writer = await self._ask(port, f"/console/processes/{pid}/live")
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head[:20], head
            ready.set()
            while line := await reader.readline():
                if line.strip() == b"event: changed":
                    self.told.append(time.monotonic())
                    changed.set()
        finally:
            loading.cancel()
            writer.close()

    async def _load(self, port: int, path: str, changed: asyncio.Event) -> None:
        while True:
            await changed.wait()
            last = self.loaded[-1][1] if self.loaded else 0.0
            await asyncio.sleep(max(0.0, last + AT_MOST_EVERY - time.monotonic()) + SPREAD * random.random())
            changed.clear()
            began = time.monotonic()
            answer = b""
            with suppress(
                OSError
            ):  # the gateway closed the connection: the page has status 0 and is reported as refused
                reader, writer = await self._ask(port, path, close=True)
                answer = await reader.read(-1)
                writer.close()
            self.loaded.append((began, time.monotonic(), int(answer[9:12] or b"0"), len(answer)))

    async def _ask(
        self, port: int, path: str, *, close: bool = False
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        kept = "close" if close else "keep-alive"
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: {kept}\r\n"
            f"Cookie: tongyao_session={self.secret}\r\n\r\n".encode()
        )
        return reader, writer


class Observations(threading.Thread):
    """The times at which PostgreSQL notified of each observation of one process."""

    def __init__(self, url: str, pid: str) -> None:
        super().__init__(daemon=True)
        self.url, self.pid = url, pid
        self.at: list[float] = []

    def run(self) -> None:
        counted = "SELECT count(*) FROM events WHERE process_id = %s AND kind = 'observation_ready'"
        with (
            psycopg.connect(self.url, autocommit=True) as listening,
            psycopg.connect(self.url, autocommit=True) as asking,
        ):
            listening.execute(f"LISTEN {EVENTS}")
            with suppress(psycopg.OperationalError):  # the server stops at the end of the benchmark
                for notified in listening.notifies():
                    at = time.monotonic()
                    if notified.payload == self.pid:
                        row = asking.execute(counted, [self.pid]).fetchone()
                        self.at += [at] * ((row[0] if row else 0) - len(self.at))


async def started_worker(bench: Bench, closing: AsyncExitStack) -> dict[str, str]:
    """Start a worker with the extractive engine, in a separate process. Returns its environment."""
    environment = {
        "DATABASE_URL": bench.postgres.url(),
        "TEMPORAL_ADDRESS": bench.temporal.address,
        "TONGYAO_HOME": str(bench.home),
        "TONGYAO_ENGINE": "extractive",
        "TONGYAO_LOG_LEVEL": "warning",
    }
    worker = WorkerProcess(environment, log=bench.home / "worker.log")
    closing.push_async_callback(worker.stop)
    await worker.start()
    return environment


async def main(viewers: int) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    async with opened() as bench, AsyncExitStack() as closing:
        environment = {
            **await started_worker(bench, closing),
            # The viewers are only six people, and all requests come from one address.
            **{f"TONGYAO_GATEWAY__{name}": "1000000/minute" for name in ("RATE", "ADDRESS_RATE")},
            **{f"TONGYAO_GATEWAY__{name}": str(10 * viewers) for name in MOST},
        }
        port, serving = await gateway(environment, closing)
        pid, people = await room(bench)
        looking = await _viewers(bench, viewers, people, f"http://127.0.0.1:{port}")
        observations = Observations(bench.postgres.url(), pid)
        observations.start()
        tasks, ready = [], []
        for viewer in looking:
            ready.append(asyncio.Event())
            tasks.append(asyncio.create_task(viewer.look(port, pid, ready[-1])))
            if len(ready) % COMING == 0 or len(ready) == len(looking):
                opening = asyncio.ensure_future(asyncio.gather(*(one.wait() for one in ready)))
                awaited: set[asyncio.Future[Any]] = {opening, *tasks}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED, timeout=300)
                failed = [task.exception() for task in tasks if task.done()]
                assert opening.done(), failed or "streams are not open in 300 s"
        await asyncio.sleep(SETTLE_SECONDS)
        print(f"{len(looking)} streams open; gateway {serving.memory_info().rss / 1e6:.0f} MB", flush=True)
        idle = await _share_of_a_core(serving, 10)
        spent, most = [], 0
        for number in range(1, ROUNDS):
            began = _cpu_seconds(serving)
            await _round(bench, pid, number, observations)
            spent.append(_cpu_seconds(serving) - began)
            most = max(most, serving.memory_info().rss)
        _report(looking, observations.at, idle, spent, most)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def gateway(environment: dict[str, str], closing: AsyncExitStack) -> tuple[int, psutil.Process]:
    port = free_port()
    run = subprocess.Popen(
        [sys.executable, "-c", "from tongyao.cli import main; main()", "gateway"],
        env={**os.environ, **environment, "TONGYAO_GATEWAY_PORT": str(port)},
    )
    closing.callback(run.wait)
    closing.callback(run.terminate)
    async with asyncio.timeout(300), httpx.AsyncClient() as http:
        while True:
            with suppress(httpx.TransportError):
                if (await http.get(f"http://127.0.0.1:{port}/console/enter")).is_success:
                    return port, psutil.Process(run.pid)
            await asyncio.sleep(POLL_SECONDS)


async def room(bench: Bench) -> tuple[str, list[str]]:
    """Start a process whose first participant is a `human`, and wait for its first ask.

    Returns its id and its people, the demander first.
    """
    people = await bench.stack.people({f"p{n}": PROFILE.format(n=n) for n in range(PEOPLE)})
    chosen = [
        Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN),
        *(Choice(profile_id=one) for one in people[1:]),
    ]
    pid = await bench.stack.start(
        chosen, tension=TENSION, auto_confirm=True, correcting_seconds=0, demander="p-demander"
    )
    await asked(bench, pid, 1)
    return pid, ["p-demander", *people]


async def asked(bench: Bench, pid: str, number: int) -> str:
    """Wait until a participant is asked in this round. Returns the alias."""
    while True:
        for ask in await bench.stack.repositories.inbox.of_process(pid, open_only=True):
            if ask.ask == "projection" and ask.round == number:
                return ask.alias
        await asyncio.sleep(POLL_SECONDS)


async def said(bench: Bench, pid: str, number: int) -> None:
    """Wait until the person is asked in this round, and let them speak."""
    alias = await asked(bench, pid, number)
    text = f"I can lend the workshop on the {number}th of May, and I need a key. I will not lend it on Sundays."
    await bench.stack.speak(pid, alias, number, text)


async def _viewers(bench: Bench, number: int, people: Sequence[str], url: str) -> list[Viewer]:
    """Make this many viewers, with these people in turn."""
    looking = []
    for at in range(number):
        secret = (await bench.stack.repositories.tokens.issue("person", person=people[at % len(people)])).secret
        looking.append(Viewer((await open_session(bench.stack.context, secret, place=url)).secret))
    return looking


async def _round(bench: Bench, pid: str, number: int, observations: Observations) -> None:
    """Let the person speak. Return when all effects of the observation had time to become visible."""
    await said(bench, pid, number)
    async with asyncio.timeout(120):
        while len(observations.at) < number:
            await asyncio.sleep(POLL_SECONDS)
    await asyncio.sleep(SETTLE_SECONDS)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _share_of_a_core(process: psutil.Process, seconds: float) -> float:
    began = _cpu_seconds(process)
    await asyncio.sleep(seconds)
    return (_cpu_seconds(process) - began) / seconds


def _report(looking: list[Viewer], seen: list[float], idle: float, spent: list[float], most: int) -> None:
    told, loaded = list[float](), list[float]()
    for at in seen:
        for viewer in looking:
            first = [one for one in viewer.told if one >= at - EARLY_SECONDS]
            shown = [end for begun, end, status, _ in viewer.loaded if begun >= at - EARLY_SECONDS and status == 200]
            told.append(max(0.0, first[0] - at) if first else float("inf"))
            loaded.append(shown[0] - at if shown else float("inf"))
    for name, values in (("told of an observation", told), ("with the new page", loaded)):
        values.sort()
        middle, late = values[len(values) // 2], values[int(0.99 * len(values))]
        print(f"{name}: median {middle:.2f} s, 99 of 100 {late:.2f} s, the last {values[-1]:.2f} s")
    pages = [one for viewer in looking for one in viewer.loaded]
    print(
        f"pages: {len(pages)} loaded, refused, by status: {dict(Counter(status for _, _, status, _ in pages if status != 200))}, "
        f"{max((size for *_, size in pages), default=0) / 1e3:.0f} KB the largest"
    )
    print(
        f"gateway: {most / 1e6:.0f} MB at most; {100 * idle:.0f} % of a core while nothing changes; "
        f"{sum(spent) / len(spent):.1f} CPU seconds a round, {1000 * sum(spent) / max(1, len(pages)):.0f} ms a page"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=200)
    asyncio.run(main(parser.parse_args().viewers))
