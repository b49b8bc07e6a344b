"""When messages could be sent (docs/protocol.md §3.3). Gateways report that they are open; gaps between reports are outages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from tongyao.records.database import Repository, session

BEAT_SECONDS: Final = 5.0
"""The interval at which a gateway reports that it is open."""

SHUT_AFTER_SECONDS: Final = 30.0
"""A longer gap between two reports is an outage. A restart of one gateway takes less time."""

Interval = tuple[datetime, datetime]


class Door(Repository):
    """When this installation could accept messages: while at least one gateway was open."""

    async def beat(self) -> timedelta | None:
        """Report that a gateway is open. If an outage ends with this, returns its length."""
        outage: timedelta | None = await self._value(
            """WITH known AS (SELECT last_open FROM door WHERE id = 1 FOR UPDATE),
                outage AS (
                   INSERT INTO door_outages (shut_at, opened_at)
                   SELECT last_open, clock_timestamp() FROM known
                   WHERE clock_timestamp() - last_open > make_interval(secs => %(gap)s)
                   ON CONFLICT DO NOTHING RETURNING opened_at - shut_at AS length),
                beat AS (
                   INSERT INTO door AS d (id, last_open) SELECT 1, clock_timestamp() FROM (SELECT count(*) FROM known) AS k
                   ON CONFLICT (id) DO UPDATE SET last_open = greatest(d.last_open, excluded.last_open))
               SELECT length FROM outage""",
            {"gap": SHUT_AFTER_SECONDS},
        )
        return outage

    async def shut_seconds(self, process_id: str, since: datetime) -> float:
        """The number of seconds since `since` in which no message could be sent while the process was not suspended.

        A current outage counts up to now. If no gateway has ever reported, the result is 0.
        """
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT shut_at, opened_at FROM door_outages WHERE opened_at > %(since)s
                   UNION ALL SELECT last_open, clock_timestamp() FROM door
                       WHERE clock_timestamp() - last_open > make_interval(secs => %(gap)s)
                   ORDER BY shut_at""",
                {"since": since, "gap": SHUT_AFTER_SECONDS},
            )
            outages = [(max(row["shut_at"], since), row["opened_at"]) for row in await cursor.fetchall()]
            if not outages:
                return 0.0
            cursor = await connection.execute(
                """SELECT kind, COALESCE((data ->> 'since')::timestamptz, at) AS at FROM events WHERE process_id = %s AND NOT superseded
                       AND kind IN ('suspended', 'resumed') ORDER BY seq""",
                [process_id],
            )
            changes = [(row["kind"] == "suspended", row["at"]) for row in await cursor.fetchall()]
        return _length_without(outages, _suspended(changes, outages[-1][1]))


def _suspended(changes: Iterable[tuple[bool, datetime]], now: datetime) -> list[Interval]:
    """Intervals in which the process was suspended, without overlaps.

    `changes`: when a cause of suspension began (true) or ended (false), in the order of events.
    """
    intervals: list[Interval] = []
    causes, since = 0, now
    for added, at in changes:
        if added and causes == 0:
            since = max(at, intervals[-1][1]) if intervals else at
        causes += 1 if added else -1
        if not added and causes == 0:
            intervals.append((since, at))
    return [*intervals, (since, now)] if causes else intervals


def _length_without(intervals: Sequence[Interval], without: Sequence[Interval]) -> float:
    """The seconds of `intervals` that are not in `without`. The intervals of each argument do not overlap."""
    total = timedelta(0)
    for start, end in intervals:
        overlaps = ((max(start, other_start), min(end, other_end)) for other_start, other_end in without)
        total += end - start - sum((max(b - a, timedelta(0)) for a, b in overlaps), timedelta(0))
    return max(0.0, total.total_seconds())
