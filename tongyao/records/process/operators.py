"""The operators' log: who resumed, cancelled, extended, projected anew (docs/operations.md §5)."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, reading, session

Act = Literal["project_again"]
"""What operators do that is no message to a process."""


class OperatorAct(Value):
    """One thing an operator did: the kind of a message, or an `Act`. `refused`: the code of its refusal, empty otherwise."""

    at: datetime
    login: str
    via: str
    act: str
    process_id: str
    refused: str = ""


class OperatorLog:
    """Messages of operators stand in `messages`; only what is no message is written here."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def note(self, process_id: str, act: Act, *, login: str, via: str) -> None:
        async with session(self._pool) as connection:
            await connection.execute(
                "INSERT INTO operator_acts (process_id, act, login, via) VALUES (%s, %s, %s, %s)",
                [process_id, act, login, via],
            )

    async def acts(
        self, *, process_id: str | None = None, login: str | None = None, limit: int = 100
    ) -> list[OperatorAct]:
        """What operators did, the newest first; of one process, of one operator."""
        async with reading(self._pool, OperatorAct) as cursor:
            await cursor.execute(
                _ACTS + " ORDER BY at DESC, process_id LIMIT %(limit)s",
                {"process": process_id, "login": login, "limit": limit},
            )
            return await cursor.fetchall()


_ACTS: Final = """SELECT * FROM (
        SELECT created_at AS at, login, via, kind AS act, process_id,
               CASE WHEN (verdict ->> 'accepted')::boolean THEN '' ELSE COALESCE(verdict ->> 'code', '') END AS refused
        FROM messages WHERE login <> ''
        UNION ALL SELECT at, login, via, act, process_id, '' FROM operator_acts) AS acts
    WHERE (%(process)s::text IS NULL OR process_id = %(process)s)
      AND (%(login)s::text IS NULL OR login = %(login)s)"""
