"""The durable door: whatever comes in is a row here before it is delivered (docs/protocol.md §8).

A message waits as `pending` until its verdict is stored. It is leased to one deliverer at a time; who dies
with a lease leaves it to the next. Its id is also the id of the update that carries it, so delivering twice
is delivering once.
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
"""How long a message belongs to who took it for delivery. Longer than one delivery should take."""


class MessageUnknown(RecordsError):
    """No message has this id."""


class KeyReused(RecordsError):
    """The author used this key for another message of this process: nothing was stored."""


class Words(Value):
    """A text that comes with a message: whose it is, what kind of text, and what it says."""

    owner: str
    kind: str
    text: str


class StoredMessage(Value):
    """A message as it stands in the door. `payload` is what its kind adds; it holds ids, never words."""

    id: str
    process_id: str
    key: str
    kind: str
    author: Author
    author_id: str
    door: str
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


def words_id(process_id: str, author_id: str, key: str) -> str:
    """The id that the words of a message will have: a message that refers to its own words names this one."""
    return text_id("words", process_id, author_id, key)


class Messages:
    """All messages to all processes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(
        self, process_id: str, message: Message, *, author_id: str, door: str, words: Words | None = None
    ) -> StoredMessage:
        """Store a message, with its words (under `words_id`); the same key again finds the same message.

        Args:
            author_id: who sends, outside the process too (a person's id); keys are theirs.
            door: where it came in: `api`, `mcp`, `cli`, `mail`, …

        Returns:
            What is stored, with its verdict if there is one already.

        Raises:
            KeyReused: the key stands for another message, or for other words.
            ProcessUnknown: there is no such process.
            TextErased: the words were stored once, and erased since.
        """
        id = text_id("message", process_id, author_id, message.key)
        payload = message.model_dump(mode="json", exclude={"kind", "key", "author"})
        try:
            async with transaction(self._pool) as connection:
                said = None
                if words is not None:
                    said = words_id(process_id, author_id, message.key)
                    await put_text(connection, words.owner, words.kind, words.text, id=said)
                await connection.execute(
                    """INSERT INTO messages
                           (id, process_id, key, kind, author, author_id, door, payload, text_id)
                       VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
                       ON CONFLICT DO NOTHING""",  # of either key: at one moment the id may be the first to clash
                    [id, process_id, message.key, message.kind, Jsonb(message.author.model_dump(mode="json")),
                     author_id, door, Jsonb(payload), said],
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
        """What still waits for its verdict in a process, oldest first, leased or not."""
        async with reading(self._pool, StoredMessage) as cursor:
            await cursor.execute(
                "SELECT * FROM messages WHERE process_id = %s AND state = 'pending' ORDER BY created_at, id",
                [process_id],
            )
            return await cursor.fetchall()

    async def due(self, limit: int = 20, *, lease: float = LEASE_SECONDS) -> Sequence[StoredMessage]:
        """Take up to `limit` messages for delivery, oldest first; nobody else gets them for `lease` seconds.

        Two deliverers asking at once get different ones, and neither waits for the other. Of one author in one process
        only the first that waits: a correction never overtakes what it corrects.
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
        """Whether an earlier message of the same author to the same process still waits for its verdict."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                f"SELECT 1 FROM messages m JOIN messages earlier ON {_EARLIER} WHERE m.id = %s LIMIT 1", [id]
            )
            return await cursor.fetchone() is not None

    async def postpone(self, id: str, seconds: float) -> None:
        """Give a lease back: the next delivery is tried in so many seconds."""
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
