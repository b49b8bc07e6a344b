"""Master keys, data keys, and what is sealed with them (docs/erasure.md): AES-256-GCM throughout.

Each owner of texts has a data key of their own; in the database it stands wrapped by the master key, which is never
there. Destroying the wrapped data key makes everything sealed with it unreadable, wherever a copy of it may be.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tongyao.records.errors import RecordsError

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
"""96 bits at random: a data key seals far fewer than 2³² texts (NIST SP 800-38D, 8.3)."""


class KeyMissing(RecordsError):
    """Something is sealed with a key that was not given. The message says what to do, and holds no key."""


class BadKey(RecordsError):
    """The given master key is malformed."""


class Keyring:
    """The master keys of an installation: the active one wraps new data keys; older ones still unwrap theirs."""

    def __init__(self, active: bytes, older: Sequence[bytes] = ()) -> None:
        """Raises `BadKey` when one is not 32 bytes long."""
        if any(len(key) != KEY_BYTES for key in (active, *older)):
            raise BadKey(f"a master key has {KEY_BYTES} bytes: make one with `openssl rand -base64 {KEY_BYTES}`")
        self._keys = {_fingerprint(key): AESGCM(key) for key in (active, *older)}
        self.active = _fingerprint(active)

    @property
    def ids(self) -> tuple[str, ...]:
        """Fingerprints of the keys, the active one first."""
        return tuple(self._keys)

    @classmethod
    def read(cls, text: str) -> Keyring:
        """From base64, several separated by commas or spaces: the active one first. Raises `BadKey`."""
        try:
            keys = [base64.b64decode(one, validate=True) for one in text.replace(",", " ").split()]
        except (binascii.Error, ValueError):
            raise BadKey("the master key is not base64: make one with `openssl rand -base64 32`") from None
        if not keys:
            raise BadKey("the master key is empty: make one with `openssl rand -base64 32`")
        return cls(keys[0], keys[1:])

    @classmethod
    def of_file(cls, path: Path) -> Keyring:
        """From a file, which is made with a new key, readable by its owner alone, when there is none.

        Raises `BadKey` when it holds none, `OSError` when it cannot be read or made.
        """
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            try:
                with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.link(fresh, path)  # whole or not at all; of two at once, one wins
            except FileExistsError:
                pass
            finally:
                fresh.unlink(missing_ok=True)
        return cls.read(path.read_text(encoding="ascii", errors="replace"))

    def wrap(self, data_key: bytes, context: str) -> bytes:
        """`data_key` under the active master key, good for this `context` alone."""
        return _seal(self._keys[self.active], data_key, context)

    def unwrap(self, wrapped: bytes, context: str, master_id: str) -> bytes:
        """The data key. Raises `KeyMissing` when its master key is not here, `BadKey` when it is not for `context`."""
        master = self._keys.get(master_id)
        if master is None:
            raise KeyMissing(
                f"texts in this database are sealed with master key {master_id}, and only {', '.join(self.ids)} is here: "
                "give that key with TONGYAO_MASTER_KEY (behind the new one, if there is one)"
            )
        return _open(master, wrapped, context)


def new_data_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def seal(data_key: bytes, text: str, context: str) -> bytes:
    """Nonce and ciphertext of `text`; it opens with the same `context` (whose text it is, and which) alone."""
    return _seal(AESGCM(data_key), text.encode("utf-8"), context)


def unseal(data_key: bytes, sealed: bytes, context: str) -> str:
    """Raises `BadKey` when it was sealed by another key, for another context, or changed since."""
    return _open(AESGCM(data_key), sealed, context).decode("utf-8")


def _seal(key: AESGCM, plain: bytes, context: str) -> bytes:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + key.encrypt(nonce, plain, context.encode("utf-8"))


def _open(key: AESGCM, sealed: bytes, context: str) -> bytes:
    try:
        return key.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context.encode("utf-8"))
    except (InvalidTag, ValueError):
        raise BadKey("this does not open: it was sealed with another key, for another place, or was changed") from None


def _fingerprint(key: bytes) -> str:
    return hashlib.sha256(b"tongyao master key\x00" + key).hexdigest()[:16]
