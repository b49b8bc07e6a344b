"""Plans, deliveries, and participants' answers. Their words are in `texts`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.database import RecordsError, Repository, transaction
from tongyao.records.privacy.shared_texts import shared_text_id
from tongyao.records.privacy.texts import get_texts, put_text, remove_texts


class PlanRow(Value):
    """One revision of a plan: the ids of its JSON and its Markdown, the number of claims, and the number of claims with a source."""

    revision: int
    text_id: str
    markdown_text_id: str
    reduced: bool = False
    claims: int = 0
    supported: int = 0
    at: datetime | None = Field(default=None, description="When it was written down; set by the records.")


class DeliveryRow(Value):
    """One participant's own part of one revision of the plan."""

    revision: int
    alias: str
    text_id: str
    language: str
    at: datetime | None = Field(default=None, description="When it was written down; set by the records.")


class AnswerRow(Value):
    """One participant's decision on one revision. `text_id` is set if they added words."""

    revision: int
    alias: str
    decision: Literal["commit", "decline", "propose"]
    text_id: str | None = None
    at: datetime | None = Field(default=None, description="When it was written down; set by the records.")


class Acceptance(Value):
    """The answers to plans. `asked`: the number of deliveries to participants, of valid revisions."""

    asked: int
    commit: int
    decline: int
    propose: int

    @property
    def rate(self) -> float | None:
        """通过率: the share of commitments among all answers, 0 to 1. None if there is no answer."""
        answered = self.commit + self.decline + self.propose
        return self.commit / answered if answered else None


PLANS: Final = """SELECT revision, text_id, markdown_text_id, reduced, claims, supported, at
    FROM plans WHERE process_id = %(process)s ORDER BY revision"""
DELIVERIES: Final = """SELECT revision, alias, text_id, language, at
    FROM deliveries WHERE process_id = %(process)s ORDER BY revision, alias"""
ANSWERS: Final = """SELECT revision, alias, decision, text_id, at
    FROM answers WHERE process_id = %(process)s ORDER BY revision, alias"""


class Plans(Repository):
    """Plans of processes. A revision or a delivery that is written again is replaced. The first answer stays."""

    async def put_plan(self, process_id: str, row: PlanRow) -> None:
        await self._run(
            """INSERT INTO plans
                   (process_id, revision, text_id, markdown_text_id, reduced, claims, supported)
               VALUES (%(process)s, %(revision)s, %(text_id)s, %(markdown_text_id)s, %(reduced)s, %(claims)s, %(supported)s)
               ON CONFLICT (process_id, revision) DO UPDATE SET
                   text_id = excluded.text_id, markdown_text_id = excluded.markdown_text_id,
                   reduced = excluded.reduced, claims = excluded.claims, supported = excluded.supported,
                   at = now()""",
            {"process": process_id, **row.model_dump(exclude={"at"})},
        )

    async def plans(self, process_id: str) -> list[PlanRow]:
        """Every revision, oldest first."""
        return await self._all(PlanRow, PLANS, {"process": process_id})

    async def latest(self, process_id: str) -> PlanRow | None:
        """The valid revision, which is the last one. None if there is no plan yet."""
        plans = await self.plans(process_id)
        return plans[-1] if plans else None

    async def put_deliveries(self, process_id: str, rows: Sequence[DeliveryRow]) -> None:
        await self._run(
            """INSERT INTO deliveries (process_id, revision, alias, text_id, language)
               SELECT %s, d.* FROM jsonb_to_recordset(%s)
                   AS d (revision int, alias text, text_id uuid, language text)
               ON CONFLICT (process_id, revision, alias) DO UPDATE
               SET text_id = excluded.text_id, language = excluded.language, at = now()""",
            [process_id, Jsonb([row.model_dump(mode="json", exclude={"at"}) for row in rows])],
        )

    async def answers(self, process_id: str) -> list[AnswerRow]:
        """The answers of a process, by revision, then alias."""
        return await self._all(AnswerRow, ANSWERS, {"process": process_id})

    async def decisions(self, process_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """The answers to the valid plans, by process and alias."""
        found: dict[str, dict[str, str]] = {}
        for row in await self._rows(
            """SELECT process_id, alias, decision FROM answers a
               WHERE process_id = ANY(%s)
                 AND revision = (SELECT max(revision) FROM plans p WHERE p.process_id = a.process_id)
               ORDER BY process_id, alias""",
            [list(process_ids)],
        ):
            found.setdefault(row["process_id"], {})[row["alias"]] = row["decision"]
        return found

    async def acceptance(
        self, *, process_id: str | None = None, scene: str | None = None, since: datetime | None = None
    ) -> Acceptance:
        """Count answers to the latest revision of each plan. Optionally only of one process, of a scene, or of plans made since a time."""
        found = await self._one(
            Acceptance,
            """WITH held AS (
                   SELECT DISTINCT ON (q.process_id) q.process_id, q.revision
                   FROM plans q JOIN processes p ON p.id = q.process_id
                   WHERE (%(process)s::text IS NULL OR p.id = %(process)s)
                     AND (%(scene)s::text IS NULL OR p.scene_id = %(scene)s)
                     AND (%(since)s::timestamptz IS NULL OR q.at >= %(since)s)
                   ORDER BY q.process_id, q.revision DESC)
               SELECT count(*) AS asked,
                   count(*) FILTER (WHERE a.decision = 'commit') AS commit,
                   count(*) FILTER (WHERE a.decision = 'decline') AS decline,
                   count(*) FILTER (WHERE a.decision = 'propose') AS propose
               FROM held JOIN deliveries d USING (process_id, revision)
               LEFT JOIN answers a USING (process_id, revision, alias)""",
            {"process": process_id, "scene": scene, "since": since},
        )
        assert found is not None
        return found


class NobodyThere(RecordsError):
    """There is no seat with this alias in the process."""


class Contacts(Repository):
    """Contacts in all processes. Each contact belongs to the person who gave it."""

    async def put(self, process_id: str, alias: str, words: str) -> None:
        """Store the contact that `alias` gives to the others who committed. It replaces the one before. Empty words
        remove it.

        Raises `NobodyThere`, `TextErased`.
        """
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT COALESCE(s.profile_id, p.demander) AS person FROM processes p
                   LEFT JOIN seats s ON s.process_id = p.id AND s.alias = %(alias)s
                   WHERE p.id = %(process)s AND (s.alias IS NOT NULL OR %(alias)s = %(demander)s)""",
                {"process": process_id, "alias": alias, "demander": DEMANDER},
            )
            found = await cursor.fetchone()
            if found is None:
                raise NobodyThere(f"there is no seat {alias} in {process_id}")
            before = await connection.execute(
                "DELETE FROM contacts WHERE process_id = %s AND alias = %s RETURNING text_id", [process_id, alias]
            )
            replaced = [one["text_id"] for one in await before.fetchall()]
            if words.strip():
                text_id = await put_text(connection, found["person"], "contact", words)
                await connection.execute(
                    "INSERT INTO contacts (process_id, alias, person, text_id) VALUES (%s, %s, %s, %s)",
                    [process_id, alias, found["person"], text_id],
                )
            await remove_texts(connection, replaced)

    async def of_person(self, person: str) -> dict[str, str]:
        """The contacts that one person gave, by process."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT process_id, text_id FROM contacts WHERE person = %s ORDER BY process_id", [person]
            )
            rows = await cursor.fetchall()
            texts = await get_texts(connection, [one["text_id"] for one in rows], erased="")
        return {one["process_id"]: texts[one["text_id"]] for one in rows if texts[one["text_id"]]}


Result = Literal["done", "partly", "not_done", "too_early"]


class NothingToJudge(RecordsError):
    """The plan does not exist, or this participant got no part of it."""


class FeedbackRow(Value):
    """One participant's feedback on one revision of a plan. New feedback replaces earlier feedback."""

    alias: str
    revision: int
    usefulness: int | None = Field(default=None, ge=1, le=5, description="1: of no use. 5: it changed my actions.")
    outcome: Result | None = None
    text_id: str | None = None
    person: str = Field(default="", description="The person who gave the feedback.", exclude=True)
    at: datetime | None = None


class Feedback(Repository):
    """Feedback on all plans. Its words belong to the person who wrote them."""

    async def put(self, process_id: str, row: FeedbackRow, *, words: str = "") -> FeedbackRow:
        """Store the feedback of `row.alias` on a revision, with `words` if there are any.

        It also works after the end of the process. Raises `NothingToJudge`, `TextErased`.
        """
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT COALESCE(s.profile_id, p.demander) AS person FROM plans q
                   JOIN processes p ON p.id = q.process_id
                   LEFT JOIN seats s ON s.process_id = p.id AND s.alias = %(alias)s
                   WHERE q.process_id = %(process)s AND q.revision = %(revision)s
                     AND (s.alias IS NOT NULL OR %(alias)s = %(demander)s)""",
                {"process": process_id, "revision": row.revision, "alias": row.alias, "demander": DEMANDER},
            )
            found = await cursor.fetchone()
            if found is None:
                raise NothingToJudge(f"{process_id} has no plan {row.revision} of which {row.alias} got a part")
            before = await connection.execute(
                """SELECT text_id FROM feedback WHERE process_id = %s AND alias = %s AND revision = %s AND text_id IS NOT NULL
                   FOR UPDATE""",
                [process_id, row.alias, row.revision],
            )
            replaced = [one["text_id"] for one in await before.fetchall()]
            text_id = await put_text(connection, found["person"], "feedback", words) if words.strip() else None
            await connection.execute(
                """INSERT INTO feedback (process_id, alias, person, revision, usefulness, outcome, text_id)
                   VALUES (%s, %s, %s, %s, %s, %s, %s)
                   ON CONFLICT (process_id, alias, revision) DO UPDATE SET usefulness = excluded.usefulness,
                       outcome = excluded.outcome, text_id = excluded.text_id, at = now()""",
                [process_id, row.alias, found["person"], row.revision, row.usefulness, row.outcome, text_id],
            )
            await remove_texts(connection, [*replaced, *map(shared_text_id, replaced)])
        return next(
            one for one in await self.of_process(process_id) if (one.alias, one.revision) == (row.alias, row.revision)
        )

    async def of_process(self, process_id: str) -> list[FeedbackRow]:
        """The feedback of a process, by revision, then alias."""
        return await self._all(
            FeedbackRow,
            """SELECT alias, revision, usefulness, outcome, text_id, person, at FROM feedback
               WHERE process_id = %s ORDER BY revision, alias""",
            [process_id],
        )

    async def words(self, process_id: str, alias: str, revision: int, *, shared: bool = False) -> str:
        """A participant's own words, or (`shared`) their form for others. Empty if there are none or they were erased."""
        rows = [one for one in await self.of_process(process_id) if (one.alias, one.revision) == (alias, revision)]
        text_id = rows[0].text_id if rows else None
        if text_id is None:
            return ""
        async with transaction(self._pool) as connection:
            wanted = shared_text_id(text_id) if shared else text_id
            return (await get_texts(connection, [], known=[wanted])).get(wanted, "")
