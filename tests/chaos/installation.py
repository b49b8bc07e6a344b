"""An installation in parts, each a process of its own behind TCP proxies, which chaos kills, stops, cuts off and slows down."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final, Protocol, Self

import psutil
import psycopg
from temporalio.client import Client
from temporalio.service import RPCError

from tests.chaos.clock import ShiftedClock
from tests.kills.service import REPOSITORY
from tests.support.messages_api.server import MessagesServer
from tests.support.tcp_proxy import TcpProxy
from tests.support.until import until
from tongyao.records.migrate import migrate
from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.postgres import PORT, SUPERUSER
from tongyao.runtime.local.server_process import in_thread
from tongyao.runtime.local.service import LocalService
from tongyao.runtime.local.supervise import die_with_parent
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect
from tongyao.runtime.temporal.namespaces import register_search_attributes

BACK_SECONDS: Final = 240
"""How long a part may take to come back before that is a finding."""

TEMPORAL, POSTGRES, GATEWAY = "temporal", "postgres", "gateway"


class Program(Protocol):
    """A process of the product, without a supervisor of its own."""

    @property
    def pid(self) -> int | None: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class GatewayProcess:
    """`tongyao gateway` with `environment` added to the environment of this process. `line`: the proxy that people come through."""

    def __init__(self, environment: Mapping[str, str], *, log: Path, line: TcpProxy) -> None:
        self._environment = {**os.environ, **environment}
        self._log, self._line = log, line
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    async def start(self) -> None:
        """Return when it listens. Raises `LocalServiceError` if it ends before, `TimeoutError`."""
        began = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tongyao.cli", "gateway"],
                cwd=REPOSITORY, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=die_with_parent(signal.SIGTERM),
            )  # fmt: skip
        async with asyncio.timeout(BACK_SECONDS):
            while (said := re.search(rb"API and MCP: http://(\S+)", self._log.read_bytes()[began:])) is None:
                if self._process.poll() is not None:
                    raise LocalServiceError(self._log.read_bytes()[began:].decode(errors="replace")[-1_000:])
                await asyncio.sleep(0.05)
        self._line.target = said.group(1).decode()

    async def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                await asyncio.to_thread(self._process.wait, 30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Installation:
    """Temporal, PostgreSQL, workers and a gateway. Each worker and the gateway have lines of their own to what they need.

    `lines`: by name, `worker-1/postgres`, `gateway/temporal`, `people/gateway`. Workers and gateway that end are started again,
    as their supervisor would; the servers have supervisors of the product.
    """

    def __init__(
        self,
        home: Path,
        logs: Path,
        models: MessagesServer,
        *,
        workers: int,
        clock: ShiftedClock | None,
        environment: Mapping[str, str],
    ) -> None:
        self.home = home
        self._logs, self._models, self._clock, self._environment = logs, models, clock, dict(environment)
        self._workers = [f"worker-{number}" for number in range(1, workers + 1)]
        self._exit = AsyncExitStack()
        self._service = LocalService(Settings(home=home))
        self.lines: dict[str, TcpProxy] = {}
        self.programs: dict[str, Program] = {}
        self.database_url = ""
        self.client: Client
        self._ready: set[str] = set()
        """Workers and gateway that poll and listen."""
        self.starts = 0
        """How often a worker or the gateway was started again."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (*self.programs, TEMPORAL, POSTGRES)

    @property
    def url(self) -> str:
        """Where people find the gateway, whichever it is now."""
        return f"http://{self.lines[f'people/{GATEWAY}'].address}"

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._exit.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for part in self.parts:
            self.signal(part, signal.SIGCONT)
        await self._exit.aclose()

    async def _start(self) -> None:
        addresses = await self._exit.enter_async_context(self._service)
        assert self._service.postgres is not None
        self.database_url = addresses.database_url
        await in_thread(migrate, addresses.database_url)
        with psycopg.connect(addresses.database_url, autocommit=True) as connection:  # it has to fit on a small disk
            connection.execute("ALTER SYSTEM SET max_wal_size = '128MB'")
            connection.execute("SELECT pg_reload_conf()")
        self.client = await connect(Settings(home=self.home), address=addresses.temporal_address)
        await register_search_attributes(self.client)
        socket = str(self._service.postgres.socket_directory / f".s.PGSQL.{PORT}")
        targets = {POSTGRES: socket, TEMPORAL: addresses.temporal_address}
        targets["models"] = self._models.base_url.removeprefix("http://")
        people = self.lines[f"people/{GATEWAY}"] = await self._exit.enter_async_context(TcpProxy("127.0.0.1:9"))
        for name in (*self._workers, GATEWAY):
            for target, address in targets.items():
                if name != GATEWAY or target != "models":
                    self.lines[f"{name}/{target}"] = await self._exit.enter_async_context(TcpProxy(address))
            environment = self._environment_of(name)
            log = self._logs / f"{name}.log"
            if name == GATEWAY:
                self.programs[name] = GatewayProcess(environment, log=log, line=people)
            else:
                self.programs[name] = WorkerProcess(environment, log=log)
            self._exit.push_async_callback(self.programs[name].stop)
        await asyncio.gather(*(one.start() for one in self.programs.values()))
        self._ready |= set(self.programs)
        supervising = asyncio.create_task(self._supervise())
        self._exit.push_async_callback(_cancelled, supervising)

    def _environment_of(self, name: str) -> dict[str, str]:
        assert self._service.postgres is not None
        models = self.lines.get(f"{name}/models")
        return {
            "PYTHONPATH": str(REPOSITORY),
            "TONGYAO_HOME": str(self.home),
            "TONGYAO_GATEWAY_PORT": "0",
            "DATABASE_URL": f"postgresql://{SUPERUSER}@{self.lines[f'{name}/{POSTGRES}'].address}/{self._service.postgres.database}",
            "TEMPORAL_ADDRESS": self.lines[f"{name}/{TEMPORAL}"].address,
            **({"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": f"http://{models.address}"} if models else {}),
            **(self._clock.environment if self._clock is not None else {}),
            "COLUMNS": "200",
            **self._environment,
        }

    async def _supervise(self) -> None:
        while True:
            for name, program in self.programs.items():
                if program.pid is None:
                    self.starts += 1
                    self._ready.discard(name)
                    with suppress(LocalServiceError, TimeoutError):  # its log says why; tried again at once
                        await program.start()
                        self._ready.add(name)
            await asyncio.sleep(0.1)

    def pid_of(self, part: str) -> int | None:
        """The process of a part; None: it does not run now."""
        match part:
            case "temporal":
                return self._service.temporal.pid if self._service.temporal is not None else None
            case "postgres":
                return self._service.postgres.pid if self._service.postgres is not None else None
            case _:
                return self.programs[part].pid

    def signal(self, part: str, number: signal.Signals) -> None:
        """Send a signal to a part; to PostgreSQL's backends as well, but SIGKILL to the postmaster alone."""
        with suppress(psutil.Error):
            if (pid := self.pid_of(part)) is None:
                return
            process = psutil.Process(pid)
            family = [process] if number is signal.SIGKILL else [process, *process.children(recursive=True)]
            for one in family:
                with suppress(psutil.Error):
                    one.send_signal(number)

    async def until_back(self, before: Mapping[str, int | None]) -> None:
        """Return when every part runs and answers, those of `before` as other processes. Raises `AssertionError` that names the part."""
        for part in self.parts:

            async def is_back(part: str = part) -> bool:
                pid = self.pid_of(part)
                return pid is not None and pid != before.get(part) and await self._answers(part)

            await until(is_back, f"{part} is back", seconds=BACK_SECONDS)

    async def _answers(self, part: str) -> bool:
        if part == TEMPORAL:
            with suppress(RPCError):
                return await self.client.service_client.check_health()
            return False
        if part == POSTGRES:
            try:
                async with await psycopg.AsyncConnection.connect(self.database_url, connect_timeout=2):
                    return True
            except psycopg.Error:
                return False
        return part in self._ready


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
