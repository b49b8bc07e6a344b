"""Deletes the data that the Highway stores of an owner.

This module must work without the extra `highway`, because another installation may have stored memories in the same
database. It imports neither numba nor the code that builds and queries memories.
"""

from __future__ import annotations

import asyncio
import io
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow, tuple_row


class Pool(Protocol):
    """A source of connections, for example a `psycopg_pool.AsyncConnectionPool`."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]: ...


class StoredMemories:
    """The stored memories of all owners, for deletion only."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def forget(self, owner: str, version: int | None = None) -> None:
        """Delete one memory, or if `version` is None all data of an owner. Idempotent.

        Runs in one transaction. Raises psycopg.Error if the database fails.
        """
        async with self._pool.connection() as connection, connection.transaction():
            cursor = connection.cursor(row_factory=tuple_row)
            if version is not None:
                await _delete(cursor, owner, version)
                return
            await cursor.execute("SELECT version FROM highway_memories WHERE owner = %s FOR UPDATE", (owner,))
            for (each,) in await cursor.fetchall():
                await _delete(cursor, owner, each)
            await cursor.execute("DELETE FROM highway_starts WHERE owner = %s", (owner,))
            await cursor.execute("DELETE FROM highway_targets WHERE owner = %s", (owner,))
            await cursor.execute("DELETE FROM highway_directs WHERE owner = %s", (owner,))
            await cursor.execute("DELETE FROM highway_written WHERE owner = %s", (owner,))


async def _delete(cursor: AsyncCursor[TupleRow], owner: str, version: int) -> None:
    await cursor.execute(
        "DELETE FROM highway_memories WHERE owner = %s AND version = %s RETURNING arrays",
        (owner, version),
        binary=True,
    )
    row = await cursor.fetchone()
    if row is not None and row[0] is not None:
        await subtract_from_dictionary(cursor, bytes(row[0]))


async def subtract_from_dictionary(cursor: AsyncCursor[TupleRow], arrays: bytes) -> None:
    """Subtract the base units of a stored memory (`Memory.dump`) from the dictionary frequencies.

    A memory in another format cannot be read, so its base units stay counted.
    """
    counts = await asyncio.to_thread(_base_units, arrays)
    if counts is None:
        return
    keys, occurs = counts
    await cursor.execute(
        "UPDATE highway_dictionary SET occurs = highway_dictionary.occurs - gone.occurs"
        " FROM unnest(%s::bigint[], %s::bigint[]) AS gone (unit, occurs)"
        " WHERE highway_dictionary.unit = gone.unit",
        (keys, occurs),
    )
    await cursor.execute("DELETE FROM highway_dictionary WHERE occurs = 0 AND unit = ANY(%s::bigint[])", (keys,))


def _base_units(arrays: bytes) -> tuple[list[int], list[int]] | None:
    """Keys and frequencies, sorted by key so that two transactions cannot deadlock. None if the format is unknown."""
    import numpy as np  # imported late: every command imports this module, and almost none deletes a memory

    try:
        with np.load(io.BytesIO(arrays), allow_pickle=False) as held:
            units, order, occurs = held["units.keys"], held["order"], held["occurs"]
    except (KeyError, ValueError):
        return None
    return units[order].tolist(), occurs[order].astype(np.int64).tolist()
