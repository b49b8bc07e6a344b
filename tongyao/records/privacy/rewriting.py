"""Rewrites or removes texts of others that contain an erased person's words (docs/erasure.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tongyao.protocol.guards.deliveries import delivery_of_plan, settle_delivery
from tongyao.protocol.model.observation import Observation
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.identity.redaction import Erasure
from tongyao.records.database import Connection
from tongyao.records.privacy.sealed_values import IDENTITY, Stored, open_values
from tongyao.records.privacy.texts import get_texts, remove_texts, replace_text

SCENE_PROFILES: Final = 200
"""Other profiles of the scene that are read, to distinguish common words from words of the person."""

THEIR_WORDS: Final = ("profile", "words", "projection", "intent", "tension", "strategy", "mandate", "feedback")
"""Kinds of texts that are a person's own; answers and deliveries under their key repeat what others said as well."""


class Rewritten(Value):
    """How many texts of others were rewritten, and how many removed."""

    rewritten: int
    removed: int


async def rewrite_without(
    connection: Connection, person: str, *, seats: Mapping[str, str], roots: Sequence[str]
) -> Rewritten:
    """Rewrite every process in the trees of `roots`, inside the caller's transaction. Repeating it handles what is new since.

    `seats`: the person's alias by process, wherever they sit or brought the intent.
    """
    words, identities = await _words(connection, person), await _identities(connection, person)
    rewriting = _Rewriting(connection, person, seats, words, identities)
    for process_id in await _tree(connection, roots):
        await rewriting.process(process_id)
    return Rewritten(rewritten=rewriting.rewritten, removed=rewriting.removed)


class _Rewriting:
    """Goes through the texts of one process after the other."""

    def __init__(
        self,
        connection: Connection,
        person: str,
        seats: Mapping[str, str],
        words: Sequence[str],
        identities: Sequence[str],
    ) -> None:
        self._connection, self._person = connection, person
        self._seats, self._words, self._identities = seats, words, identities
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
                left, alias = Plan.model_validate_json(plan), row["alias"]
                delivery = settle_delivery(delivery_of_plan(left, alias), alias=alias, plan=left, language=language)
                await self._replace(row["text_id"], delivery.model_dump_json())

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
    cursor = await connection.execute("SELECT identity, identity_sealed FROM profiles WHERE id = %s", [person])
    rows = [Stored(person, IDENTITY, row["identity"], row["identity_sealed"]) for row in await cursor.fetchall()]
    now = [name for value in await open_values(connection, rows) for name in _strings(value)]
    cursor = await connection.execute(
        "SELECT id FROM texts WHERE owner = %s AND kind = 'identities' AND body IS NOT NULL", [person]
    )
    frozen = await get_texts(connection, [row["id"] for row in await cursor.fetchall()], erased="", gone=True)
    return list(dict.fromkeys([*now, *(name for text in frozen.values() if text for name in json.loads(text))]))


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
    return "\n".join([said.markdown, *(item.statement for item in said.items)])


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
        UNION ALL SELECT r.text_id, false FROM replaced_texts r WHERE r.process_id = %(process)s
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
