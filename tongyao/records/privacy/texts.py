"""The only module that stores and reads people's texts; all others hold text ids (docs/protocol.md §8).

A text belongs to one owner (a profile, a person, or a process for what no single person said), and is sealed with the
owner's data key: destroying the key is what erasure means (docs/erasure.md). Texts that were stored without master keys
are plain UTF-8 and say so; they stay readable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4, uuid5

from tongyao.protocol.model.events import SignalledText
from tongyao.records.database import Connection, RecordsError, Repository, session, transaction
from tongyao.records.privacy.keys import KeyMissing, new_data_key, seal, unseal

_NAMESPACE: Final = UUID("5d1f0f2e-8f0b-5b0a-9c55-746f6e677961")


class TextUnknown(RecordsError):
    """No text has this id."""


class TextErased(RecordsError):
    """The text was there; its owner had it erased."""


class TextConflict(RecordsError):
    """The id already stands for another text, owner or kind: nothing was stored."""


class AnotherText(TextConflict):
    """Of this owner and kind, in other words."""


class NewText(NamedTuple):
    """A text to be stored, under its id."""

    id: str
    owner: str
    kind: str
    text: str


class DataKey(NamedTuple):
    """An owner's data key; `secret` is None where texts are stored as they are."""

    id: str
    secret: bytes | None


def text_id(*parts: object) -> str:
    """The id that `parts` (process, step, round, …) name: the same on every retry."""
    return str(uuid5(_NAMESPACE, "\x1f".join(str(part) for part in parts)))


class Texts(Repository):
    """Stored texts, append-only."""

    async def put(self, owner: str, kind: str, text: str, *, id: str | None = None) -> str:
        """Store `text` and return its id. With `id` given (see `text_id`), repeating it changes nothing.

        Raises `TextConflict` when `id` stands for something else, `TextErased` when that was erased.
        """
        async with session(self._pool) as connection:
            return await put_text(connection, owner, kind, text, id=id)

    async def first(self, owner: str, kind: str, text: str, *, id: str) -> str:
        """Store `text` under `id`, unless another one was before; returns the one that stands.

        For what a step that is tried again may come to otherwise. Raises as `put`.
        """
        stand = await self.first_of_those_left([NewText(id, owner, kind, text)])
        if id not in stand:
            raise TextErased(GONE)
        return stand[id]

    async def first_of_those_left(self, texts: Sequence[NewText]) -> dict[str, str]:
        """As `first`, of several by id, without the texts that were erased and those of owners who were. Raises `TextConflict`."""
        if not texts:
            return {}
        async with transaction(self._pool) as connection:
            keys = await _active_keys(connection, {new.owner for new in texts})
            wanted = [new for new in texts if new.owner in keys]
            inserted = await _put(connection, wanted, keys)
            stand = {new.id: new.text if new.id in inserted else await _standing(connection, new) for new in wanted}
        return {id: text for id, text in stand.items() if text is not None}

    async def put_signalled(self, process_id: str, text: SignalledText) -> None:
        """Store what an operator signalled by hand, and note that it stands in this process's history as well.

        Of an owner who was erased nothing is stored; the history is still noted as one to be deleted.
        """
        async with transaction(self._pool) as connection:
            try:
                async with connection.transaction():
                    await put_text(connection, text.owner, text.kind, text.body, id=text.text_id)
                    await connection.execute(
                        """INSERT INTO signalled (process_id, text_id, owner) VALUES (%s, %s, %s)
                           ON CONFLICT DO NOTHING""",
                        [process_id, text.text_id, text.owner],
                    )
            except TextErased:
                await connection.execute(
                    "INSERT INTO history_deletions (process_id) VALUES (%s) ON CONFLICT DO NOTHING", [process_id]
                )

    async def get(self, id: str) -> str:
        """The text. Raises `TextUnknown`, `TextErased`."""
        return (await self.get_many([id]))[id]

    async def get_many(
        self, ids: Iterable[str], *, erased: str | None = None, known: Iterable[str] = ()
    ) -> dict[str, str]:
        """The texts by id, in one query. `erased` stands for erased ones; without it they raise `TextErased`.

        `known`: further ids, left out where there is no such text or it was erased. Raises `TextUnknown` when one of the others
        does not exist.
        """
        async with session(self._pool) as connection:
            return await get_texts(connection, ids, erased=erased, known=known)

    async def stored_chars(self, owner: str) -> int:
        """Characters that are kept of this owner."""
        return int(
            await self._value(
                "SELECT COALESCE(sum(chars), 0) AS chars FROM texts WHERE owner = %s AND body IS NOT NULL", [owner]
            )
        )


async def put_text(connection: Connection, owner: str, kind: str, text: str, *, id: str | None = None) -> str:
    """`Texts.put`, on the caller's connection."""
    new = NewText(id or str(uuid4()), owner, kind, text)
    if new.id not in await _put(connection, [new], {owner: await active_key(connection, owner)}):
        stands = await _standing(connection, new)
        if stands is None:
            raise TextErased(f"text {new.id} was erased by its owner: it is not stored again")
        if stands != text:
            raise AnotherText(
                f"text {new.id} already stands for another {kind} of the same owner: texts are never changed"
            )
    return new.id


async def _put(connection: Connection, texts: Sequence[NewText], keys: Mapping[str, DataKey]) -> set[str]:
    """Store texts with these data keys, by owner; returns the ids that are new."""
    if not texts:
        return set()
    cursor = await connection.execute(f"SELECT id FROM put_texts({SEALED}) AS id", sealed(texts, keys))
    return {row["id"] for row in await cursor.fetchall()}


async def put_with_shared(
    connection: Connection, texts: Sequence[NewText], shared: Callable[[NewText], NewText]
) -> dict[str, str]:
    """As `Texts.first_of_those_left`, in the caller's transaction, each text with another one beside it.

    `shared`: makes that one of a text, under an id and an owner of its own. It is stored where the text stands.
    """
    made = [shared(new) for new in texts]
    keys = await _active_keys(connection, {new.owner for new in (*texts, *made)})
    left = [(new, other) for new, other in zip(texts, made, strict=True) if new.owner in keys and other.owner in keys]
    inserted = await _put(connection, [one for pair in left for one in pair], keys)
    stand = {}
    for new, other in left:
        text = new.text if new.id in inserted else await _standing(connection, new)
        if text is None:
            await remove_texts(connection, [other.id])
            continue
        stand[new.id] = text
        if other.id in inserted and text != new.text:
            await replace_text(connection, other.id, shared(new._replace(text=text)).text)
    return stand


SEALED: Final = (
    "%(keys)s::uuid[], %(sealed)s, %(ids)s::uuid[], %(kinds)s::text[], %(bodies)s::bytea[], %(chars)s::int[]"
)
"""The parameters of the SQL function `put_texts`, and the last ones of `end_call`; `sealed` returns their values."""


def sealed(texts: Sequence[NewText], keys: Mapping[str, DataKey]) -> dict[str, Any]:
    """Texts as they are stored with these data keys, by owner. Either all keys have a secret or none has."""
    secrets = [keys[new.owner].secret for new in texts]
    return {
        "keys": [keys[new.owner].id for new in texts],
        "sealed": any(secrets),
        "ids": [new.id for new in texts],
        "kinds": [new.kind for new in texts],
        "bodies": [
            seal(secret, new.text, _context(new.id, new.owner, new.kind)) if secret else new.text.encode("utf-8")
            for new, secret in zip(texts, secrets, strict=True)
        ],
        "chars": [len(new.text) for new in texts],
    }


async def put_first_texts(connection: Connection, texts: Sequence[NewText]) -> dict[str, bytes | None]:
    """The first texts of many new owners, in a few statements of the caller's transaction.

    Returns the data keys that were made, by owner; None where texts are stored as they are. Raises `TextConflict` when an owner or an id is known already, `TextErased` when an owner was erased.
    """
    owners = [new.owner for new in texts]
    await connection.execute(  # held until commit: erasure waits for us
        "SELECT pg_advisory_xact_lock(hashtextextended('owner/' || o, 0)) FROM unnest(%s::text[]) o", [sorted(owners)]
    )
    if (await connection.execute("SELECT 1 FROM tombstones WHERE owner = ANY(%s)", [owners])).rowcount:
        raise TextErased(GONE)
    ring, keys, rows = connection.keys, {}, []
    for owner in owners:
        keys[owner] = DataKey(str(uuid4()), new_data_key() if ring is not None else None)
        id, secret = keys[owner]
        wrapped = ring.wrap(secret, f"{id}/{owner}") if ring is not None and secret is not None else None
        rows.append((id, owner, wrapped, ring.active if ring is not None else None))
    made = await connection.execute(
        """INSERT INTO data_keys (id, owner, wrapped, master_id)
           SELECT * FROM unnest(%s::uuid[], %s::text[], %s::bytea[], %s::text[])
           ON CONFLICT (owner) WHERE destroyed_at IS NULL DO NOTHING""",
        [list(column) for column in zip(*rows, strict=True)],
    )
    if made.rowcount != len(texts):
        raise TextConflict("one of these owners has texts already: nothing was stored")
    if len(await _put(connection, texts, keys)) != len(texts):
        raise TextConflict("one of these ids stands for another text already: nothing was stored")
    return {owner: key.secret for owner, key in keys.items()}


async def get_texts(
    connection: Connection,
    ids: Iterable[str],
    *,
    erased: str | None = None,
    known: Iterable[str] = (),
) -> dict[str, str]:
    """`Texts.get_many`, inside the caller's transaction."""
    wanted, perhaps = list(dict.fromkeys(ids)), list(dict.fromkeys(known))
    if not wanted and not perhaps:
        return {}
    cursor = await connection.execute(_READ + " WHERE o.id = ANY(%s::uuid[])", [[*wanted, *perhaps]])
    rows = await cursor.fetchall()
    read = {row["asked"]: None if row["gone"] else _text_of(connection, row) for row in rows}
    found = {id: text for id in perhaps if (text := read.get(id))}
    for id in wanted:
        if id not in read:
            raise TextUnknown(f"there is no text {id}")
        text = read[id]
        if text is None and erased is None:
            raise TextErased(f"text {id} was erased by its owner")
        found[id] = erased if text is None and erased is not None else text or ""
    return found


async def remove_texts(connection: Connection, ids: Iterable[str]) -> int:
    """Remove single bodies, whoever owns them: of texts that quote somebody who is erased. Returns how many."""
    cursor = await connection.execute("SELECT remove_texts(%s::uuid[]) AS removed", [list(ids)])
    row = await cursor.fetchone()
    return int(row["removed"]) if row else 0


async def replace_text(connection: Connection, id: str, text: str) -> str:
    """Remove a body that quotes somebody who is erased; whoever refers to it reads `text` from now on. Returns its id."""
    cursor = await connection.execute("SELECT owner, kind FROM texts WHERE id = %s", [id])
    row = await cursor.fetchone()
    if row is None:
        raise TextUnknown(f"there is no text {id}")
    new = await put_text(connection, row["owner"], row["kind"], text)
    await connection.execute("SELECT replace_text(%s, %s)", [id, new])
    return new


GONE: Final = "the owner of this text was erased: nothing of theirs is stored again"


_ROW: Final = """t.id, t.owner, t.kind, t.body, t.sealed, k.id AS key_id, k.wrapped, k.master_id,
    EXISTS (SELECT 1 FROM tombstones s WHERE s.owner = t.owner) AS gone"""
_READ: Final = f"""SELECT o.id AS asked, {_ROW} FROM texts o
    JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id) JOIN data_keys k ON k.id = t.key_id"""
"""`asked` is the id that somebody refers to; what is read is what stands in its place, if something does."""


async def data_key(connection: Connection, owner: str) -> bytes | None:
    """The owner's data key, made when there is none; None where texts are stored as they are. Raises `TextErased`, `KeyMissing`."""
    return (await active_key(connection, owner)).secret


async def data_keys(connection: Connection, owners: Iterable[str]) -> dict[str, bytes]:
    """The data keys of these owners that exist, also of one whose erasure has begun. Raises `KeyMissing`."""
    found = {owner: secret_of(connection, owner, row) for owner, row in (await _key_rows(connection, owners)).items()}
    return {owner: secret for owner, secret in found.items() if secret is not None}


async def active_key(connection: Connection, owner: str) -> DataKey:
    """The owner's data key, made at their first text. Raises `TextErased` for an owner who was erased."""
    keys = await _active_keys(connection, [owner])
    if owner not in keys:
        raise TextErased(GONE)
    return keys[owner]


async def _active_keys(connection: Connection, owners: Iterable[str]) -> dict[str, DataKey]:
    """As `active_key`, by owner; those who were erased are left out."""
    rows = await _key_rows(connection, owners)
    keys = {}
    for owner in sorted(owners):
        row = rows.get(owner)
        if row is None or key_of(connection, owner, row) is None:
            row = await _made_key(connection, owner)
        if row is not None and not row["gone"] and (key := key_of(connection, owner, row)) is not None:
            keys[owner] = key
    return keys


async def _made_key(connection: Connection, owner: str) -> dict[str, Any] | None:
    """The row of a data key for an owner who has none, or one of the time before there were master keys; None: they were erased."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('owner/' || %s, 0))", [owner])
        if (await connection.execute("SELECT 1 FROM tombstones WHERE owner = %s", [owner])).rowcount:
            return None
        rows = await _key_rows(connection, [owner])
        id = rows[owner]["key_id"] if rows else str(uuid4())
        await connection.execute(
            """INSERT INTO data_keys AS old (id, owner, wrapped, master_id) VALUES (%s, %s, %s, %s)
               ON CONFLICT (id) DO UPDATE SET wrapped = excluded.wrapped, master_id = excluded.master_id
               WHERE old.wrapped IS NULL AND old.destroyed_at IS NULL""",
            [id, owner, *_wrapped(connection, id, owner)],
        )
        return (await _key_rows(connection, [owner])).get(owner)


async def _key_rows(connection: Connection, owners: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Those data keys of these owners that were not destroyed, as `key_of` takes them. `gone`: the owner was erased."""
    if not (wanted := sorted(owners)):
        return {}
    cursor = await connection.execute(
        """SELECT k.owner, k.id AS key_id, k.wrapped, k.master_id,
               EXISTS (SELECT 1 FROM tombstones s WHERE s.owner = k.owner) AS gone
           FROM data_keys k WHERE k.owner = ANY(%s) AND k.destroyed_at IS NULL""",
        [wanted],
    )
    return {row["owner"]: row for row in await cursor.fetchall()}


def key_of(connection: Connection, owner: str, row: Mapping[str, Any]) -> DataKey | None:
    """The data key that a row of `key_id`, `wrapped` and `master_id` holds; None where one is to be made first."""
    if row["key_id"] is None or (row["wrapped"] is None and connection.keys is not None):
        return None
    return DataKey(row["key_id"], secret_of(connection, owner, row))


def secret_of(connection: Connection, owner: str, row: Mapping[str, Any]) -> bytes | None:
    """The secret in such a row; None where texts are stored as they are, or the key was destroyed. Raises `KeyMissing`."""
    if row["wrapped"] is None or row["master_id"] is None:
        return None
    if connection.keys is None:
        raise KeyMissing(f"texts here are sealed with master key {row['master_id']}: give it with TONGYAO_MASTER_KEY")
    return connection.keys.unwrap(bytes(row["wrapped"]), f"{row['key_id']}/{owner}", row["master_id"])


def _wrapped(connection: Connection, id: str, owner: str) -> tuple[bytes | None, str | None]:
    keys = connection.keys
    return (None, None) if keys is None else (keys.wrap(new_data_key(), f"{id}/{owner}"), keys.active)


def _text_of(connection: Connection, row: dict[str, Any]) -> str | None:
    """What a row says; None once it is erased: its body removed, or its key destroyed."""
    if row["body"] is None:
        return None
    if not row["sealed"]:
        return bytes(row["body"]).decode("utf-8")
    secret = secret_of(connection, row["owner"], row)
    if secret is None:
        return None
    return unseal(secret, bytes(row["body"]), _context(row["id"], row["owner"], row["kind"]))


def _context(id: str, owner: str, kind: str) -> str:
    """A sealed body opens only in the row it was made for."""
    return f"{id}/{owner}/{kind}"


async def _standing(connection: Connection, new: NewText) -> str | None:
    """The text that stands under the id of `new`; None where it, or its owner, was erased. Raises `TextConflict`."""
    cursor = await connection.execute(
        f"SELECT {_ROW} FROM texts t JOIN data_keys k ON k.id = t.key_id WHERE t.id = %s", [new.id]
    )
    row = await cursor.fetchone()
    if row is None or row["gone"]:  # their key went while we were about to store
        return None
    text = _text_of(connection, row)
    if text is not None and (row["owner"], row["kind"]) != (new.owner, new.kind):
        raise TextConflict(f"text {new.id} already stands for another text (a {row['kind']}): texts are never changed")
    return text
