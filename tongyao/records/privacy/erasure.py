"""Erases a person from the records (docs/erasure.md): first from texts of others that rest on their words, then their
data key.

`begin` takes effect at once: the person's texts are no longer read, asked for, told or found, and neither are their
words in the form that others read. `rewrite` changes the texts that quote them (`records/privacy/rewriting.py`).
`finish` destroys their key and leaves a tombstone. `unfinished` finds erasures that were begun and not finished.
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
    RecordsError,
    Repository,
    transaction,
    wait_for_others,
)
from tongyao.records.privacy.rewriting import remove_shared, rewrite_without

_KNOWN: Final = """SELECT 1 WHERE EXISTS (SELECT 1 FROM profiles WHERE id = %(who)s)
    OR EXISTS (SELECT 1 FROM data_keys WHERE owner = %(who)s)
    OR EXISTS (SELECT 1 FROM processes WHERE demander = %(who)s)
    OR EXISTS (SELECT 1 FROM tombstones WHERE owner = %(who)s)"""


_REWRITING: Final = WeakValueDictionary[int, asyncio.Lock]()
"""Locks by pool, so that only one person is rewritten at a time. Rewriting takes seconds, a connection, and memory for
all words of the person.
"""


class PersonUnknown(RecordsError):
    """Nothing is stored for a person with this id."""


class Tombstone(Value):
    """The record that remains of an erased person: that they existed. `report`: ids and counts. Aliases stay with the seats."""

    owner: str
    asked_at: datetime
    erased_at: datetime | None
    report: dict[str, int] = Field(default_factory=dict)


class SeatToErase(Value):
    process_id: str
    root_id: str
    alias: str
    open: bool
    seating: bool = False
    """The process is still choosing its participants and may not know yet that the person has this seat."""


class Erasing(Repository):
    """The part of erasure that changes tables. `tongyao.app.erasure` calls it."""

    async def begin(self, person: str) -> list[SeatToErase]:
        """Remove the person from everything that others can find. Returns their seats. Idempotent.

        Raises `PersonUnknown`.
        """
        async with transaction(self._pool) as connection:
            known = await connection.execute(_KNOWN, {"who": person})
            if not known.rowcount:
                raise PersonUnknown(
                    f"nothing is stored about {person!r}: there is no such profile and no such demander"
                )
            # waits for writers of the person's data: nothing is stored after this
            await wait_for_others(connection, f"person/{person}")
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('owner/' || %s, 0))", [person])
            for statement in _OUT:
                await connection.execute(statement, {"who": person})
            await remove_shared(connection, person)
        return await self.seats(person)

    async def erased(self, person: str) -> bool:
        """Whether the erasure of this person has begun."""
        return bool(await self._value("SELECT 1 FROM tombstones WHERE owner = %s", [person]))

    async def knows(self, person: str) -> bool:
        """Whether anything is stored for a person of this id."""
        return bool(await self._value(_KNOWN, {"who": person}))

    async def seats(self, person: str) -> list[SeatToErase]:
        """All processes in which the person has a seat or is the demander, by process id."""
        return await self._all(
            SeatToErase,
            """SELECT p.id AS process_id, p.root_id, s.alias, p.ended_at IS NULL AS open,
                      p.ended_at IS NULL AND p.phase = 'consenting' AS seating
               FROM processes p JOIN seats s ON s.process_id = p.id WHERE s.profile_id = %(who)s
               UNION SELECT id, root_id, %(demander)s, ended_at IS NULL, false FROM processes WHERE demander = %(who)s
               ORDER BY 1""",
            {"who": person, "demander": DEMANDER},
        )

    async def questions(self, person: str) -> list[tuple[str, str]]:
        """(process id, `invited/<n>`) for each question for the person's consent in processes that still wait for consent."""
        return [
            (row["process_id"], row["alias"])
            for row in await self._rows(
                """SELECT i.process_id, i.alias FROM inbox i JOIN processes p ON p.id = i.process_id
               WHERE i.person = %s AND i.ask = 'consent' AND p.phase = 'consenting' ORDER BY 1, 2""",
                [person],
            )
        ]

    async def open_in_trees(self, processes: Sequence[str]) -> list[str]:
        """Open processes in the trees of these processes. Their steps may have read the texts before the texts were hidden."""
        return await self._column(
            """SELECT id FROM processes WHERE ended_at IS NULL
               AND root_id IN (SELECT root_id FROM processes WHERE id = ANY(%s)) ORDER BY id""",
            [list(processes)],
        )

    async def rewrite(self, person: str) -> None:
        """Remove the person's words from the texts that others read, and everything that rests on these words alone.

        A repetition handles texts that were written since.
        """
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
        """Destroy the person's data key, delete their identity, record the histories that must be deleted. Idempotent."""
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
        """Return a tombstone. Raises `PersonUnknown` if no person with this id was erased."""
        found = await self._one(Tombstone, "SELECT * FROM tombstones WHERE owner = %s", [person])
        if found is None:
            raise PersonUnknown(f"{person!r} was not erased in this installation")
        return found

    async def unfinished(self) -> list[str]:
        """Ids of people whose erasure has begun and is not finished, by the time of the last try."""
        return await self._column("SELECT owner FROM tombstones WHERE erased_at IS NULL ORDER BY tried_at, owner")

    async def histories(self) -> list[str]:
        """Ended processes whose Temporal history must be deleted."""
        return await self._column("""SELECT h.process_id FROM history_deletions h JOIN processes p ON p.id = h.process_id
               WHERE h.deleted_at IS NULL AND p.ended_at IS NOT NULL ORDER BY h.asked_at, h.process_id""")

    async def histories_waiting(self) -> int:
        """The number of histories that still have to be deleted. A history is deleted after the end of its process."""
        return int(await self._value("SELECT count(*) AS n FROM history_deletions WHERE deleted_at IS NULL"))

    async def history_deleted(self, process_id: str) -> None:
        await self._run("UPDATE history_deletions SET deleted_at = now() WHERE process_id = %s", [process_id])


async def _add(connection: Connection, person: str, counts: Mapping[str, int]) -> None:
    """Add to the counts on the person's tombstone."""
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
    "DELETE FROM openid_links WHERE person = %(who)s",
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
    # their own standing tensions, and those with an item of theirs: text and row
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
    # these histories contain texts signalled by hand, or signals that could not be read
    """INSERT INTO history_deletions (process_id)
       SELECT process_id FROM signalled WHERE owner = %(who)s
       UNION SELECT e.process_id FROM events e
             WHERE e.kind = 'message_refused' AND e.data ->> 'code' = 'unreadable_message'
             AND e.process_id IN (SELECT process_id FROM seats WHERE profile_id = %(who)s
                                  UNION SELECT id FROM processes WHERE demander = %(who)s)
       ON CONFLICT DO NOTHING""",
)
