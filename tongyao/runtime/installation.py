"""Where a command stands: the records, a Temporal client, the doors; on a service that runs, or one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client
from temporalio.runtime import Runtime

from tongyao.app.message_relay import MessageRelay
from tongyao.app.registration import Registering
from tongyao.app.start import Starting
from tongyao.records.library import Library
from tongyao.records.migrate import migrate
from tongyao.runtime import wiring
from tongyao.runtime.local.processes import in_thread
from tongyao.runtime.local.service import LocalService, ServiceAddresses, find_running
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.start_recitation import reciting
from tongyao.runtime.temporal.connection import connect
from tongyao.runtime.temporal.search_attributes import register_search_attributes


class NotRunning(Exception):
    """No service runs in this home. The message says how to start one."""


@dataclass(frozen=True)
class Office:
    """What a command works with. `worker` is set where this command runs the worker itself."""

    settings: Settings
    addresses: ServiceAddresses
    library: Library
    client: Client
    starting: Starting
    registering: Registering
    relay: MessageRelay
    worker: WorkerProcess | None = None
    joined: bool = True
    gateway_url: str | None = None


@asynccontextmanager
async def running(settings: Settings, *, runtime: Runtime | None = None) -> AsyncIterator[Office]:
    """An office on what runs already: the servers the settings name, or the service of this home.

    Raises `NotRunning`, `DatabaseUnreachable`, `TemporalUnreachable`.
    """
    addresses = _named(settings) or find_running(settings.home)
    if addresses is None:
        raise NotRunning(f"no service runs in {settings.home}: start one with `tongyao up` (in another terminal)")
    async with AsyncExitStack() as stack:
        client = await connect(settings, address=addresses.temporal_address, runtime=runtime)
        yield await _open(stack, settings, addresses, client=client)


@asynccontextmanager
async def brought_up(settings: Settings) -> AsyncIterator[Office]:
    """An office on the service of this home, brought up for the length of the block when none runs.

    What is started here is a whole installation: servers, schema, search attributes, a worker, the relay.
    """
    async with AsyncExitStack() as stack:
        service = LocalService(settings)
        addresses = await stack.enter_async_context(service)
        if service.joined:
            yield await _open(stack, settings, addresses)
            return
        await in_thread(migrate, addresses.database_url)
        client = await connect(settings, address=addresses.temporal_address)
        await register_search_attributes(client)
        environment = {**addresses.environment(), "TONGYAO_HOME": str(settings.home)}  # where the master key is
        worker = WorkerProcess(environment, log=settings.home / "logs" / "worker.log")
        stack.push_async_callback(worker.stop)
        await worker.start()
        office = await _open(stack, settings, addresses, client=client, worker=worker)
        stop = asyncio.Event()
        tasks = [
            asyncio.create_task(office.relay.run(stop)),
            asyncio.create_task(worker.keep_running(stop)),
            asyncio.create_task(_sweep(office.starting)),
        ]
        try:
            yield office
        finally:
            stop.set()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _sweep(starting: Starting) -> None:
    await starting.sweep()


async def _open(
    stack: AsyncExitStack,
    settings: Settings,
    addresses: ServiceAddresses,
    *,
    client: Client | None = None,
    worker: WorkerProcess | None = None,
) -> Office:
    library = await stack.enter_async_context(wiring.library(settings, database_url=addresses.database_url))
    client = client or await connect(settings, address=addresses.temporal_address)
    remembers = settings.retriever != "chunks"
    return Office(
        settings=settings,
        addresses=addresses,
        library=library,
        client=client,
        starting=Starting(library, client, settings.process, remember=remembers),
        registering=Registering(
            library, max_chars=settings.profile_max_chars, recite=reciting(client) if remembers else None
        ),
        relay=MessageRelay(library, client),
        worker=worker,
        joined=worker is None,
    )


def _named(settings: Settings) -> ServiceAddresses | None:
    """Both servers named in the settings: a deployment, nothing local to look for."""
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
