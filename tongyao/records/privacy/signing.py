"""The installation's signing key. Workflows accept messages and signals signed with it as genuine (docs/protocol.md
§8.2).

It is the data key of a reserved owner. So the database stores it wrapped by the master key, and a new master key
re-wraps it.
"""

from __future__ import annotations

import base64
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tongyao.protocol.contracts.signatures import message_bytes, signal_bytes
from tongyao.protocol.model.messages import Message
from tongyao.records.database import Pool, session
from tongyao.records.privacy.keys import KeyMissing
from tongyao.records.privacy.texts import data_key

OWNER: Final = "tongyao/signing"


class Signer:
    """Signs with Ed25519. The key is created when it is first needed, and read once."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._key: Ed25519PrivateKey | None = None

    async def public_key(self) -> str:
        """The public key in base64, as in the start input of every process. Raises `KeyMissing`."""
        return base64.b64encode((await self._private()).public_key().public_bytes_raw()).decode("ascii")

    async def signed_message(self, process_id: str, message: Message) -> Message:
        """Return `message` with its signature. Raises `KeyMissing`."""
        signature = (await self._private()).sign(message_bytes(process_id, message))
        return message.model_copy(update={"signature": base64.b64encode(signature).decode("ascii")})

    async def signal_signature(
        self, process_id: str, kind: str, payload: dict[str, object], nonce: str, expires: int
    ) -> str:
        """The signature of an operator's signal, in base64. Raises `KeyMissing`, `ValueError`."""
        signed = signal_bytes(process_id, kind, payload, nonce, expires)  # type: ignore[arg-type]  # reason: JSON by its readers
        signature = (await self._private()).sign(signed)
        return base64.b64encode(signature).decode("ascii")

    async def _private(self) -> Ed25519PrivateKey:
        if self._key is None:
            async with session(self._pool) as connection:
                secret = await data_key(connection, OWNER)
            if secret is None:
                raise KeyMissing(
                    "messages are signed with a key that the master key encrypts: give the master key with TONGYAO_MASTER_KEY"
                )
            self._key = Ed25519PrivateKey.from_private_bytes(secret)
        return self._key
