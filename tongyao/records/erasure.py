"""Erasing a person from the records (docs/erasure.md): first what others made of their words, then their data key.

`begin` takes them out at once: nothing of theirs is read, asked for, told or found any more. `rewrite` goes through what
quotes them, `finish` destroys their key and leaves a tombstone. What was begun and not finished is found by `unfinished`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb

from tongyao.protocol.guards.fallback import minimal_delivery
from tongyao.protocol.observation import Observation
from tongyao.protocol.plan import Plan
from tongyao.protocol.process import DEMANDER
from tongyao.protocol.projection import Projection
from tongyao.protocol.redaction import Erasure
from tongyao.protocol.requests import DeliveryRequest, Language
from tongyao.protocol.tension import Tension
from tongyao.protocol.value import Value
from tongyao.records.database import Connection, Pool, RecordsError, reading, session, transaction
from tongyao.records.texts import get_texts, remove_texts, replace_text

SCENE_PROFILES: Final = 200
"""So many other profiles of the scene are read to tell words of everybody from words of one."""

THEIR_WORDS: Final = ("profile", "words", "projection", "intent", "tension", "strategy", "mandate", "feedback")
"""Kinds of texts that are a person's own; answers and deliveries under their key repeat what others said as well."""


class PersonUnknown(RecordsError):
    """Nothing here belongs to anybody of this id."""


class Tombstone(Value):
    """What stays of an erased person: that there was one. `report` has ids and counts; aliases stay with the seats."""

    owner: str
    asked_at: datetime
    erased_at: datetime | None
    report: dict[str, int] = {}


class Seat(Value):
    process_id: str
    root_id: str
    alias: str
    open: bool


class Erasing:
    """The tables' side of erasure."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, person: str) -> list[Seat]:
        """Take the person out everywhere; returns where they sit, or brought the intent. Again is harmless.

        Raises `PersonUnknown`.
        """
        async with transaction(self._pool) as connection:
            known = await connection.execute(
                """SELECT 1 WHERE EXISTS (SELECT 1 FROM profiles WHERE id = %(who)s)
                   OR EXISTS (SELECT 1 FROM data_keys WHERE owner = %(who)s)
                   OR EXISTS (SELECT 1 FROM processes WHERE demander = %(who)s)
                   OR EXISTS (SELECT 1 FROM tombstones WHERE owner = %(who)s)""",
                {"who": person},
            )
            if not known.rowcount:
                raise PersonUnknown(f"there is nobody {person!r} here: neither a profile nor a demander")
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('owner/' || %s, 0))", [person])
            for statement in _OUT:
                await connection.execute(statement, {"who": person})
        return await self.seats(person)

    async def seats(self, person: str) -> list[Seat]:
        """Every process they sit in, or brought the intent of; oldest first."""
        async with reading(self._pool, Seat) as cursor:
            await cursor.execute(
                """SELECT p.id AS process_id, p.root_id, s.alias, p.ended_at IS NULL AS open
                   FROM processes p JOIN seats s ON s.process_id = p.id WHERE s.profile_id = %(who)s
                   UNION SELECT id, root_id, %(demander)s, ended_at IS NULL FROM processes WHERE demander = %(who)s
                   ORDER BY 1""",
                {"who": person, "demander": DEMANDER},
            )
            return await cursor.fetchall()

    async def open_in_trees(self, processes: Sequence[str]) -> list[str]:
        """Processes that go on in the trees of these: their steps may have read the words before they were hidden."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT id FROM processes WHERE ended_at IS NULL
                   AND root_id IN (SELECT root_id FROM processes WHERE id = ANY(%s)) ORDER BY id""",
                [list(processes)],
            )
            return [row["id"] for row in await cursor.fetchall()]

    async def rewrite(self, person: str) -> dict[str, int]:
        """Rewrite or remove what others made of their words; returns counts. Again finds only what is new."""
        seats = await self.seats(person)
        async with transaction(self._pool) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('owner/' || %s, 0))", [person])
            tree = await _tree(connection, sorted({seat.root_id for seat in seats}))
            words = await _words(connection, person)
            identities = await _identities(connection, person)
            rewriting = _Rewriting(connection, person, seats, words, identities)
            for process_id in tree:
                await rewriting.process(process_id)
            counts = {"processes": len(tree), "rewritten": rewriting.rewritten, "removed": rewriting.removed}
            await _add(connection, person, {"rewritten": rewriting.rewritten, "removed": rewriting.removed})
        return counts

    async def finish(self, person: str) -> Tombstone:
        """Destroy their key, forget who they were, note which histories must go. Again is harmless."""
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
        async with reading(self._pool, Tombstone) as cursor:
            await cursor.execute("SELECT * FROM tombstones WHERE owner = %s", [person])
            found = await cursor.fetchone()
        if found is None:
            raise PersonUnknown(f"{person!r} was not erased here")
        return found

    async def unfinished(self) -> list[str]:
        """Who asked to be erased and is not yet, oldest first."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT owner FROM tombstones WHERE erased_at IS NULL ORDER BY asked_at, owner"
            )
            return [row["owner"] for row in await cursor.fetchall()]

    async def histories(self) -> list[str]:
        """Processes whose Temporal history is to be deleted and can be: they have ended."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT h.process_id FROM history_deletions h JOIN processes p ON p.id = h.process_id
                   WHERE h.deleted_at IS NULL AND p.ended_at IS NOT NULL ORDER BY h.asked_at, h.process_id"""
            )
            return [row["process_id"] for row in await cursor.fetchall()]

    async def histories_waiting(self) -> int:
        """How many histories are still to be deleted, because their processes go on."""
        async with session(self._pool) as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM history_deletions WHERE deleted_at IS NULL")
            row = await cursor.fetchone()
        return int(row["n"]) if row else 0

    async def history_deleted(self, process_id: str) -> None:
        async with session(self._pool) as connection:
            await connection.execute(
                "UPDATE history_deletions SET deleted_at = now() WHERE process_id = %s", [process_id]
            )


class _Rewriting:
    """Goes through the texts of one process after the other."""

    def __init__(
        self,
        connection: Connection,
        person: str,
        seats: Sequence[Seat],
        words: Sequence[str],
        identities: Sequence[str],
    ) -> None:
        self._connection, self._person = connection, person
        self._seats = {seat.process_id: seat.alias for seat in seats}
        self._words, self._identities = words, identities
        self.rewritten = self.removed = 0

    async def process(self, process_id: str) -> None:
        """Structures first, rewritten without the person; then whatever else of the process still touches them."""
        rows = await _rows(self._connection, process_id, self._person)
        if self._seats.get(process_id) == DEMANDER:  # all that was said in it answers to their tension
            rows = [row.model_copy(update={"independent": False}) for row in rows]
        texts = await get_texts(self._connection, [row.text_id for row in rows], erased="")
        scene = await _scene_texts(self._connection, process_id, self._person)
        erasure = Erasure(
            process_id,
            seats=self._seats,
            words=self._words,
            elsewhere=[*scene, *(_plain(row.kind, texts[row.text_id]) for row in rows if row.independent)],
            identities=self._identities,
        )
        for row in rows:
            if not await self._structured(row, texts[row.text_id], erasure):
                goes = erasure.names if row.independent else erasure.touches
                if goes(texts[row.text_id]):
                    self.removed += await remove_texts(self._connection, [row.text_id])
        await self._calls(process_id)
        await self._deliveries(process_id)
        if alias := self._seats.get(process_id):
            await self._connection.execute(
                "DELETE FROM relations WHERE process_id = %s AND %s IN (a, b)", [process_id, alias]
            )

    async def _structured(self, row: _Row, text: str, erasure: Erasure) -> bool:
        """Rewrite what has a structure; False for what has none."""
        new: Value
        match row.kind:
            case "projection":
                said = Projection.model_validate_json(text)
                new = erasure.projection(said, independent=row.independent)
                if new == said:
                    return True
            case "observation":
                seen = Observation.model_validate_json(text)
                new = erasure.observation(seen)
            case "plan":
                if text.startswith("{"):
                    await self._plan(row.text_id, erasure.plan(Plan.model_validate_json(text)))
                return True  # its Markdown goes with it
            case "tension" if not row.independent:
                tension = Tension.model_validate_json(text)
                new = erasure.tension(tension)
                if new == tension:
                    return True
            case _:
                return False
        if isinstance(new, Projection):
            await self._connection.execute(
                "UPDATE projections SET items = %s WHERE text_id = %s", [len(new.items), row.text_id]
            )
        await self._replace(row.text_id, new.model_dump_json())
        return True

    async def _plan(self, text_id: str, plan: Plan) -> None:
        """Both forms of a plan, and its counts."""
        claims = plan.claims()
        cursor = await self._connection.execute(
            """UPDATE plans SET claims = %s, supported = %s WHERE text_id = %s RETURNING markdown_text_id""",
            [len(claims), sum(claim.supported for claim in claims), text_id],
        )
        await self._replace(text_id, plan.model_dump_json())
        for row in await cursor.fetchall():
            await self._replace(row["markdown_text_id"], plan.markdown)

    async def _deliveries(self, process_id: str) -> None:
        """Of a delivery that is gone, what is left of the plan for whom it was made."""
        cursor = await self._connection.execute(
            """SELECT d.alias, d.language, d.text_id, p.text_id AS plan FROM deliveries d
               JOIN plans p USING (process_id, revision) JOIN texts o ON o.id = d.text_id
               JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id)
               WHERE d.process_id = %s AND t.owner <> %s AND t.body IS NULL""",
            [process_id, self._person],
        )
        for row in await cursor.fetchall():
            plan = (await get_texts(self._connection, [row["plan"]], erased=""))[row["plan"]]
            if plan:
                language: Language = "zh" if row["language"] == "zh" else "en"
                request = DeliveryRequest(language=language, alias=row["alias"], plan=Plan.model_validate_json(plan))
                await self._replace(row["text_id"], minimal_delivery(request))

    async def _replace(self, text_id: str, text: str) -> None:
        await replace_text(self._connection, text_id, text)
        self.rewritten += 1

    async def _calls(self, process_id: str) -> None:
        """An answer that is no longer there counts as failed: should its step run again, it is asked for again."""
        await self._connection.execute(
            """UPDATE model_calls c SET state = 'failed', error_reason = 'erased'
               FROM texts a, texts d WHERE c.process_id = %s AND c.state = 'settled'
               AND a.id = c.answer_text_id AND d.id = c.draft_text_id AND (a.body IS NULL OR d.body IS NULL)""",
            [process_id],
        )


class _Row(Value):
    """A text of a process, by the id that the tables name. `independent`: written before its author could know of anybody else's words."""

    text_id: str
    owner: str
    kind: str
    independent: bool


async def _rows(connection: Connection, process_id: str, person: str) -> list[_Row]:
    """Every text of a process that is not the person's own and is still there."""
    cursor = await connection.execute(_TEXTS, {"process": process_id, "owner": f"process:{process_id}", "who": person})
    return [_Row.model_validate(row) for row in await cursor.fetchall()]


async def _add(connection: Connection, person: str, counts: Mapping[str, int]) -> None:
    """Add to the counts on their tombstone."""
    cursor = await connection.execute("SELECT report FROM tombstones WHERE owner = %s FOR UPDATE", [person])
    row = await cursor.fetchone()
    report = dict(row["report"]) if row else {}
    summed = {**report, **{name: report.get(name, 0) + count for name, count in counts.items()}}
    await connection.execute("UPDATE tombstones SET report = %s WHERE owner = %s", [Jsonb(summed), person])


async def _tree(connection: Connection, roots: Sequence[str]) -> list[str]:
    cursor = await connection.execute("SELECT id FROM processes WHERE root_id = ANY(%s) ORDER BY id", [list(roots)])
    return [row["id"] for row in await cursor.fetchall()]


async def _words(connection: Connection, person: str) -> list[str]:
    """What is theirs; of projections the claims alone."""
    cursor = await connection.execute(
        "SELECT id, kind FROM texts WHERE owner = %s AND kind = ANY(%s) AND body IS NOT NULL",
        [person, list(THEIR_WORDS)],
    )
    kinds = {row["id"]: row["kind"] for row in await cursor.fetchall()}
    texts = await get_texts(connection, kinds, erased="", gone=True)
    return [_plain(kinds[id], text) for id, text in texts.items()]


async def _scene_texts(connection: Connection, process_id: str, person: str) -> list[str]:
    """Frozen profiles of the others in the room, and profiles of their scene: the words of everybody."""
    cursor = await connection.execute(
        """(SELECT v.text_id FROM seats s JOIN profile_versions v
                ON v.profile_id = s.profile_id AND v.version = s.profile_version
            WHERE s.process_id = %(process)s AND s.profile_id <> %(who)s)
           UNION
           (SELECT v.text_id FROM processes p JOIN profiles o ON o.scene_id = p.scene_id
                JOIN profile_versions v ON v.profile_id = o.id AND v.version = o.current_version
            WHERE p.id = %(process)s AND o.id <> %(who)s AND o.deleted_at IS NULL ORDER BY o.id LIMIT %(limit)s)""",
        {"process": process_id, "who": person, "limit": SCENE_PROFILES},
    )
    ids = [row["text_id"] for row in await cursor.fetchall()]
    return list((await get_texts(connection, ids, erased="")).values())


async def _identities(connection: Connection, person: str) -> list[str]:
    cursor = await connection.execute("SELECT display_name, contact FROM profiles WHERE id = %s", [person])
    row = await cursor.fetchone()
    return [row["display_name"], *_strings(row["contact"])] if row else []


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [string for one in inner for string in _strings(one)]


def _plain(kind: str, text: str) -> str:
    """Words without the structure around them."""
    if not text or kind != "projection":
        return text
    said = Projection.model_validate_json(text)
    return "\n".join([said.markdown, *(item.claim for item in said.items)])


_TEXTS: Final = """
    WITH named AS (
        SELECT text_id AS id, round = 1 AS independent FROM projections WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false FROM observations WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false FROM plans WHERE process_id = %(process)s
        UNION ALL SELECT markdown_text_id, false FROM plans WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false FROM deliveries WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false FROM answers WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false FROM feedback WHERE process_id = %(process)s
        UNION ALL SELECT m.text_id, m.kind = 'revise_tension' OR m.payload ->> 'round' = '1'
                  FROM messages m WHERE m.process_id = %(process)s
        UNION ALL SELECT s.text_id, false FROM signalled s WHERE s.process_id = %(process)s
        UNION ALL SELECT answer_text_id, round <= 1 AND step IN ('formulate', 'project')
                  FROM model_calls WHERE process_id = %(process)s
        UNION ALL SELECT draft_text_id, round <= 1 AND step IN ('formulate', 'project')
                  FROM model_calls WHERE process_id = %(process)s
        UNION ALL SELECT intent_text_id, depth = 0 FROM processes WHERE id = %(process)s
        UNION ALL SELECT tension_text_id, depth = 0 FROM processes WHERE id = %(process)s
        UNION ALL SELECT id, false FROM texts WHERE owner = %(owner)s)
    SELECT (array_agg(o.id ORDER BY (o.id <> t.id) DESC, o.id))[1] AS text_id, t.owner, t.kind,
           bool_or(named.independent) AS independent
    FROM named JOIN texts o USING (id) JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id)
    WHERE t.body IS NOT NULL AND t.owner <> %(who)s
    GROUP BY t.id, t.owner, t.kind ORDER BY t.id"""

_OUT: Final = (
    "INSERT INTO tombstones (owner) VALUES (%(who)s) ON CONFLICT DO NOTHING",
    "UPDATE profiles SET deleted_at = COALESCE(deleted_at, now()) WHERE id = %(who)s",
    """INSERT INTO mandates (profile_id, may_speak) SELECT id, false FROM profiles WHERE id = %(who)s
       ON CONFLICT (profile_id) DO UPDATE SET may_speak = false, updated_at = now()""",
    "UPDATE tokens SET revoked_at = COALESCE(revoked_at, now()), label = '' WHERE person = %(who)s",
    "DELETE FROM channels WHERE person = %(who)s",
    "UPDATE notifications SET state = 'dropped', ended_at = now() WHERE person = %(who)s AND state = 'pending'",
    "UPDATE inbox SET closed_at = now() WHERE person = %(who)s AND closed_at IS NULL",
    "DELETE FROM candidates WHERE profile_id = %(who)s",
    "DELETE FROM sources WHERE person = %(who)s",
    "DELETE FROM source_turns WHERE person = %(who)s",
)

_FORGOTTEN: Final = (
    "UPDATE profiles SET display_name = '', contact = '{}' WHERE id = %(who)s",
    "UPDATE profile_versions SET sections = '[]', sha256 = '' WHERE profile_id = %(who)s",
    "UPDATE mandates SET text_id = NULL WHERE profile_id = %(who)s",
    "UPDATE inbox SET closed_at = now() WHERE person = %(who)s AND closed_at IS NULL",
    "UPDATE seats SET active = false WHERE profile_id = %(who)s",
    # Texts signalled by hand stand in these histories; so does whatever was signalled and could not be read.
    """INSERT INTO history_deletions (process_id)
       SELECT process_id FROM signalled WHERE owner = %(who)s
       UNION SELECT e.process_id FROM events e
             WHERE e.kind = 'message_refused' AND e.data ->> 'code' = 'not_trusted'
             AND e.process_id IN (SELECT process_id FROM seats WHERE profile_id = %(who)s
                                  UNION SELECT id FROM processes WHERE demander = %(who)s)
       ON CONFLICT DO NOTHING""",
)
