"""Encrypts payloads in Temporal: AES-256-GCM with a key derived from the master key (docs/temporal.md).

An encrypted payload has the encoding `binary/encrypted`, and in its metadata the id of the master key. The codec runs
in clients and workers, outside of the workflow sandbox, so workflow code sees decrypted payloads.

A payload is encrypted for one workflow, whose id is in the metadata and is authenticated. A payload that this
installation did not encrypt for the workflow in which it arrives is marked `UNSEALED`. The payload converter accepts
such a payload only as a payload of a signal, which nobody reads. So a client of Temporal without the keys cannot forge
messages, inputs and results.

Two kinds of payloads are not encrypted, because the Temporal UI shows them to operators without decryption: those
marked `Readable` (summaries), and the details of a running workflow. Neither contains a person, a profile or a text
(tests/deploy/test_canaries.py).
"""

from __future__ import annotations

import copy
import dataclasses
import secrets
import zlib
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
)

from tongyao.records.privacy.keys import NONCE_BYTES, BadKey, KeyMissing, Keyring
from tongyao.runtime.temporal.payload_converter import READABLE, UNREADABLE, UNSEALED, data_converter

ENCODING: Final = b"binary/encrypted"
KEY_ID: Final = "encryption-key-id"
WORKFLOW_ID: Final = "workflow-id"
"""Metadata key of the id of the workflow for which a payload was encrypted; missing if there was no workflow."""

LABEL: Final = "tongyao temporal payloads v1"
"""Purpose of the derived key. The master key itself encrypts no payloads."""

_CONTEXT: Final = LABEL.encode()
_DETAILS: Final = b"temporal.api.sdk.v1.WorkflowMetadata"
_PLAIN, _DEFLATED = b"\x00", b"\x01"


class PayloadEncryption(PayloadCodec, WithSerializationContext):
    """Encrypts with the key derived from the active master key, and decrypts with those of all given master keys."""

    def __init__(self, keys: Keyring, *, encrypts: bool = True, takes_plain: bool = False) -> None:
        """`encrypts`: whether new payloads are encrypted. If False, unencrypted payloads are accepted; encrypted ones
        are still decrypted. `takes_plain`: accept unencrypted payloads, for processes that began before encryption."""
        self._keys = keys
        self._encrypts = encrypts
        self._takes_plain = takes_plain or not encrypts
        self._workflow_id: str | None = None
        self._ciphers: dict[str, AESGCM] = {}

    @property
    def encrypts(self) -> bool:
        return self._encrypts

    def with_context(self, context: SerializationContext) -> PayloadEncryption:
        """Return the codec of one workflow and its steps. The SDK calls this.

        For an activity without a workflow, the id is empty. Tongyao has no such activities.
        """
        bound = copy.copy(self)
        bound._workflow_id = getattr(context, "workflow_id", None) or ""
        return bound

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if not self._encrypts:
            return list(payloads)
        active = self._keys.active
        return [payload if _stays_readable(payload) else self._encrypted(payload, active) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the decrypted payloads, with the mark `UNSEALED` on those that this installation did not encrypt for
        the workflow. Payloads that are decoded without a context (`with_context`) are meant only for display, so they
        get no mark.

        In a workflow and its steps, a payload that cannot be decrypted becomes `UNREADABLE`. Payloads of
        signals are not read, and any other use of it fails. Without a context, `KeyMissing` is raised if its master key is missing,
        and `BadKey` if the payload was changed.
        """
        return [self._judged(payload) for payload in payloads]

    def _judged(self, payload: Payload) -> Payload:
        encrypted = is_encrypted(payload)
        try:
            plain = self._decrypted(payload) if encrypted else payload
        except (KeyMissing, BadKey) as error:
            if self._workflow_id is None:
                raise
            reason = f"{type(error).__name__}: {error}".encode()
            return Payload(metadata={"encoding": UNREADABLE, UNSEALED: b"1"}, data=reason)
        if self._workflow_id is None or (not encrypted and self._takes_plain):
            return plain
        if encrypted and self._workflow_id and _workflow_of(payload) == self._workflow_id.encode():
            return plain
        return Payload(metadata={**plain.metadata, UNSEALED: b"1"}, data=plain.data)

    def _encrypted(self, payload: Payload, master_id: str) -> Payload:
        plain = payload.SerializeToString()
        deflated = zlib.compress(plain, 1)
        packed = _DEFLATED + deflated if len(deflated) < len(plain) else _PLAIN + plain
        nonce = secrets.token_bytes(NONCE_BYTES)
        workflow_id = (self._workflow_id or "").encode()
        sealed = self._cipher(master_id).encrypt(nonce, packed, _context(workflow_id))
        metadata = {"encoding": ENCODING, KEY_ID: master_id.encode("ascii")}
        return Payload(metadata=metadata | ({WORKFLOW_ID: workflow_id} if workflow_id else {}), data=nonce + sealed)

    def _decrypted(self, payload: Payload) -> Payload:
        cipher = self._cipher(key_id(payload))
        try:
            packed = cipher.decrypt(
                payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], _context(_workflow_of(payload))
            )
        except (InvalidTag, ValueError):
            raise BadKey(
                "a payload in Temporal does not open: it was changed, or is not of this installation"
            ) from None
        plain = packed[1:]
        return Payload.FromString(zlib.decompress(plain) if packed[:1] == _DEFLATED else plain)

    def _cipher(self, master_id: str) -> AESGCM:
        if master_id not in self._ciphers:
            self._ciphers[master_id] = AESGCM(self._keys.derive(master_id, LABEL))
        return self._ciphers[master_id]


def converter_with(codec: PayloadEncryption | None) -> DataConverter:
    """Return the data converter with `codec`. An encrypting codec also encrypts texts of failures."""
    if codec is None or not codec.encrypts:
        return dataclasses.replace(data_converter, payload_codec=codec)
    return dataclasses.replace(
        data_converter, payload_codec=codec, failure_converter_class=DefaultFailureConverterWithEncodedAttributes
    )


def is_encrypted(payload: Payload) -> bool:
    return payload.metadata.get("encoding") == ENCODING


def key_id(payload: Payload) -> str:
    """Return the id of the master key with which this payload was encrypted."""
    return payload.metadata.get(KEY_ID, b"").decode("ascii", "replace")


def _workflow_of(payload: Payload) -> bytes:
    return payload.metadata.get(WORKFLOW_ID, b"")


def _context(workflow_id: bytes) -> bytes:
    """Return the data that is authenticated with a payload."""
    return _CONTEXT + b"\x00" + workflow_id


def _stays_readable(payload: Payload) -> bool:
    return READABLE in payload.metadata or payload.metadata.get("messageType") == _DETAILS or is_encrypted(payload)
