"""Encrypts what stands in Temporal: AES-256-GCM under a key derived from the master key (docs/temporal.md).

A payload is replaced by one of encoding `binary/encrypted`. Its metadata names the master key that the key was derived from. The codec
runs in clients and workers, outside of the workflow sandbox, so workflow code and recorded histories see plain payloads.

Two kinds of payloads stay readable, since the Temporal UI shows them to operators without asking anybody: what is marked `Readable`
(summaries), and the details of a running workflow. Neither holds a person, a profile or a text (tests/deploy/test_canaries.py).
"""

from __future__ import annotations

import dataclasses
import secrets
import zlib
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec

from tongyao.records.privacy.keys import NONCE_BYTES, BadKey, Keyring
from tongyao.runtime.temporal.payload_converter import READABLE, data_converter

ENCODING: Final = b"binary/encrypted"
KEY_ID: Final = "encryption-key-id"
LABEL: Final = "tongyao temporal payloads v1"
"""What the key is derived for. The master key itself encrypts nothing in Temporal: neither key tells anything about the other."""

_CONTEXT: Final = LABEL.encode()
_DETAILS: Final = b"temporal.api.sdk.v1.WorkflowMetadata"
_PLAIN, _DEFLATED = b"\x00", b"\x01"


class PayloadEncryption(PayloadCodec):
    """Encrypts with the active master key's derived key, decrypts with that of every master key that is given.

    A payload that is not encrypted is decoded as it is: operators signal from the Temporal UI, and an installation can begin to encrypt
    while processes run.
    """

    def __init__(self, keys: Keyring, *, encrypts: bool = True) -> None:
        """`encrypts`: False leaves new payloads plain; encrypted ones are still decoded."""
        self._keys = keys
        self._encrypts = encrypts
        self._ciphers: dict[str, AESGCM] = {}

    @property
    def encrypts(self) -> bool:
        return self._encrypts

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if not self._encrypts:
            return list(payloads)
        active = self._keys.active
        return [one if _stays_readable(one) else self._encrypted(one, active) for one in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Raises `KeyMissing` when the master key of a payload is not here, `BadKey` when a payload was changed."""
        return [self._decrypted(one) if is_encrypted(one) else one for one in payloads]

    def _encrypted(self, payload: Payload, master_id: str) -> Payload:
        plain = payload.SerializeToString()
        deflated = zlib.compress(plain, 1)
        packed = _DEFLATED + deflated if len(deflated) < len(plain) else _PLAIN + plain
        nonce = secrets.token_bytes(NONCE_BYTES)
        return Payload(
            metadata={"encoding": ENCODING, KEY_ID: master_id.encode("ascii")},
            data=nonce + self._cipher(master_id).encrypt(nonce, packed, _CONTEXT),
        )

    def _decrypted(self, payload: Payload) -> Payload:
        cipher = self._cipher(key_id(payload))
        try:
            packed = cipher.decrypt(payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:], _CONTEXT)
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
    """Our data conversion; where `codec` encrypts, messages and stack traces of failures too."""
    if codec is None or not codec.encrypts:
        return dataclasses.replace(data_converter, payload_codec=codec)
    return dataclasses.replace(
        data_converter, payload_codec=codec, failure_converter_class=DefaultFailureConverterWithEncodedAttributes
    )


def is_encrypted(payload: Payload) -> bool:
    return payload.metadata.get("encoding") == ENCODING


def key_id(payload: Payload) -> str:
    """Of the master key whose derived key encrypted this payload."""
    return payload.metadata.get(KEY_ID, b"").decode("ascii", "replace")


def _stays_readable(payload: Payload) -> bool:
    return READABLE in payload.metadata or payload.metadata.get("messageType") == _DETAILS or is_encrypted(payload)
