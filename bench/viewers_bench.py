"""Viewers of one live process: `python -m bench.viewers_bench [--viewers 200]`.

The gateway runs in a process of its own. Each viewer has a session and an address of its own, keeps the stream of the
process's page open and, as the page's script does, loads the page anew when it is told of a change. Measured: from an
observation in the records to the word at each viewer, and to the new page; the gateway's memory and CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Final

import httpx
import psutil

from bench.open_processes_bench import TENSION
from bench.orchestration_bench import PROFILE, Bench, opened
from tongyao.app.people.sessions import open_session
from tongyao.gateway.server import listen
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.runtime.local.worker_process import WorkerProcess

PEOPLE: Final = 5
ROUNDS: Final = 4
POLL_SECONDS: Final = 0.02
SETTLE_SECONDS: Final = 6.0
"""After an observation, for all that follows from it to be seen."""


@dataclass
class Viewer:
    """`told`: when the stream said that something changed; `loaded`: (asked, answered, status) of each new page; `size`: of the last."""

    address: str
    secret: str
    told: list[float] = field(default_factory=list)
    loaded: list[tuple[float, float, int]] = field(default_factory=list)
    size: int = 0

    async def look(self, url: str, pid: str, ready: asyncio.Event) -> None:
        """Open the page's stream, and load the page whenever it says so, as `static/console.js` does."""
        page = f"{url}/console/processes/{pid}"
        transport = httpx.AsyncHTTPTransport(local_address=self.address)
        cookies = {"tongyao_session": self.secret}
        async with httpx.AsyncClient(transport=transport, cookies=cookies, timeout=60) as http:
            changed = asyncio.Event()
            loading = asyncio.create_task(self._load(http, page, changed))
            try:
                async with http.stream("GET", f"{page}/live") as stream:
                    assert stream.status_code == 200, stream.status_code
                    ready.set()
                    async for line in stream.aiter_lines():
                        if line == "event: changed":
                            self.told.append(time.monotonic())
                            changed.set()
            finally:
                loading.cancel()

    async def _load(self, http: httpx.AsyncClient, page: str, changed: asyncio.Event) -> None:
        while True:
            await changed.wait()
            changed.clear()
            began = time.monotonic()
            answer = await http.get(page)
            self.size = answer.num_bytes_downloaded
            self.loaded.append((began, time.monotonic(), answer.status_code))


async def main(viewers: int) -> None:
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    async with opened() as bench, AsyncExitStack() as closing:
        environment = {
            "DATABASE_URL": bench.postgres.url(),
            "TEMPORAL_ADDRESS": bench.temporal.address,
            "TONGYAO_HOME": str(bench.home),
            "TONGYAO_ENGINE": "extractive",
            "TONGYAO_LOG_LEVEL": "warning",
            "TONGYAO_GATEWAY__RATE": "1000000/minute",  # the viewers share five sessions' people
            "TONGYAO_GATEWAY__MOST_STREAMS": str(viewers),
        }
        worker = WorkerProcess(environment, log=bench.home / "worker.log")
        closing.push_async_callback(worker.stop)
        await worker.start()
        url, gateway = await _gateway(environment, closing)
        pid, looking = await _process(bench, viewers, url)
        tasks, ready = [], []
        for viewer in looking:
            ready.append(asyncio.Event())
            tasks.append(asyncio.create_task(viewer.look(url, pid, ready[-1])))
        await asyncio.wait_for(asyncio.gather(*(one.wait() for one in ready)), 120)
        await asyncio.sleep(SETTLE_SECONDS)
        print(f"{len(looking)} streams open; gateway {gateway.memory_info().rss / 1e6:.0f} MB")
        idle = await _cpu(gateway, 10)
        began, seen = _cpu_seconds(gateway), [await _round(bench, pid, number) for number in range(1, ROUNDS)]
        computed = _cpu_seconds(gateway) - began
        _report(looking, seen, gateway, idle, computed / len(seen))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _gateway(environment: dict[str, str], closing: AsyncExitStack) -> tuple[str, psutil.Process]:
    bound = listen("127.0.0.1", 0)
    port = bound.getsockname()[1]
    bound.close()
    run = subprocess.Popen(
        [sys.executable, "-c", "from tongyao.cli import main; main()", "gateway"],
        env={**os.environ, **environment, "TONGYAO_GATEWAY_PORT": str(port)},
    )
    closing.callback(run.wait)
    closing.callback(run.terminate)
    url = f"http://127.0.0.1:{port}"
    async with asyncio.timeout(60), httpx.AsyncClient() as http:
        while True:
            with suppress(httpx.TransportError):
                if (await http.get(f"{url}/console/enter")).is_success:
                    return url, psutil.Process(run.pid)
            await asyncio.sleep(0.1)


async def _process(bench: Bench, viewers: int, url: str) -> tuple[str, list[Viewer]]:
    """A process whose first participant speaks for themself, and its viewers: the demander's and the participants' in turn."""
    stack = bench.stack
    people = await stack.people({f"p{n}": PROFILE.format(n=n) for n in range(PEOPLE)})
    chosen = [
        Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN),
        *(Choice(profile_id=one) for one in people[1:]),
    ]
    pid = await stack.start(chosen, tension=TENSION, auto_confirm=True, demander="p-demander")
    tokens = stack.repositories.tokens
    looking = []
    for number in range(viewers):
        person = ["p-demander", *people][number % (PEOPLE + 1)]
        secret = (await tokens.issue("person", person=person)).secret
        session = await open_session(stack.context, secret, place=url)
        looking.append(Viewer(f"127.1.{number // 250}.{number % 250 + 1}", session.secret))
    await _asked(bench, pid, 1)
    return pid, looking


async def _asked(bench: Bench, pid: str, number: int) -> str:
    """Who is asked in this round, once somebody is."""
    while True:
        for ask in await bench.stack.repositories.inbox.of_process(pid, open_only=True):
            if ask.ask == "projection" and ask.round == number:
                return ask.alias
        await asyncio.sleep(POLL_SECONDS)


async def _round(bench: Bench, pid: str, number: int) -> float:
    """Have the person speak, and return when the observation was in the records."""
    repositories = bench.stack.repositories
    alias = await _asked(bench, pid, number)
    text = f"I can lend the workshop on the {number}th of May, and I need a key. I will not lend it on Sundays."
    await bench.stack.speak(pid, alias, number, text)
    while len(await repositories.events.of_kind(pid, EventKind.OBSERVATION_READY)) < number:
        await asyncio.sleep(POLL_SECONDS)
    at = time.monotonic()
    await asyncio.sleep(SETTLE_SECONDS)
    return at


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _cpu(process: psutil.Process, seconds: float) -> float:
    """The share of one core over so many seconds."""
    began = _cpu_seconds(process)
    await asyncio.sleep(seconds)
    return (_cpu_seconds(process) - began) / seconds


def _report(looking: list[Viewer], seen: list[float], gateway: psutil.Process, idle: float, a_round: float) -> None:
    told, loaded = [], []
    for at in seen:
        for viewer in looking:
            first = [one for one in viewer.told if one >= at - 2 * POLL_SECONDS]
            pages = [end for begun, end, status in viewer.loaded if begun >= at - 2 * POLL_SECONDS and status == 200]
            told.append(first[0] - at if first else float("inf"))
            loaded.append(pages[0] - at if pages else float("inf"))
    refused = sum(status != 200 for viewer in looking for _, _, status in viewer.loaded)
    for name, values in (("told of a change", told), ("with the new page", loaded)):
        values.sort()
        middle, most = values[len(values) // 2], values[int(0.99 * len(values))]
        print(f"{name}: median {middle:.2f} s, 99 of 100 {most:.2f} s, the last {values[-1]:.2f} s")
    print(f"pages not answered: {refused}; a page is {max(one.size for one in looking) / 1e3:.0f} KB")
    print(
        f"gateway: {gateway.memory_info().rss / 1e6:.0f} MB; {100 * idle:.0f} % of a core while nothing changes; "
        f"{a_round:.1f} CPU seconds for a round"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=200)
    asyncio.run(main(parser.parse_args().viewers))
