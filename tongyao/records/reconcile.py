"""Finds differences between records and workflows, for `tongyao reconcile` (docs/protocol.md §8)."""

from __future__ import annotations

from typing import LiteralString

from tongyao.protocol.model.value import Value
from tongyao.records.budgets import settle
from tongyao.records.database import Repository, transaction


class Drift(Value):
    """An open process with a possible problem. `idle_seconds`: the time since its row was last written.

    `events`: the number of its transitions up to `seq` that are stored or known to be lost.
    """

    id: str
    phase: str
    seq: int
    events: int
    idle_seconds: float


class Reconciliation(Repository):
    """Reads the records only. The caller asks Temporal and decides on a repair."""

    async def never_started(self, older_than: float = 0.0) -> list[Drift]:
        """Processes that were announced at least `older_than` seconds ago and to which no workflow ever wrote, oldest first."""
        return await self._open("NOT p.started AND p.seq = 0", older_than)

    async def silent(self, older_than: float = 0.0) -> list[Drift]:
        """Started open processes whose rows were not written for `older_than` seconds: waiting, lagging, or terminated."""
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
        """Processes, open or ended, with missing transitions up to `seq`."""
        return await self._all(Drift, f"SELECT * FROM ({_DRIFT}) AS d WHERE d.events < d.seq ORDER BY d.id")

    async def calls_to_orphan(self) -> int:
        """The number of calls that `orphaned_calls` would mark now."""
        return int(
            await self._value("""SELECT count(*) AS count FROM model_calls c JOIN processes p ON p.id = c.process_id
               WHERE c.state IN ('claimed', 'waiting', 'answered') AND p.ended_at IS NOT NULL""")
        )

    async def orphaned_calls(self) -> int:
        """Mark open calls of ended processes as orphaned, because nobody will answer them. Returns their number.

        The reservations of such processes in their tree's budget are released.
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
