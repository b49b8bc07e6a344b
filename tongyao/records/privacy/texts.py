"""The only module that stores and reads people's texts. All other modules contain text ids only (docs/protocol.md §8).

A text belongs to one owner: a profile, a person, or a process if no single person wrote it. It is sealed with the
owner's data key, and erasure destroys this key (docs/erasure.md). Texts that were stored without master keys are plain
UTF-8 and are marked as such. They stay readable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4, uuid5

from tongyao.records.database import Connection, RecordsError, Repository, session, transaction
from tongyao.records.privacy.keys import KeyMissing, new_data_key, seal, unseal

_NAMESPACE: Final = UUID("5d1f0f2e-8f0b-5b0a-9c55-746f6e677961")


class TextUnknown(RecordsError):
    """No text has this id."""


class TextErased(RecordsError):
    """The text existed, and its owner had it erased."""


class TextConflict(RecordsError):
    """The id belongs to another text, owner or kind. Nothing was stored."""


class AnotherText(TextConflict):
    """The id belongs to a text of the same owner and kind with other words."""


class NewText(NamedTuple):
    """A text to be stored, with its id."""

    id: str
    owner: str
    kind: str
    text: str


class DataKey(NamedTuple):
    """An owner's data key. `secret` is None if texts are stored unencrypted."""

    id: str
    secret: bytes | None


def text_id(*parts: object) -> str:
    """The id of the text that `parts` (process, step, round, …) identify. It is the same on every retry."""
    return str(uuid5(_NAMESPACE, "\x1f".join(str(part) for part in parts)))


class Texts(Repository):
    """Stored texts, append-only."""

    async def put(self, owner: str, kind: str, text: str, *, id: str | None = None) -> str:
        """Store `text` and return its id. If `id` is given (see `text_id`), a repetition changes nothing.

        Raises `TextConflict` if `id` belongs to another text, `TextErased` if that text was erased.
        """
        async with session(self._pool) as connection:
            return await put_text(connection, owner, kind, text, id=id)

    async def first(self, owner: str, kind: str, text: str, *, id: str) -> str:
        """Store `text` under `id` unless the id already has a text. Returns the text that the id then has.

        For steps that may produce another text when they are tried again. Raises the same errors as `put`.
        """
        stand = await self.first_of_those_left([NewText(id, owner, kind, text)])
        if id not in stand:
            raise TextErased(GONE)
        return stand[id]

    async def first_of_those_left(self, texts: Sequence[NewText]) -> dict[str, str]:
        """Like `first`, by id, without erased texts and texts of erased owners. Raises `TextConflict`."""
        if not texts:
            return {}
        async with transaction(self._pool) as connection:
            keys = await _active_keys(connection, {new.owner for new in texts})
            wanted = [new for new in texts if new.owner in keys]
            inserted = await _put(connection, wanted, keys)
            stand = {new.id: new.text if new.id in inserted else await _standing(connection, new) for new in wanted}
        return {id: text for id, text in stand.items() if text is not None}

    async def get(self, id: str) -> str:
        """Return one text. Raises `TextUnknown`, `TextErased`."""
        return (await self.get_many([id]))[id]

    async def get_many(
        self, ids: Iterable[str], *, erased: str | None = None, known: Iterable[str] = ()
    ) -> dict[str, str]:
        """The texts by id, in one query. `erased` is returned in place of erased texts; without it, erased texts raise
        `TextErased`.

        `known`: further ids, which are left out if the text is missing or erased. Raises `TextUnknown` if one of the
        other ids is missing.
        """
        async with session(self._pool) as connection:
            return await get_texts(connection, ids, erased=erased, known=known)

    async def stored_chars(self, owner: str) -> int:
        """The number of characters stored for this owner."""
        return int(
            await self._value(
                "SELECT COALESCE(sum(chars), 0) AS chars FROM texts WHERE owner = %s AND body IS NOT NULL", [owner]
            )
        )


async def put_text(connection: Connection, owner: str, kind: str, text: str, *, id: str | None = None) -> str:
    """Like `Texts.put`, on the caller's connection."""
    new = NewText(id or str(uuid4()), owner, kind, text)
    if new.id not in await _put(connection, [new], {owner: await active_key(connection, owner)}):
        stands = await _standing(connection, new)
        if stands is None:
            raise TextErased(f"text {new.id} was erased by its owner, so it is not stored again")
        if stands != text:
            raise AnotherText(
                f"text id {new.id} already belongs to another {kind} of the same owner: texts are never changed"
            )
    return new.id


async def _put(connection: Connection, texts: Sequence[NewText], keys: Mapping[str, DataKey]) -> set[str]:
    """Store texts with these data keys, by owner. Returns the ids that are new."""
    if not texts:
        return set()
    cursor = await connection.execute(f"SELECT id FROM put_texts({SEALED}) AS id", sealed(texts, keys))
    return {row["id"] for row in await cursor.fetchall()}


async def put_with_shared(
    connection: Connection, texts: Sequence[NewText], shared: Callable[[NewText], NewText]
) -> dict[str, str]:
    """Like `Texts.first_of_those_left`, in the caller's transaction, with a second text for each text.

    `shared`: makes the second text of a text, with its own id and owner. It is stored if the first text is valid.
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
"""The parameters of the SQL function `put_texts`, and the last parameters of `end_call`. `sealed` returns their values."""


def sealed(texts: Sequence[NewText], keys: Mapping[str, DataKey]) -> dict[str, Any]:
    """The texts in stored form, encrypted with these data keys, by owner. Either all keys have a secret or none has one."""
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
    """Store the first texts of many new owners, in a few statements of the caller's transaction.

    Returns the data keys that were created, by owner; None if texts are stored unencrypted. Raises `TextConflict` if an
    owner or an id is already known, `TextErased` if an owner was erased.
    """
    owners = [new.owner for new in texts]
    await connection.execute(  # held until commit, so that erasure waits
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
        raise TextConflict("one of these owners already has texts: nothing was stored")
    if len(await _put(connection, texts, keys)) != len(texts):
        raise TextConflict("one of these ids already belongs to another text: nothing was stored")
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
    """Remove single bodies, of any owner, because they quote an erased person. Returns their number."""
    cursor = await connection.execute("SELECT remove_texts(%s::uuid[]) AS removed", [list(ids)])
    row = await cursor.fetchone()
    return int(row["removed"]) if row else 0


async def replace_text(connection: Connection, id: str, text: str) -> str:
    """Remove a body that quotes an erased person. References to it now read `text`. Returns the id of `text`."""
    cursor = await connection.execute("SELECT owner, kind FROM texts WHERE id = %s", [id])
    row = await cursor.fetchone()
    if row is None:
        raise TextUnknown(f"there is no text {id}")
    new = await put_text(connection, row["owner"], row["kind"], text)
    await connection.execute("SELECT replace_text(%s, %s)", [id, new])
    return new


GONE: Final = "the owner of this text was erased: no text of theirs is stored again"


_ROW: Final = """t.id, t.owner, t.kind, t.body, t.sealed, k.id AS key_id, k.wrapped, k.master_id,
    EXISTS (SELECT 1 FROM tombstones s WHERE s.owner = t.owner) AS gone"""
_READ: Final = f"""SELECT o.id AS asked, {_ROW} FROM texts o
    JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id) JOIN data_keys k ON k.id = t.key_id"""
"""`asked` is the id in the reference. If the text was replaced, the replacement is read."""


async def data_key(connection: Connection, owner: str) -> bytes | None:
    """The owner's data key, created if it is missing. None if texts are stored unencrypted. Raises `TextErased`, `KeyMissing`."""
    return (await active_key(connection, owner)).secret


async def data_keys(connection: Connection, owners: Iterable[str]) -> dict[str, bytes]:
    """The existing data keys of these owners, also of an owner whose erasure has begun. Raises `KeyMissing`."""
    found = {owner: secret_of(connection, owner, row) for owner, row in (await _key_rows(connection, owners)).items()}
    return {owner: secret for owner, secret in found.items() if secret is not None}


async def active_key(connection: Connection, owner: str) -> DataKey:
    """The owner's data key, created with their first text. Raises `TextErased` if the owner was erased."""
    keys = await _active_keys(connection, [owner])
    if owner not in keys:
        raise TextErased(GONE)
    return keys[owner]


async def _active_keys(connection: Connection, owners: Iterable[str]) -> dict[str, DataKey]:
    """Like `active_key`, by owner. Erased owners are left out."""
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
    """The row of a new data key for an owner who has none, or one from before master keys. None for an erased owner."""
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
    """The data keys of these owners that were not destroyed, in the form for `key_of`. `gone`: the owner was erased."""
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
    """The data key in a row with `key_id`, `wrapped` and `master_id`. None if a key must be created first."""
    if row["key_id"] is None or (row["wrapped"] is None and connection.keys is not None):
        return None
    return DataKey(row["key_id"], secret_of(connection, owner, row))


def secret_of(connection: Connection, owner: str, row: Mapping[str, Any]) -> bytes | None:
    """The secret in such a row. None if texts are stored unencrypted, or if the key was destroyed. Raises `KeyMissing`."""
    if row["wrapped"] is None or row["master_id"] is None:
        return None
    if connection.keys is None:
        raise KeyMissing(
            f"texts in this database are encrypted with master key {row['master_id']}: give it with TONGYAO_MASTER_KEY"
        )
    return connection.keys.unwrap(bytes(row["wrapped"]), f"{row['key_id']}/{owner}", row["master_id"])


def _wrapped(connection: Connection, id: str, owner: str) -> tuple[bytes | None, str | None]:
    keys = connection.keys
    return (None, None) if keys is None else (keys.wrap(new_data_key(), f"{id}/{owner}"), keys.active)


def _text_of(connection: Connection, row: dict[str, Any]) -> str | None:
    """The text of a row. None if it was erased: its body was removed, or its key was destroyed."""
    if row["body"] is None:
        return None
    if not row["sealed"]:
        return bytes(row["body"]).decode("utf-8")
    secret = secret_of(connection, row["owner"], row)
    if secret is None:
        return None
    return unseal(secret, bytes(row["body"]), _context(row["id"], row["owner"], row["kind"]))


def _context(id: str, owner: str, kind: str) -> str:
    """The encryption context: a sealed body can be opened only in its own row."""
    return f"{id}/{owner}/{kind}"


async def _standing(connection: Connection, new: NewText) -> str | None:
    """The text stored under the id of `new`. None if it or its owner was erased. Raises `TextConflict`."""
    cursor = await connection.execute(
        f"SELECT {_ROW} FROM texts t JOIN data_keys k ON k.id = t.key_id WHERE t.id = %s", [new.id]
    )
    row = await cursor.fetchone()
    if row is None or row["gone"]:  # the owner was erased after this call read their key
        return None
    text = _text_of(connection, row)
    if text is not None and (row["owner"], row["kind"]) != (new.owner, new.kind):
        raise TextConflict(
            f"text id {new.id} already belongs to another text (a {row['kind']}): texts are never changed"
        )
    return text
