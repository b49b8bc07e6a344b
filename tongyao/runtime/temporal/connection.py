"""The Temporal connection of Tongyao as one plugin: data conversion, the sandbox, and how a client is made."""

from __future__ import annotations

import dataclasses

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.plugin import SimplePlugin
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from tongyao.runtime.observability.instrumentation import Measuring
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.payload_converter import data_converter

PASSED_THROUGH = ("tongyao.protocol", "pydantic", "pydantic_core", "annotated_types")
"""Modules that are pure and known to be: importing them anew for every workflow would cost and change nothing."""


class TemporalUnreachable(Exception):
    """No Temporal server answers at the address. The message says which one and what to do."""


class NamespaceUnknown(TemporalUnreachable):
    """The server has no namespace of this name."""


def plugin() -> SimplePlugin:
    """Give it to `Client.connect`: its workers inherit it."""
    return SimplePlugin("tongyao", data_converter=data_converter, workflow_runner=_runner, interceptors=[Measuring()])


async def connect(
    settings: Settings, *, address: str | None = None, runtime: Runtime | None = None, new_namespace: bool = False
) -> Client:
    """A client that speaks pydantic; `runtime`: where the SDK's metrics go; `new_namespace`: it may not be there yet.

    Raises `TemporalUnreachable`, and `NamespaceUnknown` where the server answers and has no such namespace.
    """
    target = address or settings.temporal_address
    if target is None:
        raise TemporalUnreachable("no Temporal server is named: set TEMPORAL_ADDRESS, or start one with `tongyao up`")
    key = settings.temporal_api_key
    try:
        client = await Client.connect(
            target,
            namespace=settings.temporal_namespace,
            api_key=key.get_secret_value() if key else None,
            tls=settings.temporal_tls or key is not None,
            plugins=[plugin()],
            runtime=runtime,
        )
    except (RuntimeError, RPCError) as error:
        raise TemporalUnreachable(
            f"no Temporal server answers at {target}: {str(error).splitlines()[0]}. Is it running (`tongyao doctor`)?"
        ) from error
    if not new_namespace:
        await _check_namespace(client, target)
    return client


async def _check_namespace(client: Client, target: str) -> None:
    """In a namespace that is not there every process seems to have ended: nothing may be asked of it."""
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED):
            raise TemporalUnreachable(f"the Temporal server at {target} does not answer: {error.message}") from error
        raise NamespaceUnknown(
            f"the Temporal server at {target} has no namespace {client.namespace!r}, or does not let us in: check "
            "TEMPORAL_NAMESPACE, or create it (`temporal operator namespace create`)"
        ) from error


def _runner(runner: WorkflowRunner | None) -> WorkflowRunner:
    if isinstance(runner, SandboxedWorkflowRunner):
        restrictions = runner.restrictions.with_passthrough_modules(*PASSED_THROUGH)
        return dataclasses.replace(runner, restrictions=restrictions)
    if runner is None:
        raise ValueError("a worker always has a workflow runner")
    return runner
