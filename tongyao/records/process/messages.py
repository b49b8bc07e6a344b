"""The table `messages`: every message to a process is stored as a row before it is delivered (docs/protocol.md §8.2).

A message has a number within its lane, assigned under a row lock. It is `pending` until its verdict is stored. It is
leased to one relay at a time, and only one message of a lane is leased at a time. A lease that is not given back
expires. The workflow keeps the number of the last applied message of each lane. So a message is applied once, even if it
is delivered several times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from psycopg import errors
from psycopg.types.json import Jsonb

from tongyao.protocol.model.messages import (
    CONTROL_KINDS,
    MAX_MESSAGES,
    MESSAGE,
    UNBOUNDED_ROLES,
    Author,
    Message,
    lane_of,
)
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.refusals import MessageVerdict
from tongyao.records.database import Connection, RecordsError, Repository, reading, rows_of, transaction
from tongyao.records.privacy.texts import TextConflict, put_text, text_id
from tongyao.records.process.process_rows import ProcessUnknown

LEASE_SECONDS: Final = 30.0
"""The time for which a message is leased to a relay. It is longer than one delivery should take."""

BY_AGENT: Final = frozenset({"mcp", "source"})
"""Origins of messages that a person's own agent sends. They have a lane of their own."""


class MessageUnknown(RecordsError):
    """No message has this id."""


class KeyReused(RecordsError):
    """The author used this key for another message of this process: nothing was stored."""


class TooManyMessages(RecordsError):
    """The lane already contains the most messages that a process accepts. Nothing was stored."""


class MessageText(Value):
    """The text of a message, which is stored separately: its owner, its kind in `texts`, and its body."""

    owner: str
    kind: str
    text: str


class StoredMessage(Value):
    """A row of `messages`.

    `payload`: the fields of the message's kind; it contains ids of texts, never texts. `via`: the origin of the
    message. `failures`: replies of its process that were no verdict. `trouble`: the reason why the last try gave no
    verdict, a closed word. `login`: the operator's login, which is never sent along. `sent_again`: how often the
    message was marked for delivery again after a reset of its workflow.
    """

    id: str
    process_id: str
    lane: str
    number: int
    key: str
    kind: str
    author: Author
    author_id: str
    login: str
    via: str
    payload: dict[str, Any]
    text_id: str | None
    state: Literal["pending", "decided"]
    verdict: MessageVerdict | None
    attempts: int
    next_attempt_at: datetime
    leased_until: datetime | None
    failures: int
    trouble: str
    set_aside_at: datetime | None
    sent_again: int
    created_at: datetime
    decided_at: datetime | None

    @property
    def decided_before(self) -> bool:
        """Whether the message had a verdict before its workflow was reset."""
        return self.state == "pending" and self.decided_at is not None

    @property
    def message(self) -> Message:
        """The message as the process reads it, with its lane and number."""
        envelope = {name: getattr(self, name) for name in _ENVELOPE}
        return MESSAGE.validate_python({**self.payload, **envelope, "kind": self.kind})


def message_text_id(process_id: str, author_id: str, key: str) -> str:
    """The id under which the text of a message is stored. The message refers to its text by this id."""
    return text_id("words", process_id, author_id, key)


class Messages(Repository):
    """All messages to all processes."""

    async def put(
        self,
        process_id: str,
        message: Message,
        *,
        author_id: str,
        via: str,
        login: str = "",
        text: MessageText | None = None,
    ) -> StoredMessage:
        """Store a message with its text (under `message_text_id`). A repetition with the same key returns the stored
        message.

        `author_id`: the sender's id across processes (a person's id), and the scope of the keys. `via`: the origin of
        the message: `api`, `mcp`, `cli`, `mail`, … `login`: the operator who sends it.

        Raises `KeyReused` if the key belongs to another message or text, `ProcessUnknown`, `TooManyMessages` if the
        lane is full (operators, children and `CONTROL_KINDS` are exempt), and `TextErased` if the text was stored
        before and erased.
        """
        try:
            async with transaction(self._pool) as connection:
                message_text = None
                if text is not None:
                    message_text = message_text_id(process_id, author_id, message.key)
                    await put_text(connection, text.owner, text.kind, text.text, id=message_text)
                return await add_message(
                    connection,
                    process_id,
                    message,
                    author_id=author_id,
                    via=via,
                    login=login,
                    message_text=message_text,
                )
        except errors.ForeignKeyViolation:
            raise ProcessUnknown(f"there is no process {process_id!r} to send a message to") from None
        except TextConflict:
            raise _reused(message.key, process_id) from None

    async def get(self, id: str) -> StoredMessage:
        """Return one message. Raises `MessageUnknown`."""
        found = await self._one(StoredMessage, "SELECT * FROM messages WHERE id = %s", [id])
        if found is None:
            raise MessageUnknown(f"there is no message {id}")
        return found

    async def said_last(self, process_id: str, lane: str, round_number: int) -> StoredMessage | None:
        """The last message in this lane for a round that was not refused, or None.

        Words that arrived late count in the round of their verdict.
        """
        return await self._one(
            StoredMessage,
            """SELECT * FROM messages
               WHERE process_id = %s AND lane = %s AND kind = 'submit_projection'
                 AND COALESCE(NULLIF((verdict ->> 'round')::int, 0), (payload ->> 'round')::int) = %s
                 AND COALESCE((verdict ->> 'accepted')::boolean, true)
               ORDER BY number DESC LIMIT 1""",
            [process_id, lane, round_number],
        )

    async def refused_residuals(self, process_id: str) -> frozenset[str]:
        """Residuals for which the demander decided that no process is started."""
        return frozenset(
            await self._column(
                """SELECT payload ->> 'residual' AS residual FROM messages WHERE process_id = %s AND kind = 'approve_residual'
                 AND payload ->> 'approve' = 'false' AND (verdict ->> 'accepted')::boolean""",
                [process_id],
            )
        )

    async def undelivered(self, process_id: str, lanes: Sequence[str]) -> bool:
        """Whether a message in one of these lanes has no verdict yet and was not set aside."""
        return bool(
            await self._value(
                """SELECT 1 FROM messages WHERE process_id = %s AND lane = ANY(%s)
                   AND state = 'pending' AND set_aside_at IS NULL LIMIT 1""",
                [process_id, list(lanes)],
            )
        )

    async def due(self, limit: int = 20, *, lease: float = LEASE_SECONDS) -> Sequence[StoredMessage]:
        """Lease up to `limit` messages for `lease` seconds, oldest first.

        Two relays that ask at the same time get different messages, and neither waits for the other. Of each lane only
        the earliest message that was not set aside is leased. A message that was set aside is leased if no other of its
        lane waits.
        """
        async with reading(self._pool, StoredMessage) as cursor:
            await cursor.execute("UPDATE messages SET leased_until = NULL WHERE leased_until < now()")
            try:
                await cursor.execute(
                    f"""UPDATE messages SET
                           attempts = attempts + 1, leased_until = now() + make_interval(secs => %s)
                       WHERE id IN (SELECT m.id FROM messages m WHERE m.state = 'pending'
                                        AND m.next_attempt_at <= now() AND m.leased_until IS NULL AND {_FREE}
                                    ORDER BY m.created_at LIMIT %s FOR UPDATE SKIP LOCKED)
                       RETURNING *""",
                    [lease, limit],
                )
            except errors.UniqueViolation:  # another relay has just leased a message of the same lane
                return []
            return sorted(await cursor.fetchall(), key=lambda message: (message.created_at, message.id))

    async def next_due(self) -> float | None:
        """Seconds until the next message may become due: by its next try, or by the end of its lease. None if there is none."""
        seconds: float | None = await self._value("""SELECT extract(epoch FROM min(at) - now())::float AS seconds
               FROM (SELECT greatest(next_attempt_at, leased_until) AS at FROM messages WHERE state = 'pending') AS m
               WHERE at > now()""")
        return seconds

    async def take(self, id: str, *, lease: float = LEASE_SECONDS) -> StoredMessage | None:
        """Lease one message. None if it has a verdict, or if another message of its lane is leased or comes first."""
        async with reading(self._pool, StoredMessage) as cursor:
            try:
                await cursor.execute(
                    f"""UPDATE messages m SET
                           attempts = attempts + 1, leased_until = now() + make_interval(secs => %s)
                       WHERE id = %s AND m.state = 'pending' AND m.leased_until IS NULL AND {_FREE} RETURNING *""",
                    [lease, id],
                )
            except errors.UniqueViolation:
                return None
            return await cursor.fetchone()

    async def postpone(
        self, id: str, seconds: float, *, trouble: str, failed: bool = False, set_aside: bool = False
    ) -> None:
        """End the lease. The next delivery is tried after this many seconds.

        `failed`: the process replied, and the reply was no verdict. `set_aside`: later messages of the lane may be
        delivered first.
        """
        await self._run(
            """UPDATE messages SET next_attempt_at = now() + make_interval(secs => %(seconds)s), leased_until = NULL,
                   trouble = %(trouble)s, failures = failures + %(failed)s::int,
                   set_aside_at = CASE WHEN %(set_aside)s THEN COALESCE(set_aside_at, now()) ELSE set_aside_at END
               WHERE id = %(id)s AND state = 'pending'""",
            {"id": id, "seconds": seconds, "trouble": trouble, "failed": failed, "set_aside": set_aside},
        )

    async def set_aside_before(self, message: StoredMessage) -> Sequence[StoredMessage]:
        """Earlier messages of its lane that were set aside and have no verdict."""
        return await self._all(
            StoredMessage,
            """SELECT * FROM messages WHERE process_id = %s AND lane = %s AND number < %s
                   AND state = 'pending' AND set_aside_at IS NOT NULL ORDER BY number""",
            [message.process_id, message.lane, message.number],
        )

    async def verdict(self, message: StoredMessage, verdict: MessageVerdict) -> StoredMessage:
        """Store the verdict, and return the message as stored. Raises `MessageUnknown`.

        The verdict is not stored if there is one, or if the message was marked for delivery again since it was read.
        """
        decided = await self._one(
            StoredMessage,
            """UPDATE messages SET state = 'decided', verdict = %s, decided_at = now(), leased_until = NULL
               WHERE id = %s AND state = 'pending' AND sent_again = %s RETURNING *""",
            [Jsonb(verdict.model_dump(mode="json")), message.id, message.sent_again],
        )
        return decided or await self.get(message.id)


async def add_message(
    connection: Connection,
    process_id: str,
    message: Message,
    *,
    author_id: str,
    via: str,
    login: str = "",
    message_text: str | None = None,
) -> StoredMessage:
    """Number a message within its lane and store it, in the caller's transaction. A repetition with the same key
    returns the stored message.

    Raises the same errors as `Messages.put`, and `ForeignKeyViolation` for an unknown process.
    """
    lane = lane_of(message.author, message.kind, "agent" if via in BY_AGENT else "")
    payload = message.model_dump(mode="json", exclude={"kind", *_ENVELOPE})
    exempt = message.author.role in UNBOUNDED_ROLES or message.kind in CONTROL_KINDS
    async with connection.cursor(row_factory=rows_of(StoredMessage)) as cursor:
        await cursor.execute(
            """WITH numbered AS (
                   INSERT INTO lanes AS l (process_id, lane, last) VALUES (%(process)s, %(lane)s, 1)
                   ON CONFLICT (process_id, lane) DO UPDATE SET last = l.last + 1
                       WHERE (%(most)s::int IS NULL OR l.last < %(most)s) AND NOT EXISTS (SELECT 1 FROM messages m
                           WHERE (m.process_id, m.author_id, m.key) = (%(process)s, %(author_id)s, %(key)s))
                   RETURNING last)
               INSERT INTO messages
                   (id, process_id, lane, number, key, kind, author, author_id, login, via, payload, text_id)
               SELECT %(id)s, %(process)s, %(lane)s, last, %(key)s, %(kind)s, %(author)s, %(author_id)s, %(login)s,
                      %(via)s, %(payload)s, %(text)s FROM numbered
               ON CONFLICT DO NOTHING RETURNING *""",  # no target: with two writers at once, the id may clash before the key
            {
                "id": text_id("message", process_id, author_id, message.key),
                "process": process_id,
                "lane": lane,
                "most": None if exempt else MAX_MESSAGES,
                "key": message.key,
                "kind": message.kind,
                "author": Jsonb(message.author.model_dump(mode="json")),
                "author_id": author_id,
                "login": login,
                "via": via,
                "payload": Jsonb(payload),
                "text": message_text,
            },
        )
        stored = await cursor.fetchone()
        if stored is None:
            await cursor.execute(
                "SELECT * FROM messages WHERE (process_id, author_id, key) = (%s, %s, %s)",
                [process_id, author_id, message.key],
            )
            stored = await cursor.fetchone()
    if stored is None:
        raise TooManyMessages(
            f"{process_id} accepts at most {MAX_MESSAGES:,} messages in lane {lane} and already has them: this one was not stored"
        )
    if stored.kind != message.kind or {**stored.payload, "ask": ""} != {**payload, "ask": ""}:
        raise _reused(message.key, process_id)
    return stored


async def send_again(connection: Connection, process_id: str, lanes: Mapping[str, int]) -> int:
    """Mark messages for delivery again, after the workflow went back to the state `lanes` (lane → number of its last
    applied message).

    Accepted messages after that state are delivered again, in order, and so are messages about ends of children,
    accepted or not. Returns their number. New messages get numbers above those that the workflow has applied. Messages
    without a verdict are also counted as sent again, because Temporal may have refused their updates during the reset.
    """
    await connection.execute(
        """INSERT INTO lanes AS l (process_id, lane, last)
           SELECT %s, * FROM unnest(%s::text[], %s::int[])
           ON CONFLICT (process_id, lane) DO UPDATE SET last = greatest(l.last, excluded.last)""",
        [process_id, list(lanes), list(lanes.values())],
    )
    cursor = await connection.execute(
        """UPDATE messages m SET state = 'pending', verdict = NULL, next_attempt_at = now(),
               attempts = 0, failures = 0, trouble = '', set_aside_at = NULL
           WHERE process_id = %s AND state = 'decided' AND ((verdict ->> 'accepted')::boolean OR kind = 'child_ended')
               AND number > COALESCE((%s::jsonb ->> lane)::int, 0)""",
        [process_id, Jsonb(dict(lanes))],
    )
    await connection.execute(
        "UPDATE messages SET sent_again = sent_again + 1 WHERE process_id = %s AND state = 'pending'", [process_id]
    )
    return cursor.rowcount


_ENVELOPE: Final = ("key", "author", "lane", "number")
"""Fields that every message has. They are stored in columns of their own."""

_FREE = """NOT EXISTS (SELECT 1 FROM messages o
    WHERE (o.process_id, o.lane) = (m.process_id, m.lane) AND o.id <> m.id AND o.state = 'pending'
      AND (o.leased_until IS NOT NULL
        OR (o.set_aside_at IS NULL AND (o.number < m.number OR m.set_aside_at IS NOT NULL))
        OR (m.set_aside_at IS NOT NULL AND o.number < m.number AND o.next_attempt_at <= now())))"""
"""No other message of the lane is leased or comes first. Messages that were set aside come after all others."""


def _reused(key: str, process_id: str) -> KeyReused:
    return KeyReused(f"key {key!r} was already used for another message to {process_id}: a new message needs a new key")
