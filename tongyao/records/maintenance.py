"""The last results of maintenance duties, noted backups, and the deletion of rows that are no longer needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, LiteralString

from psycopg.types.json import Jsonb

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, Repository, session

BATCH: Final = 1_000
"""The most rows that one statement deletes, so that no lock is held for long."""
MOST_BATCHES: Final = 200


class DutyFailed(Exception):
    """A duty found a problem that only an operator can repair. `code`: a closed word. The message states the remedy."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class DutyRow(Value):
    """The last result of a duty. Ages are in seconds, by the database's clock.

    `failures`: failures in a row; 0 if the last run succeeded.
    """

    duty: str
    succeeded_at: datetime | None
    failed_at: datetime | None
    failures: int
    error: str
    counts: dict[str, int]
    success_age: float | None


class Backup(Value):
    """A backup that an operator noted. `age`: in seconds, by the database's clock."""

    at: datetime
    files: int
    bytes: int
    age: float


class DutyLog(Repository):
    async def succeeded(self, duty: str, counts: Mapping[str, int]) -> None:
        await self._run(
            """INSERT INTO duties (duty, succeeded_at, counts) VALUES (%s, now(), %s)
               ON CONFLICT (duty) DO UPDATE SET succeeded_at = now(), failures = 0, counts = excluded.counts""",
            [str(duty), Jsonb(dict(counts))],
        )

    async def failed(self, duty: str, error: str) -> None:
        """Note a failure. `error`: a closed word or the type of an error. Its message is not stored, because it may quote a person."""
        await self._run(
            """INSERT INTO duties (duty, failed_at, failures, error) VALUES (%s, now(), 1, %s)
               ON CONFLICT (duty) DO UPDATE
               SET failed_at = now(), failures = duties.failures + 1, error = excluded.error""",
            [str(duty), error],
        )

    async def rows(self) -> list[DutyRow]:
        return await self._all(
            DutyRow,
            """SELECT duty, succeeded_at, failed_at, failures, error, counts,
                      extract(epoch FROM now() - succeeded_at)::float AS success_age FROM duties ORDER BY duty""",
        )

    async def forget(self, duties: Sequence[str]) -> None:
        """Delete the rows of duties that were turned off, because no further run of them is expected."""
        await self._run("DELETE FROM duties WHERE duty = ANY(%s)", [[str(one) for one in duties]])


class Backups(Repository):
    async def note(self, *, files: int, size: int, login: str) -> None:
        await self._run("INSERT INTO backups (files, bytes, login) VALUES (%s, %s, %s)", [files, size, login])

    async def last(self) -> Backup | None:
        """The backup that was noted last."""
        return await self._one(
            Backup,
            """SELECT at, files, bytes, extract(epoch FROM now() - at)::float AS age
               FROM backups ORDER BY at DESC, id DESC LIMIT 1""",
        )


_OLD: Final[Mapping[str, LiteralString]] = {
    "notifications": """DELETE FROM notifications WHERE id IN (
        SELECT id FROM notifications WHERE state <> 'pending' AND ended_at < now() - %(keep)s LIMIT %(batch)s)""",
    "sessions": """DELETE FROM tokens WHERE id IN (
        SELECT id FROM tokens WHERE kind IN ('session', 'link')
          AND LEAST(expires_at, revoked_at) < now() - %(keep)s LIMIT %(batch)s)""",
    # Tokens of registrations are kept: if they were forgotten, a repeated registration would issue another token.
    "tokens": """DELETE FROM tokens WHERE id IN (
        SELECT id FROM tokens WHERE kind = 'bearer' AND label <> 'owner'
          AND LEAST(expires_at, revoked_at) < now() - %(keep)s LIMIT %(batch)s)""",
    "drafts": """DELETE FROM drafts d USING (
        SELECT d.owner, d.ask FROM drafts d JOIN inbox i ON i.id = d.ask
        WHERE i.closed_at < now() - %(keep)s AND d.updated_at < now() - %(keep)s LIMIT %(batch)s) AS old
        WHERE d.owner = old.owner AND d.ask = old.ask""",
}
"""The statements that delete old rows, by the name under which deletions are counted. Processes, their texts and the
operators' log are kept.
"""


async def delete_old_rows(pool: Pool, keep: timedelta) -> dict[str, int]:
    """Delete rows that ended more than `keep` ago, at most `MOST_BATCHES` batches per kind. Returns counts by kind."""
    deleted = dict.fromkeys(_OLD, 0)
    for name, statement in _OLD.items():
        for _ in range(MOST_BATCHES):
            async with session(pool) as connection:
                count = (await connection.execute(statement, {"keep": keep, "batch": BATCH})).rowcount
            deleted[name] += count
            if count < BATCH:
                break
    return deleted
