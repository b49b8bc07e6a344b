"""Registers the namespace of an installation and its search attributes. A new server has no namespace, not even
`default`."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.temporal_answers import if_known
from tongyao.protocol.contracts.process import SEARCH_ATTRIBUTES

RETENTION = timedelta(days=90)
"""Retention of ended processes in Temporal. The records keep them without limit."""

NOTICE_SECONDS = 60.0


def retention() -> Duration:
    kept = Duration()
    kept.FromTimedelta(RETENTION)
    return kept


async def ensure_namespace(client: Client) -> bool:
    """Register the client's namespace if it is missing, and wait until it is usable. Returns whether it was missing.

    Servers read their namespaces every ten seconds, so a new namespace is usable after this time. Raises `RPCError` if
    the server refuses, and `TimeoutError` after `NOTICE_SECONDS`.
    """
    describing = client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    if await if_known(describing) is not None:
        return False
    try:
        await client.workflow_service.register_namespace(
            RegisterNamespaceRequest(
                namespace=client.namespace,
                description="Tongyao: crystallization processes",
                workflow_execution_retention_period=retention(),
            )
        )
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # ignored: another program has just registered it
            raise
    until = time.monotonic() + NOTICE_SECONDS
    # The services for workflows read the namespace later than the frontend registers it.
    while await if_known(client.count_workflows()) is None:
        if time.monotonic() > until:
            raise TimeoutError(f"the server does not know namespace {client.namespace!r} after {NOTICE_SECONDS:g} s")
        await asyncio.sleep(0.5)
    return True


INDEXED: dict[str, IndexedValueType.ValueType] = {
    name: IndexedValueType.Value(f"INDEXED_VALUE_TYPE_{re.sub('(?<=.)(?=[A-Z])', '_', kind).upper()}")
    for name, kind in SEARCH_ATTRIBUTES.items()
}
"""Tongyao's search attributes with their types in Temporal's operator API."""


async def missing_search_attributes(client: Client) -> list[str]:
    """Return the sorted names that the client's namespace lacks or has with another type. Raises `RPCError`."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return sorted(name for name, kind in INDEXED.items() if known.custom_attributes.get(name) != kind)


async def register_search_attributes(client: Client) -> None:
    """Add the missing search attributes to the client's namespace.

    Raises `RPCError` if a name exists with another type, or if this user has no permission.
    """
    missing = await missing_search_attributes(client)
    if missing:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace,
                search_attributes={name: INDEXED[name] for name in missing},
            )
        )
