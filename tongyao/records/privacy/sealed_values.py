"""Names, contacts and addresses in columns of other tables. They are JSON, sealed with the person's data key, like
texts.

Unlike a text, such a value is replaced in place: the next vacuum removes the old value from the table. A value can be
opened only for its owner and its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tongyao.records.database import Connection
from tongyao.records.privacy.keys import seal, unseal
from tongyao.records.privacy.texts import data_key, data_keys

IDENTITY: Final = "identity"
"""The place of a profile's name and contact."""


class Stored(NamedTuple):
    """A value in the form of its columns. `place` is the kind of value (`channel/mail`). `body` is None if it was erased."""

    owner: str
    place: str
    body: bytes | None
    sealed: bool


def stored_value(key: bytes | None, owner: str, place: str, value: Any) -> Stored:
    """Convert `value` for its columns. It is sealed if there is a data key."""
    text = json.dumps(value, ensure_ascii=False)
    body = text.encode("utf-8") if key is None else seal(key, text, _context(owner, place))
    return Stored(owner, place, body, key is not None)


async def seal_value(connection: Connection, owner: str, place: str, value: Any) -> Stored:
    """Like `stored_value`, with the data key of `owner`, which is created if it is missing. Raises `TextErased`, `KeyMissing`."""
    return stored_value(await data_key(connection, owner), owner, place, value)


async def open_values(connection: Connection, stored: Iterable[Stored]) -> list[Any]:
    """The values in the same order. None for an erased value, or if the owner's key was destroyed. Raises `KeyMissing`."""
    rows = list(stored)
    keys = await data_keys(connection, {one.owner for one in rows if one.sealed and one.body is not None})
    return [opened(keys.get(one.owner), one) for one in rows]


def opened(key: bytes | None, one: Stored) -> Any:
    """The value, or None if it was erased or the owner's data key was destroyed."""
    if one.body is None:
        return None
    if not one.sealed:
        return json.loads(bytes(one.body))
    return None if key is None else json.loads(unseal(key, bytes(one.body), _context(one.owner, one.place)))


def _context(owner: str, place: str) -> str:
    return f"{place}/{owner}"
