"""Plans, deliveries, and participants' answers. Their words are in `texts`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository


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
