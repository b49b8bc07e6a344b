"""One port for each program, with `/metrics`, `/health` (it runs) and `/ready` (it can work); docs/operations.md §1."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError

from tongyao.app.operators.task_queues import RoleState
from tongyao.gateway.access.http_server import ServerWithoutSignals, server_config
from tongyao.records.backlog import read_backlog
from tongyao.records.database import Pool, RecordsError, session
from tongyao.records.maintenance import Backups, DutyLog
from tongyao.runtime.local.server_process import free_port, port_is_taken
from tongyao.runtime.observability import metrics
from tongyao.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

Check = Callable[[], Awaitable[bool]]
CHECK_SECONDS = 3.0
FRESH_SECONDS = 1.0
MOST_CONNECTIONS = 100
"""Limit of the connections of all clients. The port has no login and is served by the event loop of the gateway."""


class Telemetry:
    """Metrics, health and traces of one program. Create it before the Temporal client, which needs `runtime`.

    `checks`: by name, the checks that `/ready` runs. Add to them when parts of the program start. If `records` and
    `roles` are set, the metrics include those of the whole installation. Only one program, the gateway, should set
    them.
    """

    def __init__(self, settings: Settings, *, service: str = "tongyao") -> None:
        """`service`: the name of this program in traces. Raises `SettingsError` if the port is taken."""
        self._traces: TracerProvider | None = None
        if settings.traces_endpoint is not None:
            from tongyao.runtime.observability.traces import start_traces  # late: imports the OpenTelemetry SDK

            self._traces = start_traces(settings.traces_endpoint, service)
        self._host, self._port = settings.metrics_host, settings.metrics_port
        self.checks: dict[str, Check] = {}
        self.records: Pool | None = None
        self.roles: Callable[[], Awaitable[Sequence[RoleState]]] | None = None
        self.runtime: Runtime | None = None
        self._asking, self._answer, self._answered_at = asyncio.Lock(), b"", 0.0
        if self._port is None:
            return
        if port_is_taken(self._port, self._host):
            raise SettingsError(f"port {self._port} on {self._host} is taken: choose another TONGYAO_METRICS_PORT")
        self._inner = f"127.0.0.1:{free_port()}"  # the port of the SDK's metrics, which `/metrics` includes
        self.runtime = Runtime(telemetry=TelemetryConfig(metrics=PrometheusConfig(bind_address=self._inner)))

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Serve the port, if there is one, while the block runs. At its end, send the remaining traces."""
        try:
            async with self._answering():
                yield
        finally:
            if self._traces is not None:
                await asyncio.to_thread(self._traces.shutdown)

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        if self._port is None:
            yield
            return
        config = server_config(
            self.app(), most_connections=MOST_CONNECTIONS, host=self._host, port=self._port, lifespan="off"
        )
        server = ServerWithoutSignals(config)
        listening = config.bind_socket()  # clients can connect from here on
        running = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield
        finally:
            server.should_exit = True
            await running
            listening.close()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/metrics", self._metrics),
                Route("/health", self._health),
                Route("/ready", self._ready),
            ]
        )

    async def _metrics(self, request: Request) -> Response:
        """Return metrics that are at most `FRESH_SECONDS` old. The cache limits the queries, as anybody may call."""
        async with self._asking:
            if not self._answer or time.monotonic() - self._answered_at > FRESH_SECONDS:
                self._answer = await self._read_metrics()
                self._answered_at = time.monotonic()
            return Response(self._answer, media_type=CONTENT_TYPE_LATEST)

    async def _read_metrics(self) -> bytes:
        if self.records is not None:
            try:
                metrics.show_backlog(await read_backlog(self.records))
                metrics.show_duties(await DutyLog(self.records).rows(), await Backups(self.records).last())
            except RecordsError:
                metrics.forget_records()
        if self.roles is not None:
            try:
                metrics.show_roles(await self.roles())
            except RPCError:
                metrics.forget_roles()
        own = generate_latest(metrics.REGISTRY)
        async with httpx.AsyncClient(timeout=CHECK_SECONDS, trust_env=False) as client:
            sdk = await client.get(f"http://{self._inner}/metrics")
        return own + sdk.content

    async def _health(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, request: Request) -> Response:
        """Answer 503 with the names of failed checks, or with `starting` before the first check is added."""
        missing = [name for name, check in self.checks.items() if not await _passes(check)] or (
            [] if self.checks else ["starting"]
        )
        if missing:
            return PlainTextResponse(f"not ready: {', '.join(missing)}\n", status_code=503)
        return PlainTextResponse("ready\n")


def records_answer(pool: Pool) -> Check:
    async def check() -> bool:
        async with session(pool) as connection:
            await connection.execute("SELECT 1")
        return True

    return check


async def _passes(check: Check) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except Exception:  # any failure means that it is not ready
        return False
