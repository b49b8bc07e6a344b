"""Counts of open work for the metrics: processes by phase, asks that wait for people, undelivered messages."""

from __future__ import annotations

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, session


class OpenAsks(Value):
    """Open asks of one kind; `oldest` in seconds."""

    ask: str
    count: int
    oldest: float


class Backlog(Value):
    """`phases`: open processes by phase. `undelivered`: messages without a verdict; `oldest_undelivered` in seconds."""

    phases: dict[str, int]
    waits: tuple[OpenAsks, ...]
    undelivered: int
    oldest_undelivered: float


async def read_backlog(pool: Pool) -> Backlog:
    """The counts now, by three queries over open rows only."""
    async with session(pool) as connection:
        phases = await connection.execute(
            "SELECT phase, count(*) AS count FROM processes WHERE ended_at IS NULL GROUP BY phase"
        )
        by_phase = {row["phase"]: row["count"] for row in await phases.fetchall()}
        waits = await connection.execute(
            """SELECT ask, count(*) AS count, extract(epoch FROM now() - min(opened_at))::float AS oldest
               FROM inbox WHERE closed_at IS NULL GROUP BY ask ORDER BY ask"""
        )
        by_ask = tuple(OpenAsks(**row) for row in await waits.fetchall())
        messages = await connection.execute(
            """SELECT count(*) AS count, COALESCE(extract(epoch FROM now() - min(created_at)), 0)::float AS oldest
               FROM messages WHERE state = 'pending'"""
        )
        row = await messages.fetchone()
    assert row is not None
    return Backlog(phases=by_phase, waits=by_ask, undelivered=row["count"], oldest_undelivered=row["oldest"])
