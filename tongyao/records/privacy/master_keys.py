"""Checks and changes the master keys that are registered in a database (docs/erasure.md)."""

from __future__ import annotations

from datetime import datetime

from psycopg.errors import UndefinedTable

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, RecordsError, reading, transaction
from tongyao.records.privacy.keys import KeyMissing, Keyring


class SchemaMissing(RecordsError):
    """The database has no tables, or the tables of an older version."""


async def register_master_key(pool: Pool, keys: Keyring) -> None:
    """Check the master keys against the registered ones and register the active one. Called when a pool is opened.

    Raises `KeyMissing` if master keys are registered and none of them is given. Otherwise two workers with different
    key files would encrypt texts that the other cannot read. Raises `SchemaMissing`.
    """
    try:
        async with transaction(pool) as connection:
            await connection.execute("LOCK TABLE master_keys IN EXCLUSIVE MODE")
            cursor = await connection.execute("SELECT id FROM master_keys ORDER BY first_used, id")
            known = [row["id"] for row in await cursor.fetchall()]
            if known and not set(known) & set(keys.ids):
                raise KeyMissing(
                    f"the texts of this database are encrypted with master key {', '.join(known)}, but only "
                    f"{', '.join(keys.ids)} was given: give that key with TONGYAO_MASTER_KEY, or its file with "
                    "TONGYAO_MASTER_KEY_FILE"
                )
            await connection.execute("INSERT INTO master_keys (id) VALUES (%s) ON CONFLICT DO NOTHING", [keys.active])
    except UndefinedTable:
        raise SchemaMissing("this database has no schema, or an older one: run `tongyao prepare` first") from None


async def rewrap(pool: Pool, keys: Keyring) -> int:
    """Re-wrap every data key with the active master key and remove the older master keys. Returns the number of data
    keys re-wrapped.

    Texts are not changed. Afterwards older master keys decrypt nothing in this database. Raises `KeyMissing`.
    """
    async with transaction(pool) as connection:
        cursor = await connection.execute(
            """SELECT id, owner, wrapped, master_id FROM data_keys
               WHERE wrapped IS NOT NULL AND master_id IS DISTINCT FROM %s ORDER BY id FOR UPDATE""",
            [keys.active],
        )
        rows = await cursor.fetchall()
        for row in rows:
            context = f"{row['id']}/{row['owner']}"
            secret = keys.unwrap(bytes(row["wrapped"]), context, row["master_id"])
            await connection.execute(
                "UPDATE data_keys SET wrapped = %s, master_id = %s WHERE id = %s",
                [keys.wrap(secret, context), keys.active, row["id"]],
            )
        await connection.execute("DELETE FROM master_keys WHERE id <> %s", [keys.active])
        await connection.execute("INSERT INTO master_keys (id) VALUES (%s) ON CONFLICT DO NOTHING", [keys.active])
    return len(rows)


class MasterKeyUse(Value):
    """A given master key.

    `first_used`: the time at which it was registered in this database as the active key. `data_keys`: number of data
    keys that it wraps.
    """

    id: str
    first_used: datetime | None
    data_keys: int


async def uses(pool: Pool, keys: Keyring) -> list[MasterKeyUse]:
    """The use of every given key, the active one first."""
    async with reading(pool, MasterKeyUse) as cursor:
        await cursor.execute(
            """SELECT given.id, first_used, (SELECT count(*) FROM data_keys WHERE master_id = given.id) AS data_keys
               FROM unnest(%s::text[]) WITH ORDINALITY AS given (id, place) LEFT JOIN master_keys USING (id) ORDER BY place""",
            [list(keys.ids)],
        )
        return await cursor.fetchall()
