"""Signatures of messages and signals (docs/protocol.md §8.2): the bytes that are signed.

Whoever reaches Temporal can send a workflow anything. Where Temporal lets in everybody on the machine, only what carries a signature
of this installation acts for somebody.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

from pydantic import Field, JsonValue

from tongyao.protocol.model.messages import Message
from tongyao.protocol.model.value import Value

SIGNED: Final = "signed"
"""The key of a signal's payload under which its signature stands."""

NOT_SIGNED: Final = "NotSigned"
"""Type of the failure of an update without a valid signature. It is no verdict: the message may be delivered again."""

LONGEST_SECONDS: Final = 7 * 24 * 3600
"""A signature of a signal is good for so long at most."""


class SignalSignature(Value):
    """`nonce`: a signal is taken once under it. `expires`: seconds since 1970. `signature`: base64."""

    nonce: str = Field(min_length=16, max_length=64)
    expires: int = Field(ge=0)
    signature: str = Field(max_length=100)

    def stands_at(self, now: datetime) -> bool:
        """Whether it has not expired, and was not made for longer than any may be."""
        return 0 < self.expires - now.timestamp() <= LONGEST_SECONDS


def signal_bytes(process_id: str, kind: str, payload: dict[str, JsonValue], nonce: str, expires: int) -> bytes:
    """`payload`: without its signature. Raises `ValueError` for what is not JSON."""
    return _bytes(
        "signal", process_id, kind, {key: value for key, value in payload.items() if key != SIGNED}, nonce, expires
    )


def message_bytes(process_id: str, message: Message) -> bytes:
    """Fields at their defaults are left out, so that a version which adds a field signs the same bytes."""
    given = message.model_dump(mode="json", exclude_defaults=True, exclude={"signature"})
    return _bytes("message", process_id, message.kind, given)


def _bytes(*parts: object) -> bytes:
    text = json.dumps(["tongyao", *parts], sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")
