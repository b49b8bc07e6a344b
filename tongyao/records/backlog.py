"""Counts of open work for the metrics: processes by phase, asks to people, undelivered messages."""

from __future__ import annotations

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, session


class OpenAsks(Value):
    """Open asks of one kind. `oldest`: age of the oldest one, in seconds."""

    ask: str
    count: int
    oldest: float


class Backlog(Value):
    """Counts of open work.

    `phases`: open processes by phase. `suspended`: suspended processes by the code of the cause. A process with two
    causes counts under both. `undelivered`: messages without a verdict. `oldest_undelivered`: age of the oldest, in
    seconds. `set_aside`: messages that failed so often that later messages may be delivered first. `troubles`: messages
    by the reason for which the last try gave no verdict.
    """

    phases: dict[str, int]
    suspended: dict[str, int]
    waits: tuple[OpenAsks, ...]
    undelivered: int
    oldest_undelivered: float
    set_aside: int
    troubles: dict[str, int]


async def read_backlog(pool: Pool) -> Backlog:
    """Count with five queries that read open rows only. The time does not depend on the number of ended processes."""
    async with session(pool) as connection:
        phases = await connection.execute(
            "SELECT phase, count(*) AS count FROM processes WHERE ended_at IS NULL GROUP BY phase"
        )
        by_phase = {row["phase"]: row["count"] for row in await phases.fetchall()}
        causes = await connection.execute(
            """SELECT code, count(*) AS count FROM processes, unnest(suspended) AS code
               WHERE ended_at IS NULL GROUP BY code"""
        )
        by_cause = {row["code"]: row["count"] for row in await causes.fetchall()}
        waits = await connection.execute(
            """SELECT ask, count(*) AS count, extract(epoch FROM now() - min(opened_at))::float AS oldest
               FROM inbox WHERE closed_at IS NULL GROUP BY ask ORDER BY ask"""
        )
        by_ask = tuple(OpenAsks(**row) for row in await waits.fetchall())
        messages = await connection.execute(
            """SELECT count(*) AS count, count(*) FILTER (WHERE set_aside_at IS NOT NULL) AS set_aside, COALESCE(extract(epoch FROM now() - min(created_at)), 0)::float AS oldest
               FROM messages WHERE state = 'pending'"""
        )
        row = await messages.fetchone()
        failing = await connection.execute(
            "SELECT trouble, count(*) AS count FROM messages WHERE state = 'pending' AND trouble <> '' GROUP BY trouble"
        )
        by_trouble = {one["trouble"]: one["count"] for one in await failing.fetchall()}
    assert row is not None
    return Backlog(
        phases=by_phase,
        suspended=by_cause,
        waits=by_ask,
        undelivered=row["count"],
        oldest_undelivered=row["oldest"],
        set_aside=row["set_aside"],
        troubles=by_trouble,
    )
