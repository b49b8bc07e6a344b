"""Payloads in the JSON form of Temporal's remote codec protocol. Requests and answers have the same form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from temporalio.api.common.v1 import Payload


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be base64") from None


Base64 = Annotated[
    bytes,
    BeforeValidator(_decoded),
    PlainSerializer(lambda data: base64.b64encode(data).decode("ascii"), return_type=str),
    WithJsonSchema({"type": "string", "format": "byte"}),
]


class WirePayload(BaseModel):
    """One payload: `metadata` and `data` are base64."""

    metadata: dict[str, Base64] = Field(default_factory=dict)
    data: Base64 = b""


class WirePayloads(BaseModel):
    payloads: Annotated[list[WirePayload], Field(max_length=10_000)] = Field(default_factory=list)

    def read(self) -> list[Payload]:
        return [Payload(metadata=payload.metadata, data=payload.data) for payload in self.payloads]


def wired(payloads: Iterable[Payload]) -> WirePayloads:
    return WirePayloads.model_construct(
        payloads=[
            WirePayload.model_construct(metadata=dict(payload.metadata), data=payload.data) for payload in payloads
        ]
    )
