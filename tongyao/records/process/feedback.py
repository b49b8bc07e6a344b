"""Feedback on plans by their participants: usefulness and outcome (docs/plans.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.database import RecordsError, Repository, transaction
from tongyao.records.privacy.shared_texts import shared_text_id
from tongyao.records.privacy.texts import get_texts, put_text, remove_texts

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
        return next(one for one in await self.of_process(process_id) if (one.alias, one.revision) == _key(row))

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


def _key(row: FeedbackRow) -> tuple[str, int]:
    return row.alias, row.revision
