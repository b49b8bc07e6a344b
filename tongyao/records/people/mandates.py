"""Mandates: whether a person's proxy may speak, and about which topics (docs/protocol.md §3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository


class MandateRow(Value):
    """Whether the proxy may speak, and the id of the text with the other orders (JSON of topics, never, addition), if there is one."""

    profile_id: str
    may_speak: bool = True
    text_id: str | None = None
    updated_at: datetime | None = None


class MandateRows(Repository):
    """Whether each proxy may speak, by profile id. The words of mandates are in `texts`."""

    async def get_many(self, profile_ids: Sequence[str]) -> dict[str, MandateRow]:
        """The mandates as they stand now; one that allows everything for a person who never set one."""
        rows = await self._all(
            MandateRow,
            "SELECT profile_id, may_speak, text_id, updated_at FROM mandates WHERE profile_id = ANY(%s)",
            [list(profile_ids)],
        )
        said = {row.profile_id: row for row in rows}
        return {id: said.get(id) or MandateRow(profile_id=id) for id in profile_ids}

    async def put(
        self, profile_id: str, *, may_speak: bool, text_id: str | None = None, answerers: Sequence[str] = ()
    ) -> None:
        """Replace the mandate. It applies from the next call on. `answerers`: names of answerers (`tongyao.records.waiting_calls`)."""
        await self._run(
            """INSERT INTO mandates (profile_id, may_speak, text_id, answerers) VALUES (%s, %s, %s, %s)
               ON CONFLICT (profile_id) DO UPDATE
               SET may_speak = excluded.may_speak, text_id = excluded.text_id, answerers = excluded.answerers,
                   updated_at = now()""",
            [profile_id, may_speak, text_id, list(answerers)],
        )
