"""Connects to a running installation, or starts one. Both yield the context of the use cases and the addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tongyao.app.context import AppContext
from tongyao.runtime import wiring
from tongyao.runtime.errors import NotRunning
from tongyao.runtime.local.addresses import ServiceAddresses, find_running
from tongyao.runtime.settings import Settings

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.runtime import Runtime

    from tongyao.records.repositories import Repositories
    from tongyao.runtime.local.worker_process import WorkerProcess


@dataclass(frozen=True)
class Installation:
    """An open installation. `worker` is set if this program started the servers, and None otherwise."""

    settings: Settings
    addresses: ServiceAddresses
    context: AppContext
    worker: WorkerProcess | None = None

    @property
    def joined(self) -> bool:
        return self.worker is None


@asynccontextmanager
async def running(settings: Settings, *, runtime: Runtime | None = None) -> AsyncIterator[Installation]:
    """Connect to a running installation: the servers of the settings, or the service of this home.

    Raises `NotRunning`, `DatabaseUnreachable`, `TemporalUnreachable`.
    """
    from tongyao.runtime.temporal.connection import connect

    addresses = _addresses(settings)
    async with AsyncExitStack() as stack:
        client = await connect(settings, address=addresses.temporal_address, runtime=runtime)
        yield Installation(settings, addresses, await _context(stack, settings, addresses, client))


@asynccontextmanager
async def records(settings: Settings) -> AsyncIterator[Repositories]:
    """Open the records of a running installation. The Temporal SDK is not imported.

    Raises `NotRunning`, `DatabaseUnreachable`.
    """
    async with wiring.repositories(settings, database_url=_addresses(settings).database_url) as repositories:
        yield repositories


@asynccontextmanager
async def brought_up(
    settings: Settings, *, starts: Callable[[str], None] = lambda part: None
) -> AsyncIterator[Installation]:
    """Connect to the service of this home. If none runs, start it for this block: servers, schema, worker, relay.

    `starts` is called with the part that is being started: `servers`, then `worker`.
    """
    from tongyao.app.operators.schedules import ensure_schedules
    from tongyao.app.start import start_announced
    from tongyao.records.maintenance import DutyLog
    from tongyao.records.migrate import migrate
    from tongyao.runtime.local.server_process import in_thread
    from tongyao.runtime.local.service import LocalService
    from tongyao.runtime.local.worker_process import WorkerProcess
    from tongyao.runtime.temporal.connection import connect
    from tongyao.runtime.temporal.namespaces import register_search_attributes

    async with AsyncExitStack() as stack:
        service = LocalService(settings)
        starts("servers")
        addresses = await stack.enter_async_context(service)
        client = await connect(settings, address=addresses.temporal_address)
        if service.joined:
            yield Installation(settings, addresses, await _context(stack, settings, addresses, client))
            return
        await in_thread(migrate, addresses.database_url)
        await register_search_attributes(client)
        environment = {**addresses.environment(), "TONGYAO_HOME": str(settings.home)}  # the home has the master key
        worker = WorkerProcess(environment, log=settings.home / "logs" / "worker.log")
        stack.push_async_callback(worker.stop)
        starts("worker")
        await worker.start()
        context = await _context(stack, settings, addresses, client)
        turned_off = await ensure_schedules(client, settings.maintenance.every)
        await DutyLog(context.repositories.pool).forget(turned_off)
        stop = asyncio.Event()
        tasks: list[asyncio.Task[object]] = [
            asyncio.create_task(context.relay.run(stop), name="relay"),
            asyncio.create_task(worker.keep_running(stop), name="worker"),
            asyncio.create_task(start_announced(context), name="start of announced processes"),
        ]
        for task in tasks:
            task.add_done_callback(_log_failure)
        try:
            yield Installation(settings, addresses, context, worker)
        finally:
            stop.set()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _log_failure(task: asyncio.Task[object]) -> None:
    from structlog import get_logger  # imported late, because commands that only read do not need it

    if not task.cancelled() and (error := task.exception()) is not None:
        get_logger().error("a background task failed", task=task.get_name(), error=type(error).__name__)


async def _context(
    stack: AsyncExitStack, settings: Settings, addresses: ServiceAddresses, client: Client
) -> AppContext:
    from tongyao.runtime.observability import logs

    logs.to_standard_error()
    repositories = await stack.enter_async_context(wiring.repositories(settings, database_url=addresses.database_url))
    return wiring.app_context(settings, repositories, client, temporal_ui=addresses.temporal_ui or "")


def _addresses(settings: Settings) -> ServiceAddresses:
    """Return the addresses of the servers of the settings, or of the service of this home. Raises `NotRunning`."""
    found = _named(settings) or find_running(settings.home)
    if found is None:
        raise NotRunning(settings.home)
    return found


def _named(settings: Settings) -> ServiceAddresses | None:
    """Return the addresses in the settings if both servers are set (a deployment), or None."""
    if settings.database_url is None or settings.temporal_address is None:
        return None
    return ServiceAddresses(
        database_url=settings.database_url.get_secret_value(),
        temporal_address=settings.temporal_address,
        temporal_namespace=settings.temporal_namespace,
        owner_pid=0,
        owner_started=0,
        started_at=datetime.now(UTC),
    )
