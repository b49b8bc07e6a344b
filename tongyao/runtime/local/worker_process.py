"""A worker as a child process, which can be killed and restarted while the other parts run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.supervise import die_with_parent

log = structlog.get_logger()
READY_SECONDS = 600
"""Limit for the start of a worker. It is long, because the machine may be busy. An ended worker is noticed at once."""
WORKER_FILE = Path(__file__).resolve().parents[3] / "worker.py"
"""Workers are started by this path, because Python would search a module name first in the current directory."""


class WorkerProcess:
    """Runs `python worker.py ROLE`, with `environment` added to that of this process, and its output in `log`.

    `file`: the `worker.py`, for example of another build.
    """

    def __init__(
        self, environment: Mapping[str, str], *, log: Path, role: str = "all", file: Path = WORKER_FILE
    ) -> None:
        self._environment = {**os.environ, **environment}
        self._log = log
        self._role = role
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    async def start(self) -> None:
        """Start the worker and wait until it polls. Raises `LocalServiceError` with the end of its log if it ends."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        began = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(self._file), self._role],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(15),
            )
        async with asyncio.timeout(READY_SECONDS):
            while b"is polling" not in self._printed(began):
                if self._process.poll() is not None:
                    printed = self._printed(began).decode(errors="replace").strip()[-1_000:]
                    raise LocalServiceError(f"the worker ended at its start; {self._log} says:\n{printed}")
                await asyncio.sleep(0.05)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    def kill(self) -> None:
        """Kill the worker (SIGKILL). After their timeouts, Temporal gives its running activities to another worker."""
        if self._process is not None:
            self._killed = True
            self._process.kill()
            self._process.wait()

    async def stop(self) -> None:
        """Stop the worker (SIGTERM). Kill it if it has not ended after 30 s."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            await asyncio.to_thread(self._process.wait, 30)
        except subprocess.TimeoutExpired:
            self.kill()

    async def keep_running(self, stop: asyncio.Event) -> None:
        """Restart the worker whenever it has ended, until `stop` is set. An end that `kill` caused is not logged."""
        while not stop.is_set():
            if self._process is not None and (ended := self._process.poll()) is not None:
                if not self._killed:
                    log.warning("the worker ended and is started again", exit_code=ended, log=str(self._log))
                self._killed = False
                with suppress(LocalServiceError, TimeoutError):  # tried again after a second; its log has the reason
                    await self.start()
            try:
                async with asyncio.timeout(1):
                    await stop.wait()
            except TimeoutError:
                continue

    def _printed(self, since: int) -> bytes:
        with self._log.open("rb") as log:
            log.seek(since)
            return log.read()
