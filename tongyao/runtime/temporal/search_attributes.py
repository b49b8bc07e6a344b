"""Registers Tongyao's search attributes: a workflow that sets one the server does not know hangs for ever."""

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
"""Tongyao's search attributes with the types that Temporal's operator API speaks of."""


async def missing_search_attributes(client: Client) -> list[str]:
    """The names that the client's namespace lacks, or has with another type; sorted. Raises `RPCError`."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return sorted(name for name, kind in INDEXED.items() if known.custom_attributes.get(name) != kind)


async def register_search_attributes(client: Client) -> None:
    """Adds what is missing in the client's namespace. Raises `RPCError`: a name is taken with another type, or this user may not."""
    missing = await missing_search_attributes(client)
    if missing:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace,
                search_attributes={name: INDEXED[name] for name in missing},
            )
        )
