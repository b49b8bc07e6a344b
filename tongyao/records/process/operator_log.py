"""The operators' log: who resumed, cancelled, extended or projected again (docs/operations.md §5)."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository

Act = Literal["project_again"]
"""Acts of operators on a process that are not messages to it."""

DECODED: Final = "decode_payloads"


class OperatorAct(Value):
    """One act of an operator: the kind of a message, an `Act`, or `DECODED`.

    `refused`: the code of its refusal, otherwise empty. `times`: the number of decoded payloads. `process_id` is empty
    for `DECODED`, because payloads do not show their process.
    """

    at: datetime
    login: str
    via: str
    act: str
    process_id: str
    refused: str = ""
    times: int = 1


class OperatorLog(Repository):
    """Messages of operators are in `messages`. This log adds the acts that are not messages."""

    async def note(self, process_id: str, act: Act, *, login: str, via: str) -> None:
        await self._run(
            "INSERT INTO operator_acts (process_id, act, login, via) VALUES (%s, %s, %s, %s)",
            [process_id, act, login, via],
        )

    async def note_decoded(self, payloads: int, *, login: str, via: str) -> None:
        """Note that payloads of Temporal were decoded.

        All requests of an operator within one minute to decode payloads are one row, because pages repeat them.
        """
        known = await self._run(
            """UPDATE operator_acts SET times = times + %s
               WHERE act = %s AND login = %s AND via = %s AND at > now() - interval '1 minute'""",
            [payloads, DECODED, login, via],
        )
        if not known:
            await self._run(
                "INSERT INTO operator_acts (act, times, login, via) VALUES (%s, %s, %s, %s)",
                [DECODED, payloads, login, via],
            )

    async def acts(
        self, *, process_id: str | None = None, login: str | None = None, limit: int = 100
    ) -> list[OperatorAct]:
        """The acts of operators, newest first. Optionally only of one process or one operator."""
        return await self._all(
            OperatorAct,
            _ACTS + " ORDER BY at DESC, process_id LIMIT %(limit)s",
            {"process": process_id, "login": login, "limit": limit},
        )


_ACTS: Final = """SELECT * FROM (
        SELECT created_at AS at, login, via, kind AS act, process_id,
               CASE WHEN (verdict ->> 'accepted')::boolean THEN '' ELSE COALESCE(verdict ->> 'code', '') END AS refused,
               1::bigint AS times
        FROM messages WHERE login <> ''
        UNION ALL SELECT at, login, via, act, COALESCE(process_id, ''), '', times FROM operator_acts) AS acts
    WHERE (%(process)s::text IS NULL OR process_id = %(process)s)
      AND (%(login)s::text IS NULL OR login = %(login)s)"""
