"""Model calls that wait for an answer from outside: permitted readers, leases and answers (docs/models.md).

A call is offered as long as its process waits for it, that is, while the process's open ask `calls` contains it. It is
leased to one answerer at a time. After the end of the lease it is offered again. It is answered once.

The requests shown to an answerer are stored (`call_readers`), because they limit the further requests. Among
the steps that read a profile, an answerer sees only the steps for one person. An answerer who has seen a profile sees no request that
contains the words of all participants. A request is exempt, and open to everybody, if each profile behind it is a
sample, was given as a file on the machine, or has a mandate that names the answerer.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final, Literal, LiteralString

from psycopg.types.json import Jsonb

from tongyao.protocol.model.messages import CALLS_LANE, Author, CallAnswered
from tongyao.protocol.model.value import Value
from tongyao.records.database import (
    Connection,
    RecordsError,
    Repository,
    rows_of,
    transaction,
)
from tongyao.records.privacy.texts import get_texts, put_text, text_id
from tongyao.records.process.messages import StoredMessage, add_message

VIA: Final = "calls"


class CallUnknown(RecordsError):
    """There is no call with this id, or it was never shown to this answerer."""


class CallOver(RecordsError):
    """The call no longer waits: it was answered, or its process continued without it."""


class CallLeased(RecordsError):
    """Another answerer has leased the call."""


class CallFilter(Value):
    """A filter for calls. Empty fields restrict nothing."""

    call_id: str = ""
    process_id: str = ""
    step: str = ""
    alias: str = ""


class CallRow(Value):
    """A waiting call. `mine`: this answerer has leased it. `permitted`: whether they may see it."""

    call_id: str
    process_id: str
    step: str
    round: int
    alias: str
    reask: int
    share: str
    answerer: str
    leased_until: datetime | None
    mine: bool
    permitted: bool
    exempt: bool
    request_tokens: int
    since: datetime
    request_text_id: str


_EXEMPT: LiteralString = """NOT EXISTS (
    SELECT 1 FROM profiles f WHERE f.origin NOT IN ('sample', 'file')
        AND CASE WHEN m.share = 'table' THEN f.id IN (SELECT s.profile_id FROM seats s WHERE s.process_id = m.process_id)
                 ELSE 'person/' || f.id = m.share END
        AND NOT EXISTS (SELECT 1 FROM mandates d WHERE d.profile_id = f.id AND %(answerer)s = ANY(d.answerers)))"""

_PERMITTED: LiteralString = f"""({_EXEMPT} OR NOT EXISTS (SELECT 1 FROM call_readers r
    WHERE r.answerer = %(answerer)s AND NOT r.exempt AND r.share <> m.share))"""

_WAITING: LiteralString = f"""SELECT m.call_id, m.process_id, m.step, m.round, m.alias, m.reask, m.share,
        CASE WHEN m.leased_until > now() THEN m.answerer ELSE '' END AS answerer,
        CASE WHEN m.leased_until > now() THEN m.leased_until END AS leased_until,
        COALESCE(m.leased_until > now() AND m.answerer = %(answerer)s, false) AS mine,
        {_PERMITTED} AS permitted, {_EXEMPT} AS exempt, m.request_tokens, m.claimed_at AS since, m.request_text_id
    FROM model_calls m JOIN processes p ON p.id = m.process_id
    WHERE m.state = 'waiting' AND p.ended_at IS NULL
        AND EXISTS (SELECT 1 FROM inbox i WHERE i.process_id = m.process_id AND i.ask = 'calls' AND i.closed_at IS NULL
                        AND m.call_id = ANY(string_to_array(i.subject, ' ')))
        AND (%(call_id)s = '' OR m.call_id = %(call_id)s) AND (%(process_id)s = '' OR m.process_id = %(process_id)s)
        AND (%(step)s = '' OR m.step = %(step)s) AND (%(alias)s = '' OR m.alias = %(alias)s)"""


class WaitingCalls(Repository):
    """The waiting calls, for answerers."""

    async def waiting(self, answerer: str, which: CallFilter) -> list[CallRow]:
        """The waiting calls, oldest first, including calls that this answerer may not see."""
        values = {**which.model_dump(), "answerer": answerer}
        return await self._all(CallRow, f"{_WAITING} ORDER BY m.claimed_at, m.call_id", values)

    async def lease(self, answerer: str, which: CallFilter, *, seconds: float) -> tuple[CallRow, str] | None:
        """Lease a call for this many seconds and return it with its request: the answerer's current call, else the
        oldest free one.

        None if there is no call that they may see. Raises `TextErased`.
        """
        values: dict[str, Any] = {**which.model_dump(), "answerer": answerer, "seconds": seconds}
        async with transaction(self._pool) as connection:
            await _alone(connection, answerer)
            async with connection.cursor(row_factory=rows_of(CallRow)) as cursor:
                await cursor.execute(
                    f"""{_WAITING} AND {_PERMITTED} AND (m.leased_until IS NULL OR m.leased_until <= now() OR m.answerer = %(answerer)s)
                        ORDER BY (m.leased_until > now()) DESC NULLS LAST, m.claimed_at, m.call_id
                        LIMIT 1 FOR UPDATE OF m SKIP LOCKED""",
                    values,
                )
                found = await cursor.fetchone()
            if found is None:
                return None
            leasing = await connection.execute(
                """UPDATE model_calls SET answerer = %s, leased_until = now() + make_interval(secs => %s)
                   WHERE call_id = %s RETURNING leased_until""",
                [answerer, seconds, found.call_id],
            )
            row = await leasing.fetchone()
            assert row is not None
            await connection.execute(
                """INSERT INTO call_readers (call_id, answerer, share, exempt) VALUES (%s, %s, %s, %s)
                   ON CONFLICT DO NOTHING""",
                [found.call_id, answerer, found.share, found.exempt],
            )
            texts = await get_texts(connection, [found.request_text_id])
        leased = {"answerer": answerer, "leased_until": row["leased_until"], "mine": True}
        return found.model_copy(update=leased), texts[found.request_text_id]

    async def open_processes(self, process_id: str = "") -> int:
        """The number of open processes. With `process_id`: 1 if this process is open, else 0."""
        return int(
            await self._value(
                "SELECT count(*) AS count FROM processes WHERE ended_at IS NULL AND %(id)s IN ('', id)",
                {"id": process_id},
            )
        )

    async def step_of(self, answerer: str, call_id: str) -> str:
        """The step of a call that was shown to the answerer. Raises `CallUnknown`."""
        async with transaction(self._pool) as connection:
            return str((await _shown(connection, answerer, call_id))["step"])

    async def give_back(self, answerer: str, call_id: str) -> None:
        """End the answerer's lease, so that the call is offered again at once. Raises `CallUnknown`."""
        async with transaction(self._pool) as connection:
            await _shown(connection, answerer, call_id)
            await connection.execute(
                """UPDATE model_calls SET leased_until = NULL
                   WHERE call_id = %s AND answerer = %s AND state = 'waiting'""",
                [call_id, answerer],
            )

    async def answer(self, answerer: str, call_id: str, text: str) -> tuple[StoredMessage | None, bool]:
        """Store the answer of a call and the message that reports it to the process, in one transaction.

        Returns the message, and whether this answerer had sent the same answer before. Without a lease the answer is
        accepted if nobody else has leased the call. Raises `CallUnknown`, `CallOver`, `CallLeased`, `TextErased`.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        async with transaction(self._pool) as connection:
            row = await _shown(connection, answerer, call_id, lock=True)
            if row["state"] != "waiting" or row["ended"]:
                if row["reply_digest"] == digest and row["answerer"] == answerer:
                    return None, True
                raise CallOver(f"{call_id} no longer waits for an answer")
            if row["leased"] and row["answerer"] != answerer:
                raise CallLeased(f"{call_id} is leased to another answerer until {row['leased_until']:%H:%M:%S} UTC")
            stored = await put_text(connection, row["owner"], "answer", text, id=text_id("reply", call_id))
            await connection.execute(
                """UPDATE model_calls SET state = 'answered', reply_text_id = %s, reply_digest = %s, answerer = %s,
                       leased_until = NULL WHERE call_id = %s""",
                [stored, digest, answerer, call_id],
            )
            await connection.execute(
                """INSERT INTO manifests (process_id, part, body) VALUES (%(process)s, 'answerers', %(body)s)
                   ON CONFLICT (process_id, part) DO UPDATE SET body = jsonb_set(manifests.body, ARRAY[%(name)s],
                       COALESCE(manifests.body -> %(name)s, '{}') || jsonb_build_object(%(step)s::text, true))""",
                {
                    "process": row["process_id"],
                    "name": answerer,
                    "step": row["step"],
                    "body": Jsonb({answerer: {row["step"]: True}}),
                },
            )
            return await _tell(connection, row["process_id"], call_id, "answered"), False


async def ask_anew(connection: Connection, process_id: str) -> None:
    """Drop the waiting calls of a process because a text in it was erased. Its steps ask again without that text."""
    cursor = await connection.execute(
        """UPDATE model_calls SET state = 'orphaned', error_reason = 'erased', ended_at = now()
           WHERE process_id = %s AND state IN ('waiting', 'answered') RETURNING call_id""",
        [process_id],
    )
    for row in await cursor.fetchall():
        await _tell(connection, process_id, row["call_id"], "erased")


async def _tell(
    connection: Connection, process_id: str, call_id: str, why: Literal["answered", "erased"]
) -> StoredMessage:
    author = Author(role="answerer", alias=CALLS_LANE)
    message = CallAnswered(key=f"{why}/{call_id}", author=author, call=call_id)
    return await add_message(connection, process_id, message, author_id=CALLS_LANE, via=VIA)


async def _alone(connection: Connection, answerer: str) -> None:
    """Allow only one lease at a time per answerer, because earlier requests decide which requests they may see."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('answerer/' || %s, 0))", [answerer])


async def _shown(connection: Connection, answerer: str, call_id: str, *, lock: bool = False) -> dict[str, Any]:
    """The row of a call that was shown to the answerer. Raises `CallUnknown`."""
    locked: LiteralString = "FOR UPDATE OF m" if lock else ""
    cursor = await connection.execute(
        f"""SELECT m.process_id, m.step, m.state, m.answerer, m.leased_until, m.leased_until > now() AS leased,
                m.reply_digest, p.ended_at IS NOT NULL AS ended,
                (SELECT t.owner FROM texts t WHERE t.id = m.request_text_id) AS owner
            FROM model_calls m JOIN processes p ON p.id = m.process_id
            WHERE m.call_id = %(call)s AND EXISTS (SELECT 1 FROM call_readers r
                WHERE r.call_id = m.call_id AND r.answerer = %(answerer)s) {locked}""",
        {"call": call_id, "answerer": answerer},
    )
    row = await cursor.fetchone()
    if row is None:
        raise CallUnknown(f"no call {call_id!r} was shown to {answerer}")
    return dict(row)
