"""Whether the master keys at hand are those of this database: asked once, when it is opened (docs/erasure.md)."""

from __future__ import annotations

from psycopg.errors import UndefinedTable

from tongyao.records.database import Pool, RecordsError, transaction
from tongyao.records.privacy.keys import KeyMissing, Keyring


class SchemaMissing(RecordsError):
    """The database is there, its tables are not, or are those of an older version."""


async def acknowledge(pool: Pool, keys: Keyring) -> None:
    """Note the active master key in the database; the first to come names the one that all others need.

    Raises `KeyMissing` when the database knows master keys and none of them is here: else two workers with a key file
    each would seal texts that the other cannot read. Raises `SchemaMissing`.
    """
    try:
        async with transaction(pool) as connection:
            await connection.execute("LOCK TABLE master_keys IN EXCLUSIVE MODE")
            cursor = await connection.execute("SELECT id FROM master_keys ORDER BY first_used, id")
            known = [row["id"] for row in await cursor.fetchall()]
            if known and not set(known) & set(keys.ids):
                raise KeyMissing(
                    f"the texts of this database are sealed with master key {', '.join(known)}, and only "
                    f"{', '.join(keys.ids)} is here: give that key with TONGYAO_MASTER_KEY, or the file it is in with "
                    "TONGYAO_MASTER_KEY_FILE"
                )
            await connection.execute("INSERT INTO master_keys (id) VALUES (%s) ON CONFLICT DO NOTHING", [keys.active])
    except UndefinedTable:
        raise SchemaMissing("this database has no schema, or an older one: run `tongyao prepare` first") from None


async def rewrap(pool: Pool, keys: Keyring) -> int:
    """Wrap every data key with the active master key, and forget the older ones; returns how many were wrapped anew.

    Texts stay as they are. Afterwards older master keys open nothing here. Raises `KeyMissing`.
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
    return len(rows)
