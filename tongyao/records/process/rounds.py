"""The record of the rounds: projections and observations, with counts and text ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository, transaction


class ProjectionRow(Value):
    """One turn. `text_id`: JSON of the `Projection`; None if nothing was said. `guards`: counts by guard."""

    round: int
    alias: str
    outcome: Outcome
    author: EndpointKind = EndpointKind.PROXY
    text_id: str | None = None
    items: int = 0
    chars: int = 0
    struck: int = 0
    guards: dict[str, int] = Field(default_factory=dict)
    seconds: float = 0.0
    at: datetime | None = Field(default=None, description="When it was written down; set by the records.")


class ObservationRow(Value):
    """One round's observation. `text_id`: JSON of the `Observation`."""

    round: int
    verdict: Verdict
    text_id: str
    chars: int = 0
    struck: int = 0
    guards: dict[str, int] = Field(default_factory=dict)
    seconds: float = 0.0
    at: datetime | None = Field(default=None, description="When it was written down; set by the records.")


PROJECTIONS: Final = """SELECT round, alias, outcome, author, text_id, items, chars, struck, guards, seconds, at
    FROM projections WHERE process_id = %(process)s
        AND (%(aliases)s::text[] IS NULL OR alias = ANY(%(aliases)s)) ORDER BY round, alias"""
OBSERVATIONS: Final = """SELECT round, verdict, text_id, chars, struck, guards, seconds, at
    FROM observations WHERE process_id = %(process)s ORDER BY round"""


class Rounds(Repository):
    """Projections and observations of processes. A turn or a round that is written again is replaced."""

    async def put_projections(
        self,
        process_id: str,
        rows: Sequence[ProjectionRow],
        *,
        revisions: Mapping[str, int] = MappingProxyType({}),
        run_id: str = "",
    ) -> None:
        """Write turns. A turn is skipped if the step that writes it is late.

        The step is late if the participant has left in this round. It is also late if the workflow run `run_id`, to
        which the step belongs, has received newer words since or has let the turn lapse. `revisions`: the revision of
        the turn's words that is written, by alias; 1 if missing. If a run has written nothing yet, it may be the result
        of a reset, and the events in the records are not its own.
        """
        turns = [
            {
                **row.model_dump(mode="json", exclude={"at"}),
                "words": revisions.get(row.alias, 1) if row.author is not EndpointKind.PROXY else 0,
            }
            for row in rows
        ]
        async with transaction(self._pool) as connection:
            await connection.execute("SELECT 1 FROM processes WHERE id = %s FOR SHARE", [process_id])
            await connection.execute(
                """INSERT INTO projections (process_id, round, alias, outcome, author, text_id,
                       items, chars, struck, guards, seconds)
                   SELECT %(process)s, n.round, n.alias, n.outcome, n.author, n.text_id,
                       n.items, n.chars, n.struck, n.guards, n.seconds
                   FROM jsonb_to_recordset(%(turns)s) AS n (round int, alias text, outcome text, author text, text_id uuid,
                           items int, chars int, struck int, guards jsonb, seconds float, words int),
                       LATERAL (SELECT
                           count(*) FILTER (WHERE e.data ->> 'outcome' = 'left') AS ends,
                           count(*) FILTER (WHERE e.data ->> 'outcome' = 'lapsed') AS lapses,
                           count(*) FILTER (WHERE e.kind = 'words_arrived') AS words
                           FROM events e WHERE e.process_id = %(process)s AND NOT e.superseded
                               AND e.kind IN ('projection_received', 'words_arrived')
                               AND e.data @> jsonb_build_object('round', n.round, 'alias', n.alias)) AS heard
                   WHERE heard.ends = 0 AND NOT ((heard.lapses > 0 OR heard.words > n.words)
                       AND EXISTS (SELECT 1 FROM epochs WHERE process_id = %(process)s AND run_id = %(run)s))
                   ON CONFLICT (process_id, round, alias) DO UPDATE SET
                       outcome = excluded.outcome, author = excluded.author, text_id = excluded.text_id,
                       items = excluded.items, chars = excluded.chars, struck = excluded.struck,
                       guards = excluded.guards, seconds = excluded.seconds, at = now()""",
                {"process": process_id, "turns": Jsonb(turns), "run": run_id},
            )

    async def put_observation(self, process_id: str, row: ObservationRow) -> None:
        await self._run(
            """INSERT INTO observations
                   (process_id, round, verdict, text_id, chars, struck, guards, seconds)
               VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
               ON CONFLICT (process_id, round) DO UPDATE SET
                   verdict = excluded.verdict, text_id = excluded.text_id, chars = excluded.chars,
                   struck = excluded.struck, guards = excluded.guards, seconds = excluded.seconds,
                   at = now()""",
            [process_id, row.round, row.verdict.value, row.text_id, row.chars, row.struck,
             Jsonb(row.guards), row.seconds],
        )  # fmt: skip

    async def projections(self, process_id: str) -> list[ProjectionRow]:
        """All turns, by round, then alias."""
        return await self._all(ProjectionRow, PROJECTIONS, {"process": process_id, "aliases": None})

    async def observations(self, process_id: str) -> list[ObservationRow]:
        """The observations of a process, by round."""
        return await self._all(ObservationRow, OBSERVATIONS, {"process": process_id})
