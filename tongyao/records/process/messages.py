"""The table `messages`: every message to a process is a row here before it is delivered (docs/protocol.md §8.2).

A message is `pending` until its verdict is stored. It is leased to one relay at a time; a lease that its relay does not
give back expires. The id of the row is also the id of the update, so the server applies a message once however often it is
delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from psycopg import errors
from psycopg.types.json import Jsonb

from tongyao.protocol.model.messages import MESSAGE, Author, Message
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.refusals import Verdict
from tongyao.records.database import Pool, RecordsError, reading, session, transaction
from tongyao.records.privacy.texts import TextConflict, put_text, text_id
from tongyao.records.process.processes import ProcessUnknown

LEASE_SECONDS = 30.0
"""How long a message is leased to the relay that took it. Longer than one delivery should take."""


class MessageUnknown(RecordsError):
    """No message has this id."""


class KeyReused(RecordsError):
    """The author used this key for another message of this process: nothing was stored."""


class MessageText(Value):
    """The text of a message, stored beside it: its owner, its kind in `texts`, and its body."""

    owner: str
    kind: str
    text: str


class StoredMessage(Value):
    """A row of `messages`. `payload`: the fields of its kind; it holds ids of texts, never texts. `via`: where it came in."""

    id: str
    process_id: str
    key: str
    kind: str
    author: Author
    author_id: str
    via: str
    payload: dict[str, Any]
    text_id: str | None
    state: Literal["pending", "decided"]
    verdict: Verdict | None
    attempts: int
    next_attempt_at: datetime
    created_at: datetime
    decided_at: datetime | None

    @property
    def message(self) -> Message:
        """The message as the process reads it."""
        return MESSAGE.validate_python({**self.payload, "kind": self.kind, "key": self.key, "author": self.author})


def message_text_id(process_id: str, author_id: str, key: str) -> str:
    """The id under which the text of a message is stored; a message refers to its own text by this id."""
    return text_id("words", process_id, author_id, key)


class Messages:
    """All messages to all processes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(
        self, process_id: str, message: Message, *, author_id: str, via: str, text: MessageText | None = None
    ) -> StoredMessage:
        """Store a message with its text (under `message_text_id`); the same key again finds the same message.

        Args:
            author_id: who sends, outside the process too (a person's id); keys are theirs.
            via: where it came in: `api`, `mcp`, `cli`, `mail`, …

        Returns:
            What is stored, with its verdict if there is one already.

        Raises:
            KeyReused: the key stands for another message, or for another text.
            ProcessUnknown: there is no such process.
            TextErased: the text was stored before and has been erased.
        """
        id = text_id("message", process_id, author_id, message.key)
        payload = message.model_dump(mode="json", exclude={"kind", "key", "author"})
        try:
            async with transaction(self._pool) as connection:
                message_text = None
                if text is not None:
                    message_text = message_text_id(process_id, author_id, message.key)
                    await put_text(connection, text.owner, text.kind, text.text, id=message_text)
                await connection.execute(
                    """INSERT INTO messages
                           (id, process_id, key, kind, author, author_id, via, payload, text_id)
                       VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
                       ON CONFLICT DO NOTHING""",  # of either key: at one moment the id may be the first to clash
                    [id, process_id, message.key, message.kind, Jsonb(message.author.model_dump(mode="json")),
                     author_id, via, Jsonb(payload), message_text],
                )  # fmt: skip
        except errors.ForeignKeyViolation:
            raise ProcessUnknown(f"there is no process {process_id!r} to send a message to") from None
        except TextConflict:
            raise _reused(message.key, process_id) from None
        stored = await self.get(id)
        if (stored.kind, stored.payload) != (message.kind, payload):
            raise _reused(message.key, process_id)
        return stored

    async def get(self, id: str) -> StoredMessage:
        """Raises `MessageUnknown`."""
        async with reading(self._pool, StoredMessage) as cursor:
            await cursor.execute("SELECT * FROM messages WHERE id = %s", [id])
            found = await cursor.fetchone()
        if found is None:
            raise MessageUnknown(f"there is no message {id}")
        return found

    async def pending(self, process_id: str) -> Sequence[StoredMessage]:
        """The pending messages of a process, oldest first, leased or not."""
        async with reading(self._pool, StoredMessage) as cursor:
            await cursor.execute(
                "SELECT * FROM messages WHERE process_id = %s AND state = 'pending' ORDER BY created_at, id",
                [process_id],
            )
            return await cursor.fetchall()

    async def due(self, limit: int = 20, *, lease: float = LEASE_SECONDS) -> Sequence[StoredMessage]:
        """Lease up to `limit` messages for `lease` seconds, oldest first.

        Two relays asking at once get different messages, and neither waits for the other. Of one author in one process
        only the earliest pending message is leased: a correction never overtakes what it corrects.
        """
        async with reading(self._pool, StoredMessage) as cursor:
            await cursor.execute(
                f"""UPDATE messages SET
                       attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => %s)
                   WHERE id IN (SELECT m.id FROM messages m WHERE state = 'pending' AND next_attempt_at <= now()
                                    AND NOT EXISTS (SELECT 1 FROM messages earlier WHERE {_EARLIER})
                                ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED)
                   RETURNING *""",
                [lease, limit],
            )
            return sorted(await cursor.fetchall(), key=lambda message: (message.created_at, message.id))

    async def is_behind(self, id: str) -> bool:
        """Whether an earlier message of the same author to the same process is still pending."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                f"SELECT 1 FROM messages m JOIN messages earlier ON {_EARLIER} WHERE m.id = %s LIMIT 1", [id]
            )
            return await cursor.fetchone() is not None

    async def postpone(self, id: str, seconds: float) -> None:
        """End the lease; the next delivery is tried in so many seconds."""
        async with session(self._pool) as connection:
            await connection.execute(
                """UPDATE messages SET next_attempt_at = now() + make_interval(secs => %s)
                   WHERE id = %s AND state = 'pending'""",
                [seconds, id],
            )

    async def verdict(self, id: str, verdict: Verdict) -> StoredMessage:
        """Store the verdict, unless there is one; return the message. Raises `MessageUnknown`."""
        async with session(self._pool) as connection:
            await connection.execute(
                """UPDATE messages SET state = 'decided', verdict = %s, decided_at = now()
                   WHERE id = %s AND state = 'pending'""",
                [Jsonb(verdict.model_dump(mode="json")), id],
            )
        return await self.get(id)


_EARLIER = """earlier.state = 'pending' AND (earlier.process_id, earlier.author_id) = (m.process_id, m.author_id)
    AND (earlier.created_at, earlier.id) < (m.created_at, m.id)"""


def _reused(key: str, process_id: str) -> KeyReused:
    return KeyReused(f"key {key!r} was used for another message to {process_id}: a new message needs a new key")
