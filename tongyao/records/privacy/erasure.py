"""Erases a person from the records (docs/erasure.md): first from texts of others that rest on their words, then their
data key.

`begin` takes effect at once: the person's texts, and the shared forms of their words, are no longer read. The person is
no longer found, asked or notified. `rewrite` changes the texts that quote them.
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

from tongyao.protocol.guards.plans import settle_delivery
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.plan import DeliveryDraft, Plan
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.requests import known_language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.upcast import read_observation, read_plan
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.redaction import Erasure
from tongyao.records.database import (
    Connection,
    RecordsError,
    Repository,
    transaction,
    wait_for_others,
)
from tongyao.records.privacy.shared_texts import lock_of, shared_text_id
from tongyao.records.privacy.texts import get_texts, remove_texts, replace_text
from tongyao.records.waiting_calls import ask_anew

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
    """The part of erasure that changes tables. `app/people/erasure.py` calls it."""

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
    # texts of the person's own standing tensions, and of those with an item of the person (rows: below)
    """SELECT remove_texts(ARRAY(SELECT text_id FROM standing_tensions s
         WHERE (demander = %(who)s OR %(who)s = ANY(people)) AND residual <> 'tension'))""",
    # Also earlier texts of these standing tensions, unless one without items of the person uses the text. Old
    # development databases have such texts as `shared/tension`: of these, only texts in use are removed. No release
    # wrote them.
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
    # these histories contain texts that an operator signalled to an older process (`signalled`), or refused signals
    """INSERT INTO history_deletions (process_id)
       SELECT process_id FROM signalled WHERE owner = %(who)s
       UNION SELECT e.process_id FROM events e
             WHERE e.kind = 'message_refused'
             AND e.process_id IN (SELECT process_id FROM seats WHERE profile_id = %(who)s
                                  UNION SELECT id FROM processes WHERE demander = %(who)s)
       ON CONFLICT DO NOTHING""",
)


class Rewritten(Value):
    """The number of texts of others that were rewritten, and the number that were removed."""

    rewritten: int
    removed: int


async def remove_shared(connection: Connection, person: str) -> int:
    """Remove the shared texts of everything that the person said. Returns their number."""
    cursor = await connection.execute("SELECT id FROM texts WHERE owner = %s", [person])
    return await remove_texts(connection, [shared_text_id(str(row["id"])) for row in await cursor.fetchall()])


async def rewrite_without(
    connection: Connection, person: str, *, seats: Mapping[str, str], roots: Sequence[str]
) -> Rewritten:
    """Rewrite every process in the trees of `roots`, inside the caller's transaction. A repetition handles texts
    written since.

    `seats`: the person's alias by process, for every process in which they have a seat or are the demander.
    """
    removed, rewritten = await remove_shared(connection, person), 0
    for root in roots:
        await wait_for_others(connection, lock_of(root))
        cursor = await connection.execute("SELECT id FROM processes WHERE root_id = %s ORDER BY depth, id", [root])
        tree = [row["id"] for row in await cursor.fetchall()]
        there = {process_id: alias for process_id, alias in seats.items() if process_id in tree}
        fallen: frozenset[str] = frozenset()  # ids of the children that were started for residuals that were removed
        for process_id in tree:  # parents precede their children
            rewriting = _Rewriting(connection, process_id, Erasure(process_id, there, fallen))
            fallen |= {child_id(process_id, residual) for residual in await rewriting.rewrite()}
            rewritten, removed = rewritten + rewriting.rewritten, removed + rewriting.removed
    return Rewritten(rewritten=rewritten, removed=removed)


class _Rewriting:
    """The rewriting of one process."""

    def __init__(self, connection: Connection, process_id: str, erasure: Erasure) -> None:
        self._connection, self._process, self._erasure = connection, process_id, erasure
        self.rewritten = self.removed = 0

    async def rewrite(self) -> frozenset[str]:
        """Rewrite the texts that models made for the process. Returns the residuals that were removed."""
        await self._tension()
        for id, text in await self._texts("SELECT text_id AS id FROM observations WHERE process_id = %s"):
            await self._replace(id, text, self._erasure.observation(read_observation(text)))
        fallen: frozenset[str] = frozenset()
        for id, text in await self._texts("SELECT text_id AS id FROM plans WHERE process_id = %s"):
            if text.startswith("{"):
                plan = read_plan(text)
                fallen |= self._erasure.fallen_residuals(plan)
                if (left := self._erasure.plan(plan)) != plan:
                    await self._plan(id, left)
        if self._erasure.alias or self._erasure.without_tension or fallen:
            await self._calls()
        return fallen

    async def _texts(self, query: str) -> list[tuple[str, str]]:
        cursor = await self._connection.execute(query.encode(), [self._process])
        ids = [row["id"] for row in await cursor.fetchall()]
        texts = await get_texts(self._connection, ids, erased="")
        return [(id, texts[id]) for id in ids if texts[id]]

    async def _replace(self, text_id: str, before: str, value: Value) -> None:
        if (text := value.model_dump_json()) != before:
            await replace_text(self._connection, text_id, text)
            self.rewritten += 1

    async def _plan(self, text_id: str, plan: Plan) -> None:
        """Replace both forms of a plan, its counts, and the deliveries made from it. Each delivery becomes its share of the new plan."""
        claims = plan.claims()
        cursor = await self._connection.execute(
            """UPDATE plans SET claims = %s, supported = %s WHERE text_id = %s RETURNING markdown_text_id, revision""",
            [len(claims), sum(claim.supported for claim in claims), text_id],
        )
        rows = await cursor.fetchall()
        await self._replace(text_id, "", plan)
        for row in rows:
            await replace_text(self._connection, row["markdown_text_id"], plan.markdown)
            cursor = await self._connection.execute(
                """SELECT d.alias, d.language, d.text_id FROM deliveries d JOIN texts o ON o.id = d.text_id
                   JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id)
                   WHERE d.process_id = %s AND d.revision = %s AND t.owner NOT IN (SELECT owner FROM tombstones)""",
                [self._process, row["revision"]],
            )
            for delivery in await cursor.fetchall():
                language = known_language(delivery["language"])
                left = settle_delivery(DeliveryDraft(), alias=delivery["alias"], plan=plan, language=language)
                await self._replace(delivery["text_id"], "", left)

    async def _tension(self) -> None:
        """Rewrite the tension of a child, original and shared, because it was made from words of the parent process."""
        for id, text in await self._texts("SELECT tension_text_id AS id FROM processes WHERE id = %s AND depth > 0"):
            tension = Tension.model_validate_json(text)
            if (left := self._erasure.tension(tension)) != tension:
                await self._replace(id, text, left)
                shared = await get_texts(self._connection, [], known=[shared_text_id(id)])
                for other, read in shared.items():
                    await self._replace(other, read, self._erasure.tension(Tension.model_validate_json(read)))

    async def _calls(self) -> None:
        """Remove answers of models for the process. If such a step runs again, it asks the model again."""
        cursor = await self._connection.execute(
            """SELECT id FROM texts WHERE owner = %s AND kind IN ('answer', 'draft') AND body IS NOT NULL""",
            [f"process:{self._process}"],
        )
        self.removed += await remove_texts(self._connection, [str(row["id"]) for row in await cursor.fetchall()])
        await self._connection.execute(
            """UPDATE model_calls c SET state = 'failed', error_reason = 'erased'
               FROM texts a, texts d WHERE c.process_id = %s AND c.state = 'settled'
               AND a.id = c.answer_text_id AND d.id = c.draft_text_id AND (a.body IS NULL OR d.body IS NULL)""",
            [self._process],
        )
        await ask_anew(self._connection, self._process)
