"""Omits fields at their defaults from the inputs and outputs of activities. This halves activity inputs.

The fields and defaults of their types are a contract that does not change while a process that uses it runs
(docs/operations.md §5). The input of a workflow is written with all fields, so that a process keeps its settings if
defaults change.
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
"""Metadata key of payloads that the codec does not encrypt."""

UNSEALED: Final = "unsealed"
"""Metadata key of received payloads that this installation did not encrypt for the workflow in which they arrived."""

UNREADABLE: Final = b"binary/unreadable"
"""Encoding of a payload that could not be decrypted. Its data contains the reason."""

_FOR_ANYBODY: Final = (RawValue, str)
"""Types of payloads that any client of Temporal may send: signals, of which only the name is read, and summaries."""


class Unsealed(ValueError):
    """This installation did not encrypt the payload, and accepts only its own payloads here (docs/temporal.md §2)."""


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
    """The SDK's converters, with Tongyao's converter for JSON."""

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
