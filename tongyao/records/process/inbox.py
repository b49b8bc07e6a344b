"""The inbox: what waits for whom. Only `journal` writes it."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, fetch_one, reading


class InboxRow(Value):
    """One ask. `person` is the demander or the profile on that seat; open while `closed_at` is None.

    `subject`: the residual it is about, where it is about one.
    """

    id: str
    process_id: str
    ask: str
    alias: str
    person: str | None
    round: int
    due_at: datetime | None
    opened_at: datetime
    closed_at: datetime | None
    subject: str = ""


class Inbox:
    """The inboxes of everybody."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, id: str) -> InboxRow | None:
        """One ask by its id, `process/ask/alias/round`; None where it never waited."""
        return await fetch_one(self._pool, InboxRow, "SELECT * FROM inbox WHERE id = %s", [id])

    async def of_person(self, person: str) -> list[InboxRow]:
        """What waits for this person in all processes; the most urgent first, what has no deadline last."""
        async with reading(self._pool, InboxRow) as cursor:
            await cursor.execute(
                """SELECT * FROM inbox WHERE person = %s AND closed_at IS NULL
                   ORDER BY due_at NULLS LAST, opened_at, id""",
                [person],
            )
            return await cursor.fetchall()

    async def of_operators(self) -> list[InboxRow]:
        """What waits for an operator: everything open that is asked of no single person."""
        async with reading(self._pool, InboxRow) as cursor:
            await cursor.execute("SELECT * FROM inbox WHERE alias = '' AND closed_at IS NULL ORDER BY opened_at, id")
            return await cursor.fetchall()

    async def of_process(self, process_id: str, *, open_only: bool = False) -> list[InboxRow]:
        """Everything that waits, or ever waited, for anybody in a process, oldest first."""
        async with reading(self._pool, InboxRow) as cursor:
            await cursor.execute(
                """SELECT * FROM inbox WHERE process_id = %s AND (closed_at IS NULL OR NOT %s)
                   ORDER BY opened_at, id""",
                [process_id, open_only],
            )
            return await cursor.fetchall()
