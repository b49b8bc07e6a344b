"""Checks that a message or a signal was signed by this installation (docs/protocol.md §8.2). Pure, so a replay gives the same result."""

from __future__ import annotations

import base64

from pydantic import JsonValue, ValidationError
from temporalio import workflow

with workflow.unsafe.imports_passed_through():  # compiled code, which the sandbox cannot load anew
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tongyao.protocol.contracts.signatures import SIGNED, SignalSignature, message_bytes, signal_bytes
from tongyao.protocol.model.messages import Message


def message_is_signed(public_key: str, process_id: str, message: Message) -> bool:
    """`public_key`: base64, of the process's start."""
    return _is_by(public_key, message.signature, message_bytes(process_id, message))


def signature_of_signal(
    public_key: str, process_id: str, kind: str, payload: dict[str, JsonValue]
) -> SignalSignature | None:
    """The signature that a signal carries, if it is valid for this process, kind and payload; else None. Expiry is not looked at."""
    try:
        signed = SignalSignature.model_validate(payload.get(SIGNED))
        data = signal_bytes(process_id, kind, payload, signed.nonce, signed.expires)
    except (ValidationError, ValueError, RecursionError):
        return None
    return signed if _is_by(public_key, signed.signature, data) else None


def _is_by(public_key: str, signature: str, data: bytes) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), data)
    except (InvalidSignature, ValueError):
        return False
    return True
