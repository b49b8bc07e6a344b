"""The local service of one home: starts PostgreSQL and Temporal, and lets other commands find them."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from types import TracebackType

import psutil

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.addresses import FILE, ServiceAddresses, find_running
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.server_process import file_lock, in_thread, make_private
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.settings import Settings


class LocalService:
    """Starts, for the length of the block, each of the two servers that is not in the settings.

    ::

        async with LocalService(settings) as service:
            service.database_url, service.temporal_address

    If a service already runs in the same home, it is used, and runs on after the block (``joined`` is True). Started
    servers are stopped at the end of the block, and also if this process is killed. The database is not migrated here
    (``tongyao.records.migrate``).
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._home = settings.home
        self._stack = AsyncExitStack()
        self.joined = False
        self.postgres: LocalPostgres | None = None
        self.temporal: LocalTemporal | None = None

    async def __aenter__(self) -> ServiceAddresses:
        """Raises `LocalServiceError` if a server cannot be started, or if another service runs in this home."""
        async with AsyncExitStack() as starting:  # if two start at once, the second joins the first
            await in_thread(make_private, self._home)
            await in_thread(starting.enter_context, file_lock(self._home / "run" / "service.lock"))
            running = find_running(self._home)
            if running is not None:
                self._must_be_meant(running)
                self.joined = True
                return running
            return await self._start()

    def _must_be_meant(self, running: ServiceAddresses) -> None:
        """Raises `LocalServiceError` if the settings name other servers than the running service uses."""
        url, address = self._settings.database_url, self._settings.temporal_address
        for name, wanted, used in [
            ("DATABASE_URL", url.get_secret_value() if url else None, running.database_url),
            ("TEMPORAL_ADDRESS", address, running.temporal_address),
        ]:
            if wanted is not None and wanted != used:
                raise LocalServiceError(
                    f"A service with another {name} runs in {self._home} (pid {running.owner_pid}). "
                    f"Stop it, unset {name}, or choose another home (TONGYAO_HOME)."
                )

    async def _start(self) -> ServiceAddresses:
        try:
            async with asyncio.TaskGroup() as both:
                database = both.create_task(self._start_postgres())
                address = both.create_task(self._start_temporal())
            return self._announce(database.result(), address.result())
        except BaseException as error:
            await self._stack.aclose()
            if isinstance(error, BaseExceptionGroup):  # the first failure cancelled the other start
                raise error.exceptions[0] from None
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _start_postgres(self) -> str:
        if self._settings.database_url is not None:
            return self._settings.database_url.get_secret_value()
        self.postgres = LocalPostgres(self._home)
        self._stack.push_async_callback(in_thread, self.postgres.stop)
        return await in_thread(self.postgres.start)

    async def _start_temporal(self) -> str:
        settings = self._settings
        if settings.temporal_address is not None:
            return settings.temporal_address
        self.temporal = LocalTemporal(
            self._home,
            binary=settings.temporal_binary,
            port=settings.temporal_port,
            ui_port=settings.temporal_ui_port,
            namespace=settings.temporal_namespace,
        )
        self._stack.push_async_callback(in_thread, self.temporal.stop)
        return await self.temporal.start()

    def _announce(self, database_url: str, address: str) -> ServiceAddresses:
        """Writes ``service.json`` atomically. Only this user can read it, because it may contain a password."""
        me = psutil.Process()
        service = ServiceAddresses(
            database_url=database_url,
            temporal_address=address,
            temporal_namespace=self._settings.temporal_namespace,
            temporal_ui=self.temporal.ui_url if self.temporal else None,
            owner_pid=me.pid,
            owner_started=me.create_time(),
            postgres_pid=self.postgres.pid if self.postgres else None,
            temporal_pid=self.temporal.pid if self.temporal else None,
            engine=self._settings.chosen_engine,
            started_at=datetime.now(UTC),
        )
        file = self._home / FILE
        scratch = file.with_suffix(f".{me.pid}")
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(service.model_dump(mode="json"), out, indent=2)
        scratch.replace(file)
        self._stack.callback(file.unlink, missing_ok=True)
        return service
