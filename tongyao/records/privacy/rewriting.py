"""Removes an erased person's items, and everything that rests on these items alone, from the texts of others (docs/erasure.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongyao.protocol.guards.plans import settle_delivery
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.plan import DeliveryDraft, Plan
from tongyao.protocol.model.requests import known_language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.upcast import read_observation, read_plan
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.redaction import Erasure
from tongyao.records.database import Connection, wait_for_others
from tongyao.records.privacy.shared_texts import lock_of, shared_text_id
from tongyao.records.privacy.texts import get_texts, remove_texts, replace_text
from tongyao.records.waiting_calls import ask_anew


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
