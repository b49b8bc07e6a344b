"""Erasing a person from the records (docs/erasure.md): first what others made of their words, then their data key.

`begin` takes them out at once: nothing of theirs is read, asked for, told or found any more, nor what others read of their words. `rewrite` goes through what
quotes them (`records/privacy/rewriting.py`), `finish` destroys their key and leaves a tombstone. What was begun and not finished
is found by `unfinished`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from weakref import WeakValueDictionary

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.database import (
    Connection,
    Pool,
    RecordsError,
    fetch_one,
    reading,
    session,
    transaction,
    wait_for_others,
)
from tongyao.records.privacy.rewriting import remove_shared, rewrite_without

_KNOWN: Final = """SELECT 1 WHERE EXISTS (SELECT 1 FROM profiles WHERE id = %(who)s)
    OR EXISTS (SELECT 1 FROM data_keys WHERE owner = %(who)s)
    OR EXISTS (SELECT 1 FROM processes WHERE demander = %(who)s)
    OR EXISTS (SELECT 1 FROM tombstones WHERE owner = %(who)s)"""


_REWRITING: Final = WeakValueDictionary[int, asyncio.Lock]()
"""By pool. Rewriting takes seconds, a connection, and memory for all words of a person: one person is rewritten at a time."""


class PersonUnknown(RecordsError):
    """Nothing is stored for a person of this id."""


class Tombstone(Value):
    """What is kept of an erased person: that they existed. `report`: ids and counts. Aliases stay with the seats."""

    owner: str
    asked_at: datetime
    erased_at: datetime | None
    report: dict[str, int] = Field(default_factory=dict)


class Seat(Value):
    process_id: str
    root_id: str
    alias: str
    open: bool
    seating: bool = False
    """The process may not know yet that they have the seat."""


class Erasing:
    """The part of erasure that changes tables. `tongyao.app.erasure` calls it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, person: str) -> list[Seat]:
        """Remove the person from what others can find; returns their seats. Idempotent.

        Raises `PersonUnknown`.
        """
        async with transaction(self._pool) as connection:
            known = await connection.execute(_KNOWN, {"who": person})
            if not known.rowcount:
                raise PersonUnknown(f"there is nobody {person!r} here: neither a profile nor a demander")
            await wait_for_others(connection, f"person/{person}")  # who writes for them: so nothing is stored behind us
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('owner/' || %s, 0))", [person])
            for statement in _OUT:
                await connection.execute(statement, {"who": person})
            await remove_shared(connection, person)
        return await self.seats(person)

    async def erased(self, person: str) -> bool:
        """Whether the erasure of this person has begun."""
        async with session(self._pool) as connection:
            return bool((await connection.execute("SELECT 1 FROM tombstones WHERE owner = %s", [person])).rowcount)

    async def knows(self, person: str) -> bool:
        """Whether anything is stored for a person of this id."""
        async with session(self._pool) as connection:
            return bool((await connection.execute(_KNOWN, {"who": person})).rowcount)

    async def seats(self, person: str) -> list[Seat]:
        """Every process in which they have a seat or are the demander, oldest first."""
        async with reading(self._pool, Seat) as cursor:
            await cursor.execute(
                """SELECT p.id AS process_id, p.root_id, s.alias, p.ended_at IS NULL AS open,
                          p.ended_at IS NULL AND p.phase = 'consenting' AS seating
                   FROM processes p JOIN seats s ON s.process_id = p.id WHERE s.profile_id = %(who)s
                   UNION SELECT id, root_id, %(demander)s, ended_at IS NULL, false FROM processes WHERE demander = %(who)s
                   ORDER BY 1""",
                {"who": person, "demander": DEMANDER},
            )
            return await cursor.fetchall()

    async def questions(self, person: str) -> list[tuple[str, str]]:
        """(process id, `invited/<n>`) of questions for their consent in processes that still wait for answers."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT i.process_id, i.alias FROM inbox i JOIN processes p ON p.id = i.process_id
                   WHERE i.person = %s AND i.ask = 'consent' AND p.phase = 'consenting' ORDER BY 1, 2""",
                [person],
            )
            return [(row["process_id"], row["alias"]) for row in await cursor.fetchall()]

    async def open_in_trees(self, processes: Sequence[str]) -> list[str]:
        """Open processes in the trees of these. Their steps may have read the texts before they were hidden."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT id FROM processes WHERE ended_at IS NULL
                   AND root_id IN (SELECT root_id FROM processes WHERE id = ANY(%s)) ORDER BY id""",
                [list(processes)],
            )
            return [row["id"] for row in await cursor.fetchall()]

    async def rewrite(self, person: str) -> None:
        """Remove what others read of them, and what rests on it alone. Repeating it handles what is new since."""
        seats = await self.seats(person)
        lock = _REWRITING.setdefault(id(self._pool), asyncio.Lock())
        async with lock, transaction(self._pool) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('owner/' || %s, 0))", [person])
            done = await rewrite_without(
                connection,
                person,
                seats={seat.process_id: seat.alias for seat in seats},
                roots=sorted({seat.root_id for seat in seats}),
            )
            await _add(connection, person, {"rewritten": done.rewritten, "removed": done.removed})

    async def finish(self, person: str) -> Tombstone:
        """Destroy their data key, delete their identity, record which histories must be deleted. Idempotent."""
        async with transaction(self._pool) as connection:
            for statement in _FORGOTTEN:
                await connection.execute(statement, {"who": person})
            cursor = await connection.execute("SELECT erase_texts(%s) AS erased", [person])
            row = await cursor.fetchone()
            await _add(connection, person, {"texts": int(row["erased"]) if row else 0})
            await connection.execute(
                "UPDATE tombstones SET erased_at = COALESCE(erased_at, now()) WHERE owner = %s", [person]
            )
        return await self.tombstone(person)

    async def tombstone(self, person: str) -> Tombstone:
        """Raises `PersonUnknown` when nobody of this id was erased."""
        found = await fetch_one(self._pool, Tombstone, "SELECT * FROM tombstones WHERE owner = %s", [person])
        if found is None:
            raise PersonUnknown(f"{person!r} was not erased here")
        return found

    async def unfinished(self) -> list[str]:
        """Ids of people whose erasure has begun and is not finished, by the time of their last try."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT owner FROM tombstones WHERE erased_at IS NULL ORDER BY tried_at, owner"
            )
            return [row["owner"] for row in await cursor.fetchall()]

    async def histories(self) -> list[str]:
        """Ended processes whose Temporal history must be deleted."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT h.process_id FROM history_deletions h JOIN processes p ON p.id = h.process_id
                   WHERE h.deleted_at IS NULL AND p.ended_at IS NOT NULL ORDER BY h.asked_at, h.process_id"""
            )
            return [row["process_id"] for row in await cursor.fetchall()]

    async def histories_waiting(self) -> int:
        """Number of histories that must be deleted when their processes end."""
        async with session(self._pool) as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM history_deletions WHERE deleted_at IS NULL")
            row = await cursor.fetchone()
        return int(row["n"]) if row else 0

    async def history_deleted(self, process_id: str) -> None:
        async with session(self._pool) as connection:
            await connection.execute(
                "UPDATE history_deletions SET deleted_at = now() WHERE process_id = %s", [process_id]
            )


async def _add(connection: Connection, person: str, counts: Mapping[str, int]) -> None:
    """Add to the counts on their tombstone."""
    cursor = await connection.execute("SELECT report FROM tombstones WHERE owner = %s FOR UPDATE", [person])
    row = await cursor.fetchone()
    report = dict(row["report"]) if row else {}
    summed = {**report, **{name: report.get(name, 0) + count for name, count in counts.items()}}
    await connection.execute("UPDATE tombstones SET report = %s WHERE owner = %s", [Jsonb(summed), person])


_OUT: Final = (
    "INSERT INTO tombstones (owner) VALUES (%(who)s) ON CONFLICT (owner) DO UPDATE SET tried_at = now()",
    "UPDATE profiles SET deleted_at = COALESCE(deleted_at, now()) WHERE id = %(who)s",
    """INSERT INTO mandates (profile_id, may_speak) SELECT id, false FROM profiles WHERE id = %(who)s
       ON CONFLICT (profile_id) DO UPDATE SET may_speak = false, updated_at = now()""",
    "UPDATE tokens SET revoked_at = COALESCE(revoked_at, now()), label = '' WHERE person = %(who)s",
    "DELETE FROM consents WHERE profile_id = %(who)s",
    "DELETE FROM channels WHERE person = %(who)s",
    "DELETE FROM drafts WHERE owner = %(who)s",
    "UPDATE notifications SET state = 'dropped', ended_at = now() WHERE person = %(who)s AND state = 'pending'",
    "UPDATE inbox SET closed_at = now() WHERE person = %(who)s AND closed_at IS NULL",
    "DELETE FROM candidates WHERE profile_id = %(who)s",
    """UPDATE inbox i SET closed_at = now() FROM standing_matches m JOIN standing_tensions s ON s.id = m.standing_id
       WHERE i.closed_at IS NULL AND i.id = s.process_id || '/candidate/' || s.id || '/' || m.number
         AND (m.profile_id = %(who)s OR %(who)s = ANY(s.people))""",
    "DELETE FROM standing_matches WHERE profile_id = %(who)s",
    # What they asked, and what holds an item of theirs: text and row.
    """SELECT remove_texts(ARRAY(SELECT text_id FROM standing_tensions s
         WHERE (demander = %(who)s OR %(who)s = ANY(people)) AND residual <> 'tension'))""",
    # And what they stood in before their demander chose other words, unless it stands for somebody else still. Development databases of
    # before this kind of text may hold some as `shared/tension`, of which only those that still stand are removed. No release wrote them.
    """SELECT remove_texts(ARRAY(SELECT t.id FROM processes p JOIN texts t ON t.owner = 'process:' || p.id
         WHERE t.kind = 'shared/standing' AND (p.demander = %(who)s
           OR (EXISTS (SELECT 1 FROM seats WHERE process_id = p.id AND profile_id = %(who)s)
               AND NOT EXISTS (SELECT 1 FROM standing_tensions s WHERE s.text_id = t.id AND NOT %(who)s = ANY(s.people))))))""",
    "DELETE FROM standing_tensions WHERE demander = %(who)s OR %(who)s = ANY(people)",
    "DELETE FROM sources WHERE person = %(who)s",
    "DELETE FROM source_turns WHERE person = %(who)s",
)

_FORGOTTEN: Final = (
    "UPDATE profiles SET identity = NULL, file_digest = NULL WHERE id = %(who)s",
    "UPDATE profile_versions SET sections = '[]', sha256 = '' WHERE profile_id = %(who)s",
    "UPDATE manifests SET body = body - 'sha256' WHERE body ->> 'profile' = %(who)s",
    "UPDATE mandates SET text_id = NULL WHERE profile_id = %(who)s",
    "UPDATE inbox SET closed_at = now() WHERE person = %(who)s AND closed_at IS NULL",
    "UPDATE seats SET active = false WHERE profile_id = %(who)s",
    # Texts signalled by hand stand in these histories; so does whatever was signalled and could not be read.
    """INSERT INTO history_deletions (process_id)
       SELECT process_id FROM signalled WHERE owner = %(who)s
       UNION SELECT e.process_id FROM events e
             WHERE e.kind = 'message_refused' AND e.data ->> 'code' = 'unreadable_message'
             AND e.process_id IN (SELECT process_id FROM seats WHERE profile_id = %(who)s
                                  UNION SELECT id FROM processes WHERE demander = %(who)s)
       ON CONFLICT DO NOTHING""",
)
