"""Signatures of messages and signals (docs/protocol.md §8.2): the bytes that are signed.

A client that reaches Temporal can send anything to a workflow. If everybody on the machine can reach Temporal, a
message acts for a person only with a signature of this installation.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

from pydantic import Field, JsonValue

from tongyao.protocol.model.messages import Message
from tongyao.protocol.model.value import Value

SIGNED: Final = "signed"
"""The key of a signal's payload that contains its signature."""

NOT_SIGNED: Final = "NotSigned"
"""Type of the failure of an update without a valid signature. It is no verdict, so the delivery may be retried."""

LONGEST_SECONDS: Final = 7 * 24 * 3600
"""Longest validity of a signal's signature."""


class SignalSignature(Value):
    """`nonce`: accepted once. `expires`: Unix time in seconds. `signature`: base64."""

    nonce: str = Field(min_length=16, max_length=64)
    expires: int = Field(ge=0)
    signature: str = Field(max_length=100)

    def stands_at(self, now: datetime) -> bool:
        """Whether the signature has not expired, and its validity is not longer than permitted."""
        return 0 < self.expires - now.timestamp() <= LONGEST_SECONDS


def signal_bytes(process_id: str, kind: str, payload: dict[str, JsonValue], nonce: str, expires: int) -> bytes:
    """Return the bytes to sign. A signature in `payload` is left out. Raises `ValueError` if `payload` is not JSON."""
    return _bytes(
        "signal", process_id, kind, {key: value for key, value in payload.items() if key != SIGNED}, nonce, expires
    )


def message_bytes(process_id: str, message: Message) -> bytes:
    """Return the bytes to sign. Fields at their defaults are left out, so a new field does not change the bytes."""
    given = message.model_dump(mode="json", exclude_defaults=True, exclude={"signature"})
    return _bytes("message", process_id, message.kind, given)


def _bytes(*parts: object) -> bytes:
    text = json.dumps(["tongyao", *parts], sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")
