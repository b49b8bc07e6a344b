"""What lasts, in PostgreSQL: recited memories, half-recited stages, strengths, dictionary frequencies. No
texts."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow, tuple_row

from tongyao.highway.memory import Memory
from tongyao.highway.segments import Level
from tongyao.highway.strengths import Strengths


class Pool(Protocol):
    """Where connections come from; a `psycopg_pool.AsyncConnectionPool` is one."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]: ...


def _cursor(connection: AsyncConnection[Any]) -> AsyncCursor[TupleRow]:
    return connection.cursor(row_factory=tuple_row)


class Store:
    """The tables of migration 0030. Every method is one transaction; raises psycopg.Error when the database
    does."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, owner: str, version: int, fingerprint: bytes) -> bool:
        """Note that a recitation begins; False if the same one is finished. Another text or setting starts
        anew."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT fingerprint, arrays IS NOT NULL FROM highway_memories"
                " WHERE owner = %s AND version = %s FOR UPDATE",
                (owner, version),
            )
            row = await cursor.fetchone()
            if row is not None and bytes(row[0]) == fingerprint:
                return not row[1]
            if row is not None:
                await self._drop(cursor, owner, version)
            await cursor.execute(
                "INSERT INTO highway_memories (owner, version, fingerprint) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (owner, version, fingerprint),
            )
            return True

    async def stages(self, owner: str, version: int) -> dict[Level, bytes]:
        """The levels recited so far of a memory in the making."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT level, state FROM highway_stages WHERE owner = %s AND version = %s", (owner, version)
            )
            return {Level(level): bytes(state) for level, state in await cursor.fetchall()}

    async def put_stage(self, owner: str, version: int, level: Level, state: bytes) -> None:
        """Keep one recited level."""
        async with self._pool.connection() as connection, connection.transaction():
            await _cursor(connection).execute(
                "INSERT INTO highway_stages (owner, version, level, state) VALUES (%s, %s, %s, %b)"
                " ON CONFLICT (owner, version, level) DO UPDATE SET state = excluded.state",
                (owner, version, int(level), state),
            )

    async def finish(self, owner: str, version: int, memory: Memory) -> None:
        """Keep a finished memory, drop its stages, and count its base units into the dictionary."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            await cursor.execute(
                "UPDATE highway_memories"
                " SET arrays = %b, bytes = %s, units = %s, paths = %s, recited_at = now()"
                " WHERE owner = %s AND version = %s AND arrays IS NULL",
                (memory.dump(), memory.nbytes(), len(memory.units), memory.path_count(), owner, version),
            )
            if cursor.rowcount == 1:
                await _count(cursor, memory, 1)
            await cursor.execute("DELETE FROM highway_stages WHERE owner = %s AND version = %s", (owner, version))

    async def memory(self, owner: str, version: int) -> Memory | None:
        """A finished memory, or None."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT arrays FROM highway_memories WHERE owner = %s AND version = %s AND arrays IS NOT NULL",
                (owner, version),
                binary=True,
            )
            row = await cursor.fetchone()
        return None if row is None else Memory.load(bytes(row[0]))

    async def revision(self, owner: str) -> int:
        """How often has been written back for this owner."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute("SELECT count(*) FROM highway_written WHERE owner = %s", (owner,))
            row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def strengths(self, owner: str) -> Strengths:
        """All strengths of an owner's units."""
        left = Strengths()
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute("SELECT unit, used, useful FROM highway_starts WHERE owner = %s", (owner,))
            for unit, used, useful in await cursor.fetchall():
                left.used[unit], left.useful[unit] = used, useful
            await cursor.execute("SELECT unit, reached FROM highway_targets WHERE owner = %s", (owner,))
            left.reached = Counter(dict(await cursor.fetchall()))
            await cursor.execute("SELECT start, target, walks FROM highway_directs WHERE owner = %s", (owner,))
            left.direct = Counter({(start, target): walks for start, target, walks in await cursor.fetchall()})
        return left

    async def add(self, owner: str, occasion: str, left: Strengths) -> bool:
        """Add to an owner's strengths, once per occasion; False if this occasion was written back before."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            await cursor.execute(
                "INSERT INTO highway_written (owner, occasion) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (owner, occasion),
            )
            if cursor.rowcount == 0:
                return False
            starts = sorted(left.used)
            await cursor.execute(
                "INSERT INTO highway_starts (owner, unit, used, useful)"
                " SELECT %s, * FROM unnest(%s::bigint[], %s::int[], %s::int[])"
                " ON CONFLICT (owner, unit) DO UPDATE SET used = highway_starts.used + excluded.used,"
                " useful = highway_starts.useful + excluded.useful",
                (owner, starts, [left.used[k] for k in starts], [left.useful[k] for k in starts]),
            )
            targets = sorted(left.reached)
            await cursor.execute(
                "INSERT INTO highway_targets (owner, unit, reached)"
                " SELECT %s, * FROM unnest(%s::bigint[], %s::int[]) ON CONFLICT (owner, unit) DO UPDATE"
                " SET reached = highway_targets.reached + excluded.reached",
                (owner, targets, [left.reached[k] for k in targets]),
            )
            directs = sorted(left.direct)
            await cursor.execute(
                "INSERT INTO highway_directs (owner, start, target, walks)"
                " SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::int[])"
                " ON CONFLICT (owner, start, target)"
                " DO UPDATE SET walks = highway_directs.walks + excluded.walks",
                (owner, [d[0] for d in directs], [d[1] for d in directs], [left.direct[d] for d in directs]),
            )
            return True

    async def dictionary(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Dictionary frequency of base units over all owners; 0 where it was never recited."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT unit, occurs FROM highway_dictionary WHERE unit = ANY(%s::bigint[])", (keys.tolist(),)
            )
            found: dict[int, int] = dict(await cursor.fetchall())
        return np.array([found.get(key, 0) for key in keys.tolist()], np.int64)

    async def drop(self, owner: str, version: int | None = None) -> None:
        """Remove one memory, or (version None) everything that is kept of an owner."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            if version is not None:
                await self._drop(cursor, owner, version)
                return
            await cursor.execute("SELECT version FROM highway_memories WHERE owner = %s FOR UPDATE", (owner,))
            for (each,) in await cursor.fetchall():
                await self._drop(cursor, owner, each)
            await cursor.execute("DELETE FROM highway_starts WHERE owner = %s", (owner,))
            await cursor.execute("DELETE FROM highway_targets WHERE owner = %s", (owner,))
            await cursor.execute("DELETE FROM highway_directs WHERE owner = %s", (owner,))
            await cursor.execute("DELETE FROM highway_written WHERE owner = %s", (owner,))

    async def drop_units(self, owner: str, keys: NDArray[np.int64]) -> None:
        """Remove the strengths of units, and the direct paths from and to them."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            gone = keys.tolist()
            await cursor.execute("DELETE FROM highway_starts WHERE owner = %s AND unit = ANY(%s)", (owner, gone))
            await cursor.execute("DELETE FROM highway_targets WHERE owner = %s AND unit = ANY(%s)", (owner, gone))
            await cursor.execute(
                "DELETE FROM highway_directs WHERE owner = %s AND (start = ANY(%s) OR target = ANY(%s))",
                (owner, gone, gone),
            )

    async def _drop(self, cursor: AsyncCursor[TupleRow], owner: str, version: int) -> None:
        await cursor.execute(
            "DELETE FROM highway_memories WHERE owner = %s AND version = %s RETURNING arrays",
            (owner, version),
            binary=True,
        )
        row = await cursor.fetchone()
        if row is None or row[0] is None:
            return
        with suppress(ValueError):  # of another build: its share of the global frequencies stays counted
            await _count(cursor, Memory.load(bytes(row[0])), -1)


async def _count(cursor: AsyncCursor[TupleRow], memory: Memory, sign: int) -> None:
    """Count a memory's base units into the dictionary, or out of it; in the order of their keys, against
    deadlocks."""
    keys = memory.units.keys[memory.order].tolist()
    occurs = (sign * memory.occurs[memory.order].astype(np.int64)).tolist()
    if sign > 0:
        await cursor.execute(
            "INSERT INTO highway_dictionary (unit, occurs) SELECT * FROM unnest(%s::bigint[], %s::bigint[])"
            " ON CONFLICT (unit) DO UPDATE SET occurs = highway_dictionary.occurs + excluded.occurs",
            (keys, occurs),
        )
        return
    await cursor.execute(
        "UPDATE highway_dictionary SET occurs = highway_dictionary.occurs + gone.occurs"
        " FROM unnest(%s::bigint[], %s::bigint[]) AS gone (unit, occurs)"
        " WHERE highway_dictionary.unit = gone.unit",
        (keys, occurs),
    )
    await cursor.execute("DELETE FROM highway_dictionary WHERE occurs = 0 AND unit = ANY(%s::bigint[])", (keys,))
