"""The only module that touches the words of anybody. All others hold text ids (docs/protocol.md §8).

A text belongs to one owner (a profile, a person, or a process for what no single person said), and is stored
under the owner's data key: destroying the key is what erasure means. Bodies are plain UTF-8 as long as keys
are not wrapped; `_seal` and `_unseal` are the only two places that will know otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID, uuid4, uuid5

from tongyao.records.database import Connection, Pool, RecordsError, session, transaction

_NAMESPACE: Final = UUID("5d1f0f2e-8f0b-5b0a-9c55-746f6e677961")


class TextUnknown(RecordsError):
    """No text has this id."""


class TextErased(RecordsError):
    """The text was there; its owner had it erased."""


class TextConflict(RecordsError):
    """The id already stands for another text, owner or kind: nothing was stored."""


def text_id(*parts: object) -> str:
    """The id that `parts` (process, step, round, …) name: the same on every retry."""
    return str(uuid5(_NAMESPACE, "\x1f".join(str(part) for part in parts)))


class Texts:
    """Stored texts, append-only."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, owner: str, kind: str, text: str, *, id: str | None = None) -> str:
        """Store `text` and return its id. With `id` given (see `text_id`), repeating it changes nothing.

        Raises `TextConflict` when `id` stands for something else, `TextErased` when that was erased.
        """
        async with transaction(self._pool) as connection:
            return await put_text(connection, owner, kind, text, id=id)

    async def get(self, id: str) -> str:
        """The text. Raises `TextUnknown`, `TextErased`."""
        return (await self.get_many([id]))[id]

    async def get_many(self, ids: Iterable[str], *, erased: str | None = None) -> dict[str, str]:
        """The texts by id, in one query. `erased` stands for erased ones; without it they raise `TextErased`.

        Raises `TextUnknown` when one does not exist.
        """
        async with session(self._pool) as connection:
            return await get_texts(connection, ids, erased=erased)

    async def erase(self, owner: str) -> int:
        """Remove every body of `owner` and destroy their data key. Returns how many were removed."""
        async with session(self._pool) as connection:
            cursor = await connection.execute("SELECT erase_texts(%s) AS erased", [owner])
            row = await cursor.fetchone()
        return int(row["erased"]) if row else 0


async def put_text(connection: Connection, owner: str, kind: str, text: str, *, id: str | None = None) -> str:
    """`Texts.put`, inside the caller's transaction."""
    new = id or str(uuid4())
    key = await _active_key(connection, owner)
    inserted = await connection.execute(
        """INSERT INTO texts (id, owner, key_id, kind, body, chars) VALUES (%s, %s, %s, %s, %s, %s)
           ON CONFLICT (id) DO NOTHING""",
        [new, owner, key, kind, _seal(text), len(text)],
    )
    if inserted.rowcount == 0:
        await _expect(connection, new, owner, kind, text)
    return new


async def get_texts(connection: Connection, ids: Iterable[str], *, erased: str | None = None) -> dict[str, str]:
    """`Texts.get_many`, inside the caller's transaction."""
    wanted = list(dict.fromkeys(ids))
    cursor = await connection.execute("SELECT id, body FROM texts WHERE id = ANY(%s::uuid[])", [wanted])
    bodies = {row["id"]: row["body"] for row in await cursor.fetchall()}
    found: dict[str, str] = {}
    for id in wanted:
        if id not in bodies:
            raise TextUnknown(f"there is no text {id}")
        body = bodies[id]
        if body is None and erased is None:
            raise TextErased(f"text {id} was erased by its owner")
        found[id] = erased if body is None and erased is not None else _unseal(body)
    return found


async def _active_key(connection: Connection, owner: str) -> str:
    """The owner's data key, made at their first text. Held until we commit: erasure waits for us."""
    select = "SELECT id FROM data_keys WHERE owner = %s AND destroyed_at IS NULL FOR SHARE"
    while not (row := await (await connection.execute(select, [owner])).fetchone()):
        await connection.execute(
            """INSERT INTO data_keys (id, owner) VALUES (%s, %s)
               ON CONFLICT (owner) WHERE destroyed_at IS NULL DO NOTHING""",
            [uuid4(), owner],
        )
    key: str = row["id"]
    return key


async def _expect(connection: Connection, id: str, owner: str, kind: str, text: str) -> None:
    cursor = await connection.execute("SELECT owner, kind, body FROM texts WHERE id = %s", [id])
    row = await cursor.fetchone()
    if row is None:
        raise TextUnknown(f"there is no text {id}")
    if row["body"] is None:
        raise TextErased(f"text {id} was erased by its owner: it is not stored again")
    if (row["owner"], row["kind"], _unseal(row["body"])) != (owner, kind, text):
        raise TextConflict(f"text {id} already stands for another text (a {row['kind']}): texts are never changed")


def _seal(text: str) -> bytes:
    return text.encode("utf-8")


def _unseal(body: bytes) -> str:
    return bytes(body).decode("utf-8")
