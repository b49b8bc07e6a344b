"""Reads the events of a process, in order and without gaps."""

from __future__ import annotations

from tongyao.protocol.model.events import Event
from tongyao.records.database import Pool, reading, session


class Events:
    """What happened in each process, by `seq`: per process, from 1, without holes. No global order exists."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def events(self, process_id: str, after_seq: int = 0, limit: int = 100) -> list[Event]:
        """The events that directly follow `after_seq`, at most `limit`, in order.

        Outboxes may be written out of order; an event behind a hole is not given out before the hole is
        filled, so a reader who goes on from the last `seq` they saw misses none.
        """
        async with reading(self._pool, Event) as cursor:
            await cursor.execute(
                """SELECT seq, kind, at, data FROM (
                       SELECT *, row_number() OVER (ORDER BY seq) AS place FROM (
                           SELECT * FROM events WHERE process_id = %(process)s AND seq > %(after)s
                           ORDER BY seq LIMIT %(limit)s) AS next) AS placed
                   WHERE seq = %(after)s + place ORDER BY seq""",
                {"process": process_id, "after": after_seq, "limit": limit},
            )
            return await cursor.fetchall()

    async def last_seq(self, process_id: str) -> int:
        """The last `seq` up to which no event is missing; 0 when there is none."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT COALESCE(max(seq), 0) AS last FROM (
                       SELECT seq, row_number() OVER (ORDER BY seq) AS place
                       FROM events WHERE process_id = %s) AS placed
                   WHERE seq = place""",
                [process_id],
            )
            row = await cursor.fetchone()
        return int(row["last"]) if row else 0
