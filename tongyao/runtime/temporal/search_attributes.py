"""Registers Tongyao's search attributes. A workflow that sets an unregistered attribute hangs for ever."""

from __future__ import annotations

import re

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client

from tongyao.protocol.contracts.process import SEARCH_ATTRIBUTES

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
