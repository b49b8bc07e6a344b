"""Notifications to people, by channel. Each person is notified of an event once per channel, even if it is processed
again.

Notifications are made from the inbox and the events in the records, so that no workflow waits for a mail server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, RecordsError, Repository, session, transaction
from tongyao.records.privacy.sealed_values import Stored, open_values, seal_value
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.events import EventCursor, RecordedEvent

ChannelKind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
OPERATORS: Final = "operators"
"""The recipient for all operators of the installation. They are notified by the log."""

ATTEMPTS: Final = 8
LEASE_SECONDS: Final = 60.0

MOVED_SECONDS: Final = 3600
"""If a date moves by more than this, a new notification is made."""


class WrongCode(RecordsError):
    """The code confirms no address."""


class Channel(Value):
    """An address to which one person's notifications go. `secret`: signs the content that a webhook receives.

    `set_with`: the id of the token that set the address, if that token expires. Personal links sent to the address
    expire with the token.
    """

    person: str
    kind: ChannelKind
    address: str
    secret: str = ""
    set_with: str = ""
    confirmed: bool = False


class Notice(Value):
    """A notice for one person. `source` identifies the event: a person gets one notice per source."""

    source: str
    person: str
    process_id: str = ""
    about: dict[str, Any]


class Notification(Value):
    """One notice that is sent through one channel."""

    id: str
    source: str
    person: str
    channel: str
    process_id: str | None
    about: dict[str, Any]
    state: str
    attempts: int
    next_attempt_at: datetime
    created_at: datetime
    ended_at: datetime | None


class Notifications(Repository):
    """Channels, and the notifications that are sent through them."""

    async def set_channel(self, channel: Channel, *, code: str = "") -> None:
        """Send this person's notifications to this address from now on. With a `code`, only after `confirm`.

        Raises `TextErased` if the person was erased.
        """
        where = {"address": channel.address, "secret": channel.secret, "set_with": channel.set_with}
        async with transaction(self._pool) as connection:
            stored = await seal_value(connection, channel.person, _place(channel.kind), where)
            await connection.execute(
                """INSERT INTO channels (person, kind, body, sealed, code_sha256, confirmed)
                   VALUES (%s, %s, %s, %s, %s, %s)
                   ON CONFLICT (person, kind) DO UPDATE SET body = excluded.body, sealed = excluded.sealed,
                       code_sha256 = excluded.code_sha256, confirmed = excluded.confirmed""",
                [channel.person, channel.kind, stored.body, stored.sealed,
                 _hash(code) if code else "", channel.confirmed and not code],
            )  # fmt: skip

    async def confirm(self, person: str, kind: ChannelKind, code: str) -> None:
        """Confirm that the address belongs to the person, because they could read the code sent to it. Raises `WrongCode`."""
        confirmed = await self._run(
            """UPDATE channels SET confirmed = true, code_sha256 = ''
               WHERE person = %s AND kind = %s AND code_sha256 <> '' AND code_sha256 = %s""",
            [person, kind, _hash(code)],
        )
        if not confirmed:
            raise WrongCode("this code confirms no address: set the address again to get a new code")

    async def remove_channel(self, person: str, kind: ChannelKind) -> None:
        await self._run("DELETE FROM channels WHERE person = %s AND kind = %s", [person, kind])

    async def channels(self, person: str) -> list[Channel]:
        """The channels of a person, by kind."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT kind, body, sealed, confirmed FROM channels WHERE person = %s ORDER BY kind", [person]
            )
            rows = await cursor.fetchall()
            stored = [Stored(person, _place(row["kind"]), row["body"], row["sealed"]) for row in rows]
            opened = await open_values(connection, stored)
        return [
            Channel(person=person, kind=row["kind"], confirmed=row["confirmed"], **where)
            for row, where in zip(rows, opened, strict=True)
            if where is not None
        ]

    async def from_inbox(self, limit: int = 200) -> int:
        """Make notifications of open asks that are new or whose date has moved. Returns the number of notifications."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                """WITH new AS (
                       SELECT i.id, i.opened_at IS NOT DISTINCT FROM i.told_opened_at AS again
                       FROM inbox i WHERE i.closed_at IS NULL AND (i.person IS NOT NULL OR i.alias = '')
                         AND (i.told_opened_at IS DISTINCT FROM i.opened_at OR (i.due_at IS NOT NULL AND (
                             i.told_due_at IS NULL OR i.due_at NOT BETWEEN i.told_due_at - make_interval(secs => %(moved)s)
                                                                       AND i.told_due_at + make_interval(secs => %(moved)s))))
                       ORDER BY i.opened_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
                   UPDATE inbox i SET told_opened_at = i.opened_at, told_due_at = i.due_at FROM new WHERE i.id = new.id
                   RETURNING i.id || '@' || extract(epoch FROM i.opened_at)
                           || CASE WHEN new.again THEN '/' || extract(epoch FROM i.due_at) ELSE '' END AS source,
                       i.process_id, substr(i.id, length(i.process_id) + 2) AS ask_id, i.ask, i.alias, i.round, i.due_at, COALESCE(i.person, %(operators)s) AS person""",
                {"limit": limit, "operators": OPERATORS, "moved": MOVED_SECONDS},
            )
            made = 0
            for row in await cursor.fetchall():
                due = row["due_at"].isoformat() if row["due_at"] else None
                about = {
                    "what": row["ask"],
                    "ask": row["ask_id"],
                    "alias": row["alias"],
                    "round": row["round"],
                    "due": due,
                }
                notice = Notice(
                    source=f"inbox/{row['source']}", person=row["person"], process_id=row["process_id"], about=about
                )
                made += await _put(connection, notice)
        return made

    async def tell(self, notice: Notice) -> int:
        """Store one notice. Returns the number of new notifications."""
        async with transaction(self._pool) as connection:
            return await _put(connection, notice)

    async def behind(self, limit: int = 100, *, within: timedelta) -> list[tuple[str, EventCursor]]:
        """Processes with events that were not yet processed for notifications, each with its last processed event.

        Processes whose rows were not written within the time `within` are skipped: their events cause no notifications.
        """
        return [
            (row["process_id"], EventCursor(epoch=row["epoch"], seq=row["seq"]))
            for row in await self._rows(
                """SELECT p.id AS process_id, COALESCE(n.epoch, 0) AS epoch, COALESCE(n.seq, 0) AS seq
               FROM processes p LEFT JOIN notified n ON n.process_id = p.id
               WHERE p.updated_at > now() - %s AND (p.seq > COALESCE(n.seq, 0) OR EXISTS (SELECT 1 FROM epochs e
                   WHERE e.process_id = p.id AND e.epoch > n.epoch AND e.first_seq <= n.seq))
               ORDER BY p.updated_at DESC LIMIT %s""",
                [within, limit],
            )
        ]

    async def from_events(self, process_id: str, events: Sequence[RecordedEvent], notices: Sequence[Notice]) -> int:
        """Store these notices and move the cursor behind `events`, in one transaction. Returns the number of new notifications."""
        if not events:
            return 0
        async with transaction(self._pool) as connection:
            made = 0
            for notice in notices:
                made += await _put(connection, notice)
            await connection.execute(
                """INSERT INTO notified AS old (process_id, epoch, seq) VALUES (%s, %s, %s)
                   ON CONFLICT (process_id) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq
                   WHERE (old.epoch, old.seq) < (excluded.epoch, excluded.seq)""",
                [process_id, events[-1].epoch, events[-1].seq],
            )
        return made

    async def due(
        self,
        limit: int = 20,
        *,
        lease: float = LEASE_SECONDS,
        of_one: int = 20,
        running: Mapping[str, int] | None = None,
    ) -> list[Notification]:
        """Lease up to `limit` notifications for sending, oldest first. Each person's first one comes before any second
        one.

        No other caller gets them for `lease` seconds. `of_one`: at most this many of one person, including
        notifications being sent now (`running`, by person).
        """
        return sorted(
            await self._all(
                Notification,
                """WITH ranked AS (
                   SELECT id, row_number() OVER (PARTITION BY person ORDER BY created_at, id)
                       + COALESCE((%(running)s ->> person)::int, 0) AS place
                   FROM notifications WHERE state = 'pending' AND next_attempt_at <= now()),
               chosen AS (
                   SELECT n.id FROM notifications n JOIN ranked r ON r.id = n.id
                   WHERE r.place <= %(of_one)s AND n.state = 'pending' AND n.next_attempt_at <= now()
                   ORDER BY r.place, n.created_at LIMIT %(limit)s FOR UPDATE OF n SKIP LOCKED)
               UPDATE notifications SET
                   attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => %(lease)s)
               WHERE id IN (SELECT id FROM chosen)
               RETURNING *""",
                {"lease": lease, "limit": limit, "of_one": of_one, "running": Jsonb(dict(running or {}))},
            ),
            key=lambda one: (one.created_at, one.id),
        )

    async def ended(self, id: str, state: Literal["sent", "failed", "dropped"]) -> None:
        await self._run(
            "UPDATE notifications SET state = %s, ended_at = now() WHERE id = %s AND state = 'pending'", [state, id]
        )

    async def postpone(self, id: str, seconds: float) -> None:
        """Try a notification again after this many seconds, because it could not be sent."""
        await self._run(
            """UPDATE notifications SET next_attempt_at = now() + make_interval(secs => %s)
               WHERE id = %s AND state = 'pending'""",
            [seconds, id],
        )


async def _put(connection: Connection, notice: Notice) -> int:
    """Store one row per confirmed channel of the person. If the person has no channel, the notice goes to the log alone."""
    cursor = await connection.execute(
        "SELECT kind FROM channels WHERE person = %s AND confirmed ORDER BY kind", [notice.person]
    )
    channels = [row["kind"] for row in await cursor.fetchall()] or ["log"]
    made = 0
    for channel in channels:
        new = await connection.execute(
            """INSERT INTO notifications (id, source, person, channel, process_id, about)
               VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING""",
            [text_id("notification", notice.source, notice.person, channel), notice.source, notice.person,
             channel, notice.process_id or None, Jsonb(notice.about)],
        )  # fmt: skip
        made += new.rowcount
    return made


def _place(kind: ChannelKind) -> str:
    return f"channel/{kind}"


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
