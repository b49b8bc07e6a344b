"""Payloads without what goes without saying: half of an activity's input would be fields at their defaults.

Only the inputs and outputs of activities: their fields and defaults are one contract, kept as they are while a process
that knows them lives (docs/operations.md §5). What starts a process is written whole, so that its settings stay those it
was started with, whatever the defaults become.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final

from pydantic import BaseModel
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter, pydantic_data_converter
from temporalio.converter import CompositePayloadConverter, DataConverter, DefaultPayloadConverter

from tongyao.protocol.contracts.process import ActivityInput, ModelOutput, Readable

READABLE: Final = "readable"
"""In the metadata of a payload: the codec leaves it plain."""

UNSEALED: Final = "unsealed"
"""In the metadata of a payload that was received: this installation did not encrypt it for the workflow in which it arrived."""

UNREADABLE: Final = b"binary/unreadable"
"""Encoding of a payload that could not be decrypted. Its data is the reason."""

_FOR_ANYBODY: Final = (RawValue, str)
"""Types of what anybody may send who reaches Temporal: payloads of signals, which are checked by their signature; summaries."""


class Unsealed(ValueError):
    """A payload that this installation did not encrypt, where only its own are taken (docs/temporal.md §2)."""


class _Brief(PydanticJSONPlainPayloadConverter):
    def to_payload(self, value: Any) -> Payload | None:
        if not isinstance(value, ActivityInput | ModelOutput):
            payload = super().to_payload(value)
            if payload is not None and isinstance(value, Readable):
                payload.metadata[READABLE] = b"1"
            return payload
        assert isinstance(value, BaseModel)
        data = value.model_dump_json(exclude_defaults=True, by_alias=True).encode()
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


class BriefPayloadConverter(CompositePayloadConverter):
    """The SDK's own converters, with ours for JSON."""

    def __init__(self) -> None:
        json = _Brief()
        super().__init__(
            *(
                json if converter.encoding == json.encoding else converter
                for converter in DefaultPayloadConverter.default_encoding_payload_converters
            )
        )

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        """Raises `Unsealed`."""
        hints: list[Any] = list(type_hints or ())
        for payload, hint in zip_longest(payloads, hints[: len(payloads)]):
            if UNSEALED in payload.metadata and hint not in _FOR_ANYBODY:
                raise Unsealed(
                    payload.data.decode()
                    if payload.metadata.get("encoding") == UNREADABLE
                    else "a payload in Temporal is not of this installation, or of another process: it is not taken"
                )
        return super().from_payloads(payloads, type_hints)


data_converter: DataConverter = dataclasses.replace(
    pydantic_data_converter, payload_converter_class=BriefPayloadConverter
)
