"""Rewrites or removes texts of others that contain an erased person's words (docs/erasure.md)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Final

from tongyao.protocol.guards.deliveries import settle_delivery
from tongyao.protocol.model.plan import DeliveryDraft, Plan
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.upcast import read_observation, read_plan, read_projection
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.identity.program_words import strings_in
from tongyao.protocol.rules.identity.redaction import Erasure, grams
from tongyao.records.database import Connection
from tongyao.records.privacy import rewriting_queries
from tongyao.records.privacy.sealed_values import IDENTITY, Stored, open_values
from tongyao.records.privacy.texts import get_texts, remove_texts, replace_text, text_id
from tongyao.records.waiting_calls import ask_anew

SCENE_PROFILES: Final = 200
"""Other profiles of the scene that are read, to distinguish common words from words of the person."""
SCENE_CHARS: Final = 1_000_000
"""Characters of all these profiles together: the shortest are read."""
ROOM_CHARS: Final = 200_000
"""Of the profile of each of the others in the room, from its beginning."""
_BESIDE: Final = ThreadPoolExecutor(1, thread_name_prefix="erasing")
"""Comparing the words of long profiles takes seconds. Nobody else waits for this thread, and the event loop is left free."""

_STRUCTURED: Final = ("projection", "observation", "plan", "tension")
THEIR_WORDS: Final = ("profile", "words", "projection", "intent", "tension", "strategy", "mandate", "feedback")
"""Kinds of texts that are a person's own; answers and deliveries under their key repeat what others said as well."""


class Rewritten(Value):
    """How many texts of others were rewritten, and how many removed."""

    rewritten: int
    removed: int


async def rewrite_without(
    connection: Connection, person: str, *, seats: Mapping[str, str], roots: Sequence[str], program: Sequence[str] = ()
) -> Rewritten:
    """Rewrite every process in the trees of `roots`, inside the caller's transaction. Repeating it handles what is new since.

    `seats`: the person's alias by process, wherever they sit or brought the intent. `program`: sentences of the program's engines.
    """
    names = await _names(connection, person)
    rewritten = removed = 0
    for root in roots:
        tree = await _tree(connection, root)
        there = {process_id: alias for process_id, alias in seats.items() if process_id in tree}
        own, said = await _own(connection, tree, person), await _said(connection, tree, person)
        rewriting = _Rewriting(connection, person, there, own, names, program, said)
        for process_id, parent in tree.items():
            await rewriting.process(process_id, parent)
        rewritten, removed = rewritten + rewriting.rewritten, removed + rewriting.removed
    return Rewritten(rewritten=rewritten, removed=removed)


class _Rewriting:
    """Goes through the texts of the processes of one tree. `own`: texts of the person that it could read; `names`: what names them. `said`: the words that stand in these
    processes."""

    def __init__(
        self,
        connection: Connection,
        person: str,
        seats: Mapping[str, str],
        own: Sequence[_Own],
        names: _Names,
        program: Sequence[str],
        said: AbstractSet[str],
    ) -> None:
        self._connection, self._person = connection, person
        self._seats, self._own, self._names, self._program, self._said = seats, own, names, program, said
        self._erasures: dict[str, Erasure] = {}
        self.rewritten = self.removed = 0

    async def process(self, process_id: str, parent: str | None) -> None:
        """Structures first, rewritten without the person; then whatever else of the process still touches them. Parents come first."""
        rows = await _rows(self._connection, process_id, self._person)
        if self._seats.get(process_id) == DEMANDER:  # all that was said in it answers to their tension
            rows = [row.model_copy(update={"independent": False}) for row in rows]
        texts = await get_texts(self._connection, [row.text_id for row in rows], erased="")
        scene = await _scene_texts(self._connection, process_id, self._person)

        def compared() -> Erasure:
            return Erasure(
                process_id,
                seats=self._seats,
                words=[one.text for one in self._own],
                within=self._said,
                elsewhere=[*scene, *(_plain(row.kind, texts[row.text_id]) for row in rows if row.independent)],
                later=self._said_later(rows, texts),
                identities=self._names.of(process_id, self._seats),
                program=self._program,
                quoted=self._tensions(rows, texts) if self._seats.get(process_id) == DEMANDER else (),
                parent=self._erasures.get(parent or ""),
            )

        erasure = await asyncio.get_running_loop().run_in_executor(_BESIDE, compared)
        self._erasures[process_id] = erasure
        for row in rows:
            if not await self._structured(row, texts[row.text_id], erasure):
                goes = erasure.names if row.independent else erasure.touches
                if goes(_plain(row.kind, texts[row.text_id])):
                    self.removed += await remove_texts(self._connection, [row.text_id])
        await self._calls(process_id)
        await self._deliveries(process_id)

    def _tensions(
        self, rows: Sequence[_Row], texts: Mapping[str, str], kinds: Sequence[str] = ("tension", "intent")
    ) -> list[str]:
        """The intent and the tension of the process, and those that the person wrote."""
        own = [one.text for one in self._own if one.kind in kinds]
        return own + [texts[row.text_id] for row in rows if row.kind in kinds]

    def _said_later(self, rows: Sequence[_Row], texts: Mapping[str, str]) -> list[tuple[str, list[str]]]:
        """What others said in a turn or of the plan, each with what was there before and its author may have read.

        What came after the erasure was asked for is left out: by then observations may have been rewritten, and tell no longer what was read.
        """
        tensions = self._tensions(rows, texts, ["tension"])  # nobody but the demander reads the intent
        seen = [(row.created_at, texts[row.text_id]) for row in rows if row.kind == "observation"]
        planned = [
            (row.created_at, _without_markdown(texts[row.text_id]))
            for row in rows
            if row.kind in ("plan", "delivery") and texts[row.text_id].startswith("{")
        ]
        said = [one.text for one in self._own if one.kind in ("projection", "words")]
        found = []
        for row in rows:
            if row.heard and row.created_at < self._names.asked_at:
                of_plan = row.heard > 1
                there = [*seen, *planned] if of_plan else seen
                read = [*tensions, *(text for at, text in there if at <= row.created_at), *(said if of_plan else ())]
                found.append((_plain(row.kind, texts[row.text_id]), read))
        return found

    async def _structured(self, row: _Row, text: str, erasure: Erasure) -> bool:
        """Rewrite what has a structure; False for what has none."""
        new: Value
        match row.kind:
            case "projection":
                said = read_projection(text)
                new = erasure.projection(said, independent=row.independent)
                if new == said:
                    return True
            case "observation":
                new = erasure.observation(read_observation(text))
            case "plan":
                if text.startswith("{"):
                    await self._plan(row.text_id, erasure.plan(read_plan(text)))
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
        """Of a delivery that is gone, what is left of the plan for whom it was made, unless they were erased themselves."""
        cursor = await self._connection.execute(
            """SELECT d.alias, d.language, d.text_id, p.text_id AS plan FROM deliveries d
               JOIN plans p USING (process_id, revision) JOIN texts o ON o.id = d.text_id
               JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id)
               WHERE d.process_id = %s AND t.body IS NULL AND t.owner NOT IN (SELECT owner FROM tombstones)""",
            [process_id],
        )
        for row in await cursor.fetchall():
            plan = (await get_texts(self._connection, [row["plan"]], erased=""))[row["plan"]]
            if plan:
                language: Language = "zh" if row["language"] == "zh" else "en"
                left, alias = read_plan(plan), row["alias"]
                delivery = settle_delivery(DeliveryDraft(), alias=alias, plan=left, language=language)
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
        await ask_anew(self._connection, process_id)


class _Row(Value):
    """A text of a process, by the id that the tables name. `independent`: written before its author could know of anybody else's words.

    `heard`: what its author had read. 1, of what was said in a turn: the tension and the observations. 2, of an answer to the plan or what came
    of it: also the plan and what was said in the rounds. 0: nobody said it, or it is not told. `created_at`: of the text as it was first.
    """

    text_id: str
    owner: str
    kind: str
    independent: bool
    heard: int
    created_at: datetime


class _Own(Value):
    """A text of the person, in words."""

    kind: str
    text: str


class _Names(Value):
    """What names the person: `now`, and by process as it was stored there when the room was seated. `asked_at`: when they had themself erased.

    Where it was stored, a name that was taken later does not count: nobody could have meant them by it, and it may be a word of others.
    """

    now: tuple[str, ...]
    stored: dict[str, tuple[str, ...]]
    asked_at: datetime

    def of(self, process_id: str, seats: Mapping[str, str]) -> tuple[str, ...]:
        """For one process. Where they have no seat: those of the processes of its tree, which `seats` names by alias."""
        found = [
            self.stored.get(text_id("identities", one, alias)) for one, alias in seats.items() if one == process_id
        ]
        if not found:
            found = [self.stored.get(text_id("identities", one, alias)) for one, alias in seats.items()]
        return tuple(dict.fromkeys(name for names in found for name in (self.now if names is None else names)))


async def _rows(connection: Connection, process_id: str, person: str) -> list[_Row]:
    """Every text of a process that is still there, without those of the person and of others who had themselves erased."""
    cursor = await connection.execute(
        rewriting_queries.TEXTS, {"process": process_id, "owner": f"process:{process_id}", "who": person}
    )
    return [_Row.model_validate(row) for row in await cursor.fetchall()]


async def _tree(connection: Connection, root: str) -> dict[str, str | None]:
    """The processes of a tree, each with its parent. Parents come first."""
    cursor = await connection.execute(
        "SELECT id, parent_id FROM processes WHERE root_id = %s ORDER BY depth, id", [root]
    )
    return {row["id"]: row["parent_id"] for row in await cursor.fetchall()}


async def _own(connection: Connection, tree: Iterable[str], person: str) -> list[_Own]:
    """What is theirs and could be read in these processes; of projections the texts of items alone."""
    kinds: dict[str, str] = {}
    for process_id in tree:
        values = {"process": process_id, "owner": f"process:{process_id}", "who": person, "kinds": list(THEIR_WORDS)}
        cursor = await connection.execute(rewriting_queries.OWN, values)
        kinds |= {row["id"]: row["kind"] for row in await cursor.fetchall()}
    texts = await get_texts(connection, kinds, erased="", gone=True)
    return [_Own(kind=kinds[id], text=_plain(kinds[id], text)) for id, text in texts.items()]


async def _said(connection: Connection, tree: Iterable[str], person: str) -> set[str]:
    """The words of all that stands in these processes and is not the person's. Other words of theirs need not be remembered."""
    found = set[str]()
    for process_id in tree:
        rows = await _rows(connection, process_id, person)
        texts = await get_texts(connection, [row.text_id for row in rows], erased="")
        for row in rows:
            text = texts[row.text_id]
            has_fields = row.kind in _STRUCTURED and text.startswith("{")
            structure = strings_in(json.loads(text)) if has_fields else ()
            found |= await asyncio.get_running_loop().run_in_executor(
                _BESIDE, grams, [*structure, _plain(row.kind, text)]
            )
    return found


async def _scene_texts(connection: Connection, process_id: str, person: str) -> list[str]:
    """Frozen profiles of the others in the room, and profiles of their scene: the words of everybody."""
    values = {"process": process_id, "who": person, "limit": SCENE_PROFILES, "chars": SCENE_CHARS}
    found = []
    for query, chars in ((rewriting_queries.ROOM, ROOM_CHARS), (rewriting_queries.SCENE, SCENE_CHARS)):
        cursor = await connection.execute(query, values)
        for row in await cursor.fetchall():  # one at a time: each may have two million characters
            texts = await get_texts(connection, [row["text_id"]], erased="")
            found += [text[:chars] for text in texts.values()]
    return found


async def _names(connection: Connection, person: str) -> _Names:
    cursor = await connection.execute("SELECT identity, identity_sealed FROM profiles WHERE id = %s", [person])
    rows = [Stored(person, IDENTITY, row["identity"], row["identity_sealed"]) for row in await cursor.fetchall()]
    now = [name for value in await open_values(connection, rows) for name in strings_in(value)]
    cursor = await connection.execute(
        "SELECT id FROM texts WHERE owner = %s AND kind = 'identities' AND body IS NOT NULL", [person]
    )
    stored = await get_texts(connection, [row["id"] for row in await cursor.fetchall()], erased="", gone=True)
    cursor = await connection.execute(
        "SELECT COALESCE((SELECT asked_at FROM tombstones WHERE owner = %s), now()) AS at", [person]
    )
    asked = await cursor.fetchone()
    assert asked is not None
    return _Names(
        now=tuple(dict.fromkeys(now)),
        stored={id: tuple(json.loads(text)) for id, text in stored.items() if text},
        asked_at=asked["at"],
    )


def _plain(kind: str, text: str) -> str:
    """Words without the structure around them."""
    if not text or kind not in ("projection", "delivery"):
        return text
    if kind == "delivery":
        return "\n".join(strings_in(json.loads(text)))
    return read_projection(text).text


def _without_markdown(text: str) -> str:
    """The structure of a plan or of a delivery. The Markdown says the same between sentences of the program."""
    return json.dumps({**json.loads(text), "markdown": ""}, ensure_ascii=False)
