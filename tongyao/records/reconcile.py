"""Where records and workflows may have come apart: what `tongyao reconcile` reads (docs/protocol.md §8)."""

from __future__ import annotations

from typing import LiteralString

from tongyao.protocol.model.value import Value
from tongyao.records.budgets import settle
from tongyao.records.database import Repository, transaction


class Drift(Value):
    """An open process that something is wrong with; `idle_seconds` since its row was last written.

    `events`: how many of its transitions up to `seq` are there, or known to be lost.
    """

    id: str
    phase: str
    seq: int
    events: int
    idle_seconds: float


class Reconciliation(Repository):
    """Looks; what to do about it is decided by asking Temporal."""

    async def never_started(self, older_than: float = 0.0) -> list[Drift]:
        """Announced at least `older_than` seconds ago, and no workflow ever wrote to them; oldest first."""
        return await self._open("NOT p.started AND p.seq = 0", older_than)

    async def silent(self, older_than: float = 0.0) -> list[Drift]:
        """Started, not ended, rows unwritten for `older_than` seconds: waiting, lagging, or terminated."""
        return await self._open("p.started", older_than)

    async def _open(self, condition: LiteralString, older_than: float) -> list[Drift]:
        return await self._all(
            Drift,
            f"""{_DRIFT} WHERE p.ended_at IS NULL AND ({condition})
                AND p.updated_at <= clock_timestamp() - make_interval(secs => %s)
                ORDER BY p.updated_at, p.id""",
            [older_than],
        )

    async def with_holes(self) -> list[Drift]:
        """Processes, ended ones too, of whose transitions up to `seq` some never arrived."""
        return await self._all(Drift, f"SELECT * FROM ({_DRIFT}) AS d WHERE d.events < d.seq ORDER BY d.id")

    async def calls_to_orphan(self) -> int:
        """How many `orphaned_calls` would mark now."""
        return int(
            await self._value("""SELECT count(*) AS count FROM model_calls c JOIN processes p ON p.id = c.process_id
               WHERE c.state IN ('claimed', 'waiting', 'answered') AND p.ended_at IS NOT NULL""")
        )

    async def orphaned_calls(self) -> int:
        """Mark claimed calls of processes that have ended: nobody comes back for them. Returns how many.

        What such processes have reserved of their tree's budget is released.
        """
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                """UPDATE model_calls c SET state = 'orphaned', ended_at = now() FROM processes p
                   WHERE c.state IN ('claimed', 'waiting', 'answered') AND p.id = c.process_id AND p.ended_at IS NOT NULL"""
            )
            held = await connection.execute(
                """SELECT DISTINCT p.budget_id, p.id FROM reservations r
                   JOIN processes p ON p.budget_id = r.root_id AND starts_with(r.key, p.id || '/')
                   WHERE NOT r.settled AND p.ended_at IS NOT NULL ORDER BY p.budget_id"""
            )
            for row in await held.fetchall():
                await settle(connection, row["id"])
            return cursor.rowcount


_DRIFT: LiteralString = """SELECT p.id, p.phase, p.seq,
        lost.upto + (SELECT count(*) FROM events e
            WHERE e.process_id = p.id AND NOT e.superseded AND e.seq > lost.upto AND e.seq <= p.seq) AS events,
        extract(epoch FROM clock_timestamp() - p.updated_at)::float AS idle_seconds
    FROM processes p CROSS JOIN LATERAL (
        SELECT COALESCE(max(o.complete_to), 0) AS upto FROM epochs o WHERE o.process_id = p.id) AS lost"""
