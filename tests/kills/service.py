"""`tongyao up` as people run it, in a process of its own, parts of which are killed with SIGKILL."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, get_args

import psutil

from tests.support.until import until
from tongyao.runtime.local.addresses import ServiceAddresses, find_running
from tongyao.runtime.local.server_process import read_pid

Victim = Literal["worker", "temporal", "postgres", "service"]
VICTIMS: Final[tuple[Victim, ...]] = get_args(Victim)
REPOSITORY: Final = Path(__file__).parents[2]
START_SECONDS: Final = 600


class KillableService:
    """An installation in `home`: persistent Temporal, PostgreSQL, worker, relay and gateway."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self.home = home
        self.url = ""
        """Of the gateway; another one after each start."""
        self._log = home / "up.log"
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),  # a worker is started by the path of its file
            "TONGYAO_HOME": str(home),
            "TONGYAO_GATEWAY_PORT": "0",
            "COLUMNS": "200",
            **environment,
        }
        self._up: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Return when it says that it runs. Raises `AssertionError` with its output when it ends before."""
        printed_before = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as out:
            self._up = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tongyao.cli", "up",
                cwd=REPOSITORY, env=self._environment, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip

        def running() -> bool:
            assert self._up is not None
            printed = self._log.read_bytes()[printed_before:].decode(errors="replace")
            assert self._up.returncode is None, printed[-4_000:]
            if "Running" in printed and (said := re.search(r"API\s+(http://\S+)", printed)):
                self.url = said.group(1)
                return True
            return False

        await until(running, f"{self._log} says that it runs", seconds=START_SECONDS)

    async def stop(self) -> None:
        """Ctrl-C. Returns when it has ended."""
        if self._up is not None and self._up.returncode is None:
            self._up.send_signal(signal.SIGINT)
            await asyncio.wait_for(self._up.wait(), 90)

    @property
    def addresses(self) -> ServiceAddresses:
        running = find_running(self.home)
        assert running is not None, "the service does not run"
        return running

    def pid_of(self, victim: Victim) -> int | None:
        """The process to kill; None: it does not run now."""
        if self._up is None or self._up.returncode is not None:
            return None
        pid: int | None
        match victim:
            case "service":
                pid = self._up.pid
            case "worker":
                pid = _worker_of(self._up.pid)
            case _:
                pid = read_pid(self.home / "run" / f"{victim}.lock")
        return pid if pid is not None and _lives(pid) else None

    async def kill(self, victim: Victim) -> None:
        """SIGKILL, once the victim runs. The whole service is started again, as its operator would; the rest comes back by itself."""
        pid = await until(lambda: self.pid_of(victim), f"{victim} runs", seconds=START_SECONDS)
        assert pid is not None
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if victim == "service":
            assert self._up is not None
            await self._up.wait()
            await self.start()


def _worker_of(pid: int) -> int | None:
    with suppress(psutil.Error):
        for child in psutil.Process(pid).children():
            if any(part.endswith("worker.py") for part in child.cmdline()):
                return child.pid
    return None


def _lives(pid: int) -> bool:
    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
