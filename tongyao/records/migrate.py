"""Migrates a database to the current schema: the SQL files of `MIGRATIONS`, applied by yoyo."""

from __future__ import annotations

from pathlib import Path

import psycopg
from psycopg.errors import UndefinedTable
from yoyo import get_backend, read_migrations

import crystalline_highway
from tongyao.records.database import Pool, session

MIGRATIONS = (Path(__file__).parent / "migrations", crystalline_highway.MIGRATIONS)
"""A database identifies a file by its name alone, so no two folders may contain the same name. The folders are independent."""
LOCK_KEY = 0x746F6E67  # any constant that no other program uses in this database


def names() -> set[str]:
    """The migrations that this build knows, without `.sql`."""
    return {path.stem for folder in MIGRATIONS for path in folder.glob("*.sql")}


async def applied(pool: Pool) -> set[str]:
    """The migrations that were applied to the database. Empty if it was never migrated. Changes nothing."""
    async with session(pool) as connection:
        try:
            cursor = await connection.execute("SELECT migration_id FROM _yoyo_migration")
        except UndefinedTable:
            return set()
        return {row["migration_id"] for row in await cursor.fetchall()}


def migrate(database_url: str, *folders: Path) -> list[str]:
    """Apply pending migrations folder by folder, in the order of file names, each file in one transaction.

    Safe to call from many processes at once: a PostgreSQL advisory lock admits one at a time. (yoyo's own lock is a
    row, which remains if the process is killed.)

    `folders`: folders of `NNNN_name.sql` files, by default `MIGRATIONS`. Returns the names applied now, without `.sql`.

    Raises `psycopg.Error` if the database cannot be reached or a statement fails. The file of a failed statement is
    rolled back, and earlier files stay applied. Raises `ValueError` for another kind of database.
    """
    scheme, separator, rest = database_url.partition("://")
    if not separator or scheme.split("+")[0] not in {"postgresql", "postgres"}:
        raise ValueError("The database URL must begin with postgresql://")
    with psycopg.connect(f"postgresql://{rest}", autocommit=True) as gate:
        gate.execute("SELECT pg_advisory_lock(%s)", [LOCK_KEY])
        with get_backend(f"postgresql+psycopg://{rest}") as backend:
            pending = backend.to_apply(read_migrations(*map(str, folders or MIGRATIONS)))
            backend.apply_migrations(pending)
            return [migration.id for migration in pending]
