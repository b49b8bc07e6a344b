"""Reads and writes the Highway's tables in PostgreSQL: memories, finished levels of unfinished memories, strengths,
dictionary frequencies. The tables contain no texts. `deletion.py` deletes from them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow, tuple_row

from crystalline_highway.deletion import Pool, subtract_from_dictionary
from crystalline_highway.memory import Memory
from crystalline_highway.recite.segments import Level
from crystalline_highway.strengths import Strengths


def _cursor(connection: AsyncConnection[Any]) -> AsyncCursor[TupleRow]:
    return connection.cursor(row_factory=tuple_row)


class Store:
    """The tables `highway_…`. Every method is one transaction and raises psycopg.Error if the database fails."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, owner: str, version: int, fingerprint: bytes, passes: int) -> bool:
        """Record the start of a recitation. Returns False if the same memory is finished with at least as many passes.

        A finished memory of other texts is kept until the new memory is finished.
        """
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT fingerprint, passes FROM highway_memories WHERE owner = %s AND version = %s FOR UPDATE",
                (owner, version),
            )
            row = await cursor.fetchone()
            if row is not None:
                return bytes(row[0]) != fingerprint or row[1] < passes
            await cursor.execute(
                "INSERT INTO highway_memories (owner, version, fingerprint) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (owner, version, fingerprint),
            )
            return True

    async def stages(self, owner: str, version: int, making: bytes) -> dict[Level, bytes]:
        """Return the finished levels of an unfinished memory. `making`: identifies the recitation."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT level, state FROM highway_stages WHERE owner = %s AND version = %s AND making = %s",
                (owner, version, making),
            )
            return {Level(level): bytes(state) for level, state in await cursor.fetchall()}

    async def put_stage(self, owner: str, version: int, making: bytes, level: Level, state: bytes) -> None:
        async with self._pool.connection() as connection, connection.transaction():
            await _cursor(connection).execute(
                "INSERT INTO highway_stages (owner, version, making, level, state) VALUES (%s, %s, %s, %s, %b)"
                " ON CONFLICT (owner, version, making, level) DO UPDATE SET state = excluded.state",
                (owner, version, making, int(level), state),
            )

    async def finish(self, owner: str, version: int, memory: Memory, fingerprint: bytes) -> None:
        """Replace the previous memory by a finished memory, delete the stages, and count the units in the dictionary.

        Does nothing if the memory was deleted in the meantime, or if another worker has already stored it.
        """
        packed = await asyncio.to_thread(_packed, memory)
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT fingerprint, passes, arrays FROM highway_memories WHERE owner = %s AND version = %s FOR UPDATE",
                (owner, version),
                binary=True,
            )
            row = await cursor.fetchone()
            if row is None:
                return
            if row[2] is None or bytes(row[0]) != fingerprint or row[1] < memory.passes:
                if row[2] is not None:
                    await subtract_from_dictionary(cursor, bytes(row[2]))
                await cursor.execute(
                    "UPDATE highway_memories SET fingerprint = %s, passes = %s, arrays = %b, bytes = %s, units = %s,"
                    " paths = %s, recited_at = clock_timestamp() WHERE owner = %s AND version = %s",
                    (fingerprint, memory.passes, *packed.columns, owner, version),
                )
                await cursor.execute(
                    "INSERT INTO highway_dictionary (unit, occurs) SELECT * FROM unnest(%s::bigint[], %s::bigint[])"
                    " ON CONFLICT (unit) DO UPDATE SET occurs = highway_dictionary.occurs + excluded.occurs",
                    (packed.units, packed.occurs),
                )
            await cursor.execute("DELETE FROM highway_stages WHERE owner = %s AND version = %s", (owner, version))

    async def recited_at(self, owner: str, version: int) -> datetime | None:
        """Return the time at which any worker finished the memory; None if the memory is not finished."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT recited_at FROM highway_memories WHERE owner = %s AND version = %s", (owner, version)
            )
            row = await cursor.fetchone()
        return None if row is None else row[0]

    async def memory(self, owner: str, version: int) -> Memory | None:
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT arrays FROM highway_memories WHERE owner = %s AND version = %s AND arrays IS NOT NULL",
                (owner, version),
                binary=True,
            )
            row = await cursor.fetchone()
        return None if row is None else await asyncio.to_thread(Memory.load, bytes(row[0]))

    async def revision(self, owner: str) -> int:
        """Return the number of write-backs of this owner."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute("SELECT count(*) FROM highway_written WHERE owner = %s", (owner,))
            row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def strengths(self, owner: str) -> Strengths:
        """Return the strengths of all units of an owner."""
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

    async def add(self, owner: str, occasion: str, left: Strengths, *, most_directs: int) -> bool:
        """Add to an owner's strengths, once per occasion. Returns False if this occasion was written back before."""
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
                " DO UPDATE SET walks = highway_directs.walks + excluded.walks, walked_at = now()",
                (owner, [d[0] for d in directs], [d[1] for d in directs], [left.direct[d] for d in directs]),
            )
            await cursor.execute(
                "DELETE FROM highway_directs d USING (SELECT start, target FROM highway_directs WHERE owner = %s"
                " ORDER BY walks DESC, walked_at DESC, start, target OFFSET %s) AS beyond"
                " WHERE d.owner = %s AND d.start = beyond.start AND d.target = beyond.target",
                (owner, most_directs, owner),
            )
            return True

    async def dictionary(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the frequencies of base units over all owners; 0 for unknown units."""
        async with self._pool.connection() as connection:
            cursor = _cursor(connection)
            await cursor.execute(
                "SELECT unit, occurs FROM highway_dictionary WHERE unit = ANY(%s::bigint[])", (keys.tolist(),)
            )
            found: dict[int, int] = dict(await cursor.fetchall())
        return np.array([found.get(key, 0) for key in keys.tolist()], np.int64)

    async def drop_units(self, owner: str, keys: NDArray[np.int64]) -> None:
        """Delete the strengths of these units, and the direct paths from and to them."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = _cursor(connection)
            gone = keys.tolist()
            await cursor.execute("DELETE FROM highway_starts WHERE owner = %s AND unit = ANY(%s)", (owner, gone))
            await cursor.execute("DELETE FROM highway_targets WHERE owner = %s AND unit = ANY(%s)", (owner, gone))
            await cursor.execute(
                "DELETE FROM highway_directs WHERE owner = %s AND (start = ANY(%s) OR target = ANY(%s))",
                (owner, gone, gone),
            )


@dataclass(frozen=True)
class _Packed:
    """A memory in stored form. `columns`: arrays, size in bytes, number of units, number of paths.

    `units`, `occurs`: keys and frequencies of the base units, sorted by key so that two transactions cannot deadlock.
    """

    columns: tuple[bytes, int, int, int]
    units: list[int]
    occurs: list[int]


def _packed(memory: Memory) -> _Packed:
    return _Packed(
        columns=(memory.dump(), memory.nbytes(), len(memory.units), memory.path_count()),
        units=memory.units.keys[memory.order].tolist(),
        occurs=memory.occurs[memory.order].astype(np.int64).tolist(),
    )
