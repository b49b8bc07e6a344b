"""The namespace of an installation on a server that has none yet: a fresh server knows no `default`."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

RETENTION = timedelta(days=90)
"""Retention of ended processes in Temporal; the records keep them for ever."""


async def ensure_namespace(client: Client, *, timeout: float = 60.0) -> bool:
    """Register the client's namespace when the server does not know it, and wait until it does. True: it was new.

    Servers read their namespaces every ten seconds, so a new one takes that long to be usable.

    Raises:
        temporalio.service.RPCError: the server refuses.
        TimeoutError: the server did not take notice within `timeout` seconds.
    """
    if await _known(client):
        return False
    retention = Duration()
    retention.FromTimedelta(RETENTION)
    try:
        await client.workflow_service.register_namespace(
            RegisterNamespaceRequest(
                namespace=client.namespace,
                description="Tongyao: crystallization processes",
                workflow_execution_retention_period=retention,
            )
        )
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # another job was faster
            raise
    until = time.monotonic() + timeout
    while not await _usable(client):
        if time.monotonic() > until:
            raise TimeoutError(f"the server does not know namespace {client.namespace!r} after {timeout:g} s")
        await asyncio.sleep(0.5)
    return True


async def _known(client: Client) -> bool:
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return False
        raise
    return True


async def _usable(client: Client) -> bool:
    """Whether the services that serve workflows know it: the frontend's register alone knows it sooner."""
    try:
        await client.count_workflows()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return False
        raise
    return True
