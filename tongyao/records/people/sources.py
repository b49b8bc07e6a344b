"""People's own agents, and the turns for which they are asked (docs/extending.md, "ProfileSource")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, Literal

from psycopg.types.json import Jsonb

from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, RecordsError, Repository, session, transaction
from tongyao.records.privacy.sealed_values import Stored, open_values, seal_value
from tongyao.records.privacy.texts import get_texts, put_text, remove_texts

LEASE_SECONDS: Final = 240.0
"""The time for which a turn is leased. It is longer than one request to an agent may take."""

RENEWAL_SECONDS: Final = 180.0
"""The time for which credentials are leased for renewal. It is longer than one request, including the renewal, may take."""
_POLL_SECONDS: Final = 0.2

_CONFIG: Final = "source"
"""The place under which the addresses of a person's agent are sealed."""

SourceState = Literal["pending", "said", "refused", "failed"]


class SourceUnknown(RecordsError):
    """This person has no agent registered."""


class SourceRow(Value):
    """One person's agent. `config` contains addresses. `credentials` reads the credentials."""

    person: str
    kind: str
    config: dict[str, Any]
    credentials_text_id: str
    created_at: datetime


class SourceTurn(Value):
    """A turn that waits for a person's agent. `round` and `alias` are those of the process."""

    process_id: str
    alias: str
    round: int
    person: str
    state: SourceState
    why: str
    attempts: int
    next_attempt_at: datetime


_WAITS = """SELECT i.process_id, i.alias, i.round, i.person FROM inbox i
    JOIN sources s ON s.person = i.person
    JOIN seats t ON t.process_id = i.process_id AND t.alias = i.alias AND t.endpoint = 'agent'
    WHERE i.closed_at IS NULL AND i.ask IN ('projection', 'gap') AND NOT EXISTS (
        SELECT 1 FROM messages m WHERE m.process_id = i.process_id AND m.kind = 'submit_projection'
            AND m.author_id IN ('participant:' || i.person, 'demander:' || i.person) AND (m.payload->>'round')::int = i.round
            AND (m.verdict IS NULL OR (m.verdict->>'accepted')::boolean))"""
"""Turns of seats with an agent, without words so far. If a person has already answered, their agent is not asked."""


class Sources(Repository):
    """The registered agents of all people."""

    async def put(self, person: str, kind: str, config: dict[str, Any], credentials: dict[str, str]) -> None:
        """Register a person's agent, or replace it."""
        async with transaction(self._pool) as connection:
            await _forget(connection, person)
            kept = await put_text(connection, person, "credentials", json.dumps(credentials))
            stored = await seal_value(connection, person, _CONFIG, config)
            await connection.execute(
                """INSERT INTO sources (person, kind, config, config_sealed, credentials_text_id) VALUES (%s, %s, %s, %s, %s)
                   ON CONFLICT (person) DO UPDATE SET kind = excluded.kind, config = excluded.config,
                       config_sealed = excluded.config_sealed, credentials_text_id = excluded.credentials_text_id, created_at = now(),
                       renewing_until = NULL""",
                [person, kind, stored.body, stored.sealed, kept],
            )

    @asynccontextmanager
    async def renewing(self, agent: SourceRow) -> AsyncIterator[dict[str, str]]:
        """The current credentials of an agent. Changes that the block makes to them are stored at its end.

        In all processes together only one block per agent runs at a time, because a platform accepts a refresh token
        only once. If the agent was replaced or removed during the block, nothing is stored. Raises `SourceUnknown` if
        it was replaced or removed before the block. Raises `TextErased`.
        """
        while (text_id := await self._lease(agent)) is None:
            await asyncio.sleep(_POLL_SECONDS)
        try:
            stored = await self._credentials(text_id)
            changed = dict(stored)
            yield changed
            if changed != stored:
                await self._keep(agent, changed)
        finally:
            await self._run(
                "UPDATE sources SET renewing_until = NULL WHERE (person, created_at) = (%s, %s)",
                [agent.person, agent.created_at],
            )

    async def _lease(self, agent: SourceRow) -> str | None:
        """Lease the credentials for renewal and return their id, or None if another caller has the lease.

        Raises `SourceUnknown` if this agent was replaced or removed.
        """
        leased: str | None = await self._value(
            """UPDATE sources SET renewing_until = now() + make_interval(secs => %s)
               WHERE (person, created_at) = (%s, %s) AND COALESCE(renewing_until <= now(), true)
               RETURNING credentials_text_id""",
            [RENEWAL_SECONDS, agent.person, agent.created_at],
        )
        if leased is None and (await self.get(agent.person)).created_at != agent.created_at:
            raise SourceUnknown(f"the agent of {agent.person} was replaced")
        return leased

    async def _keep(self, agent: SourceRow, credentials: dict[str, str]) -> None:
        async with transaction(self._pool) as connection:
            if await _forget(connection, agent.person, agent.created_at):
                kept = await put_text(connection, agent.person, "credentials", json.dumps(credentials))
                await connection.execute(
                    "UPDATE sources SET credentials_text_id = %s WHERE person = %s", [kept, agent.person]
                )

    async def get(self, person: str) -> SourceRow:
        """Return the agent of a person. Raises `SourceUnknown`."""
        async with session(self._pool) as connection:
            cursor = await connection.execute("SELECT * FROM sources WHERE person = %s", [person])
            rows = await cursor.fetchall()
            stored = [Stored(person, _CONFIG, row["config"], row["config_sealed"]) for row in rows]
            opened = await open_values(connection, stored)
        for row, config in zip(rows, opened, strict=True):
            known = {column: row[column] for column in SourceRow.model_fields}
            return SourceRow(**{**known, "config": config or {}})
        raise SourceUnknown(f"{person} has not registered an agent")

    async def credentials(self, row: SourceRow) -> dict[str, str]:
        """Return the credentials of an agent. Raises `TextErased`."""
        return await self._credentials(row.credentials_text_id)

    async def _credentials(self, text_id: str) -> dict[str, str]:
        async with session(self._pool) as connection:
            texts = await get_texts(connection, [text_id])
        read: dict[str, str] = json.loads(texts[text_id])
        return read

    async def remove(self, person: str) -> None:
        async with transaction(self._pool) as connection:
            await _forget(connection, person)
            await connection.execute("DELETE FROM sources WHERE person = %s", [person])

    async def due(
        self,
        limit: int = 20,
        *,
        lease: float = LEASE_SECONDS,
        of_one: int = 20,
        running: Mapping[str, int] | None = None,
    ) -> list[SourceTurn]:
        """Lease up to `limit` turns for which agents must be asked. Each person's first turn comes before any second
        turn.

        No other caller gets them for `lease` seconds. `of_one`: at most this many turns of one person, including turns
        that are being asked now (`running`, by person).
        """
        return await self._all(
            SourceTurn,
            f"""INSERT INTO source_turns AS old (process_id, alias, round, person, next_attempt_at)
                SELECT r.process_id, r.alias, r.round, r.person, now() + make_interval(secs => %(lease)s) FROM (
                    SELECT w.*, row_number() OVER (PARTITION BY w.person ORDER BY w.process_id, w.alias)
                        + COALESCE((%(running)s ->> w.person)::int, 0) AS place
                    FROM ({_WAITS}) w
                    WHERE NOT EXISTS (SELECT 1 FROM source_turns t
                        WHERE (t.process_id, t.alias, t.round) = (w.process_id, w.alias, w.round)
                          AND (t.state <> 'pending' OR t.next_attempt_at > now()))) AS r
                WHERE r.place <= %(of_one)s ORDER BY r.place LIMIT %(limit)s
                ON CONFLICT (process_id, alias, round) DO UPDATE SET
                    attempts = old.attempts + 1, next_attempt_at = excluded.next_attempt_at
                    WHERE old.state = 'pending' AND old.next_attempt_at <= now()
                RETURNING *""",
            {"lease": lease, "limit": limit, "of_one": of_one, "running": Jsonb(dict(running or {}))},
        )

    async def still_waits(self, turn: SourceTurn) -> bool:
        """Whether still nothing was said in this turn."""
        return bool(
            await self._value(
                f"{_WAITS} AND (i.process_id, i.alias, i.round) = (%s, %s, %s)",
                [turn.process_id, turn.alias, turn.round],
            )
        )

    async def ended(self, turn: SourceTurn, state: SourceState, why: str = "") -> None:
        await self._run(
            "UPDATE source_turns SET state = %s, why = %s WHERE (process_id, alias, round) = (%s, %s, %s)",
            [state, why, turn.process_id, turn.alias, turn.round],
        )

    async def postpone(self, turn: SourceTurn, seconds: float, why: str) -> None:
        """Ask the agent again after this many seconds, because it did not answer."""
        await self._run(
            """UPDATE source_turns SET next_attempt_at = now() + make_interval(secs => %s), why = %s
               WHERE (process_id, alias, round) = (%s, %s, %s) AND state = 'pending'""",
            [seconds, why, turn.process_id, turn.alias, turn.round],
        )

    async def turns(self, person: str) -> list[SourceTurn]:
        """The last turns for which this person's agent was asked, newest first."""
        return await self._all(
            SourceTurn,
            "SELECT * FROM source_turns WHERE person = %s ORDER BY next_attempt_at DESC LIMIT 20",
            [person],
        )


async def _forget(connection: Connection, person: str, of: datetime | None = None) -> bool:
    """Remove the stored credentials of a person's agent, because they or the agent are replaced or removed.

    `of`: only if the agent was registered at this time. Returns whether credentials were removed.
    """
    cursor = await connection.execute(
        """SELECT credentials_text_id AS id FROM sources
           WHERE person = %s AND COALESCE(created_at = %s, true) FOR UPDATE""",
        [person, of],
    )
    ids = [row["id"] for row in await cursor.fetchall()]
    await remove_texts(connection, ids)
    return bool(ids)
