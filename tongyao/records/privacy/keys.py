"""Master keys, data keys, and sealing with them (docs/erasure.md). Everything uses AES-256-GCM.

Each owner of texts has a data key. The database stores it wrapped by the master key, and never the master key itself.
If the wrapped data key is destroyed, everything sealed with it becomes unreadable, including copies elsewhere.
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
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tongyao.records.errors import RecordsError

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
"""96 random bits. A data key seals far fewer than 2³² texts (NIST SP 800-38D, 8.3)."""


class KeyMissing(RecordsError):
    """Something is sealed with a key that was not given. The message states the remedy and contains no key."""


class BadKey(RecordsError):
    """The given master key is malformed."""


class Keyring:
    """The master keys of an installation. The active key wraps new data keys. Older keys unwrap the data keys that they wrapped."""

    def __init__(self, active: bytes, older: Sequence[bytes] = (), *, file: Path | None = None) -> None:
        """Raises `BadKey` if a key is not 32 bytes long. `file`: the file that the keys come from; it is read again if it has changed."""
        self._keys = _by_id((active, *older))
        self._file = file
        self._seen = None if file is None else _version(file)

    @property
    def active(self) -> str:
        """The fingerprint of the key that wraps new data keys."""
        return self.ids[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """Fingerprints of the keys, the active one first."""
        return tuple(self._current())

    @classmethod
    def read(cls, text: str, *, file: Path | None = None) -> Keyring:
        """Read keys in base64, separated by commas or spaces, the active one first. Raises `BadKey`."""
        keys = _decoded(text)
        return cls(keys[0], keys[1:], file=file)

    @classmethod
    def of_file(cls, path: Path) -> Keyring:
        """Read the keys of a file. Later changes of the file are followed.

        If the file is missing, it is created with a new key, readable by its owner alone. Raises `BadKey` if the file
        contains no key, `OSError` if it cannot be read or created.
        """
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = _written(path, [secrets.token_bytes(KEY_BYTES)])
            try:
                # the file is created whole or not at all; if two processes do it at once, one of them wins
                os.link(fresh, path)
            except FileExistsError:
                pass
            finally:
                fresh.unlink(missing_ok=True)
        return cls.read(path.read_text(encoding="ascii", errors="replace"), file=path)

    def wrap(self, data_key: bytes, context: str) -> bytes:
        """Wrap `data_key` with the active master key. It can be unwrapped only with the same `context`."""
        return _seal(AESGCM(self._master(self.active)), data_key, context)

    def unwrap(self, wrapped: bytes, context: str, master_id: str) -> bytes:
        """Unwrap a data key. Raises `KeyMissing` if its master key is not given, `BadKey` if `context` is different."""
        return _open(AESGCM(self._master(master_id)), wrapped, context)

    def derive(self, master_id: str, label: str) -> bytes:
        """Derive a separate key for one purpose (HKDF-SHA256, RFC 5869, with `label` as its info). Raises `KeyMissing`."""
        derivation = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=label.encode("utf-8"))
        return derivation.derive(self._master(master_id))

    def _master(self, master_id: str) -> bytes:
        keys = self._current()
        if master_id not in keys:
            raise KeyMissing(
                f"data of this installation is sealed with master key {master_id}, but only {', '.join(keys)} was given: "
                "give that key with TONGYAO_MASTER_KEY (after the new key, if there is one)"
            )
        return keys[master_id]

    def _current(self) -> dict[str, bytes]:
        """The keys, in the current state of the file. If the file is missing or unreadable, the last keys stay."""
        if self._file is not None and (found := _version(self._file)) not in (None, self._seen):
            try:
                self._keys = _by_id(_decoded(self._file.read_text(encoding="ascii", errors="replace")))
                self._seen = found
            except (OSError, BadKey):
                pass
        return self._keys


def put_in_front(path: Path) -> None:
    """Add a new key before the others in a key file, atomically. Raises `BadKey`, `OSError`."""
    older = _decoded(path.read_text(encoding="ascii", errors="replace"))
    _written(path, [secrets.token_bytes(KEY_BYTES), *older]).replace(path)


def keep_first(path: Path) -> None:
    """Remove all keys except the first from a key file, atomically. Raises `BadKey`, `OSError`."""
    _written(path, _decoded(path.read_text(encoding="ascii", errors="replace"))[:1]).replace(path)


def _written(path: Path, keys: Sequence[bytes]) -> Path:
    """Write a file beside `path` with these keys, readable by its owner alone, and flush it to the disk."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b"".join(base64.b64encode(key) + b"\n" for key in keys))
        file.flush()
        os.fsync(file.fileno())
    return fresh


def _decoded(text: str) -> list[bytes]:
    try:
        keys = [base64.b64decode(one, validate=True) for one in text.replace(",", " ").split()]
    except (binascii.Error, ValueError):
        raise BadKey("the master key is not base64: make one with `openssl rand -base64 32`") from None
    if not keys:
        raise BadKey("the master key is empty: make one with `openssl rand -base64 32`")
    return keys


def _by_id(keys: Sequence[bytes]) -> dict[str, bytes]:
    if any(len(key) != KEY_BYTES for key in keys):
        raise BadKey(f"a master key has {KEY_BYTES} bytes: make one with `openssl rand -base64 {KEY_BYTES}`")
    return {_fingerprint(key): key for key in keys}


def _version(file: Path) -> tuple[int, int] | None:
    """A value that changes when the file is replaced. None while the file is missing."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def new_data_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def seal(data_key: bytes, text: str, context: str) -> bytes:
    """Encrypt `text`: nonce and ciphertext. It can be decrypted only with the same `context`, which names owner and text."""
    return _seal(AESGCM(data_key), text.encode("utf-8"), context)


def unseal(data_key: bytes, sealed: bytes, context: str) -> str:
    """Decrypt a text. Raises `BadKey` if it was sealed with another key or another context, or was changed since."""
    return _open(AESGCM(data_key), sealed, context).decode("utf-8")


def _seal(key: AESGCM, plain: bytes, context: str) -> bytes:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + key.encrypt(nonce, plain, context.encode("utf-8"))


def _open(key: AESGCM, sealed: bytes, context: str) -> bytes:
    try:
        return key.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context.encode("utf-8"))
    except (InvalidTag, ValueError):
        raise BadKey(
            "this cannot be decrypted: it was encrypted with another key or for another place, or it was changed"
        ) from None


def _fingerprint(key: bytes) -> str:
    return hashlib.sha256(b"tongyao master key\x00" + key).hexdigest()[:16]
