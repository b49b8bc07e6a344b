"""Runs a worker, in all roles or in one. A worker may die at any time; another worker continues its work."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from contextlib import AsyncExitStack
from typing import cast, get_args

import uvloop
from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from tongyao.records.database import RecordsError
from tongyao.runtime import wiring
from tongyao.runtime.errors import NotReady, TemporalUnreachable
from tongyao.runtime.observability import logs
from tongyao.runtime.observability.instrumentation import Measuring
from tongyao.runtime.observability.telemetry import Telemetry, records_answer
from tongyao.runtime.settings import SettingsError, load_settings
from tongyao.runtime.start_recitation import reciting
from tongyao.runtime.temporal import workers
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.connection import codec_of, connect
from tongyao.runtime.temporal.payload_codec import PayloadEncryption, converter_with


async def serve(role: workers.Role) -> None:
    """Poll until SIGINT or SIGTERM. Then wait up to `shutdown_seconds` for running activities."""
    settings = load_settings()
    logs.configure(settings)
    telemetry = Telemetry(settings, service=f"worker-{role}")
    client = await connect(settings, runtime=telemetry.runtime, plugins=[plugin(codec_of(settings))])
    await workers.check_server(client)
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(telemetry.served())
        records = await stack.enter_async_context(wiring.repositories(settings))
        given = wiring.deps(settings, records, recite=reciting(client), client=client)
        for worker in workers.build(client, given, settings, role=role):
            await stack.enter_async_context(worker)
        telemetry.checks = {
            "records": records_answer(records.pool),
            "temporal": client.service_client.check_health,
        }
        print(f"worker ({role}, build {build_id()}) is polling {client.service_client.config.target_host}", flush=True)
        await stop.wait()


def run(role: str) -> int:
    """Serve until a signal. Returns the exit status. If it is not 0, the reason is on standard error."""
    os.umask(0o077)
    if role not in get_args(workers.Role):
        print(f"unknown role {role!r}: one of {', '.join(get_args(workers.Role))}", file=sys.stderr)
        return 2
    try:
        # asyncio's own loop takes a tenth more processor time (docs/performance.md §3).
        uvloop.run(serve(cast(workers.Role, role)))
    except (SettingsError, RecordsError, TemporalUnreachable, NotReady) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


PASSED_THROUGH = ("tongyao.protocol", "pydantic", "pydantic_core", "annotated_types")
"""Modules without state. They are not imported again for each workflow, which would take time."""


def plugin(codec: PayloadEncryption | None = None) -> SimplePlugin:
    """Return the plugin for `Client.connect`. Workers inherit it. Without `codec`, it does not encrypt or decrypt."""
    return SimplePlugin(
        "tongyao", data_converter=converter_with(codec), workflow_runner=_runner, interceptors=[Measuring()]
    )


def _runner(runner: WorkflowRunner | None) -> WorkflowRunner:
    if isinstance(runner, SandboxedWorkflowRunner):
        restrictions = runner.restrictions.with_passthrough_modules(*PASSED_THROUGH)
        return dataclasses.replace(runner, restrictions=restrictions)
    if runner is None:
        raise ValueError("a worker always has a workflow runner")
    return runner
