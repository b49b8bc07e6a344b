"""The master keys of an installation, from the settings or from a file in its home (docs/erasure.md)."""

from __future__ import annotations

from pathlib import Path

from tongyao.records.privacy.keys import BadKey, Keyring
from tongyao.runtime.settings import Settings

MASTER_KEY_FILE = "master.key"


def keyring(settings: Settings) -> Keyring:
    """Return the master keys of the settings, or those in the file of this home. Raises `BadKey`."""
    if settings.master_key is not None:
        return Keyring.read(settings.master_key.get_secret_value())
    path = key_file(settings)
    try:
        return Keyring.of_file(path)
    except OSError as error:
        raise BadKey(f"cannot read or make the master key {path}: {error.strerror}") from None


def key_file(settings: Settings) -> Path:
    """Return the file of the master keys. It is used if the settings contain no keys."""
    return settings.home / MASTER_KEY_FILE
