"""The record of the rounds: who said how much and what the catalyst saw, by text ids."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, reading, transaction


class ProjectionRow(Value):
    """One turn. `text_id`: JSON of the `Projection`, None if nothing was said; `guards`: counts by guard."""

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
    """One round's observation. `text_id` is the JSON of the `Observation`."""

    round: int
    verdict: Verdict
    text_id: str
    chars: int = 0
    struck: int = 0
    guards: dict[str, int] = Field(default_factory=dict)
    seconds: float = 0.0
    at: datetime | None = Field(default=None, description="When it was written down; set by the records.")


class Rounds:
    """Projections and observations of processes. Writing a turn or a round again replaces it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put_projection(self, process_id: str, row: ProjectionRow, *, revision: int = 1, run_id: str = "") -> None:
        """Write a turn, unless the step that does is late for it: then nothing is written.

        It is late where the participant has left in this round; and where `run_id`, the run of the workflow that the step is of, has
        heard other words since, or has let the turn lapse. `revision`: which of the turn's words it holds. A run that has written
        nothing yet may have been reset: what stands in the events is not its own.
        """
        async with transaction(self._pool) as connection:
            await connection.execute("SELECT 1 FROM processes WHERE id = %s FOR SHARE", [process_id])
            await connection.execute(
                """WITH of_turn AS (
                       SELECT e.kind, e.data ->> 'outcome' AS outcome FROM events e
                       WHERE e.process_id = %(process)s AND NOT e.superseded
                         AND e.kind IN ('projection_received', 'words_arrived')
                         AND e.data @> jsonb_build_object('round', %(round)s::int, 'alias', %(alias)s::text)),
                   known AS (SELECT 1 FROM epochs WHERE process_id = %(process)s AND run_id = %(run)s)
                   INSERT INTO projections (process_id, round, alias, outcome, author, text_id,
                       items, chars, struck, guards, seconds)
                   SELECT %(process)s, %(round)s, %(alias)s, %(outcome)s, %(author)s, %(text)s,
                       %(items)s, %(chars)s, %(struck)s, %(guards)s, %(seconds)s
                   WHERE NOT EXISTS (SELECT 1 FROM of_turn WHERE outcome = 'left')
                     AND NOT (EXISTS (SELECT 1 FROM known) AND (
                         EXISTS (SELECT 1 FROM of_turn WHERE outcome = 'lapsed')
                         OR (SELECT count(*) FROM of_turn WHERE kind = 'words_arrived') > %(words)s))
                   ON CONFLICT (process_id, round, alias) DO UPDATE SET
                       outcome = excluded.outcome, author = excluded.author, text_id = excluded.text_id,
                       items = excluded.items, chars = excluded.chars, struck = excluded.struck,
                       guards = excluded.guards, seconds = excluded.seconds, at = now()""",
                {
                    "process": process_id, "round": row.round, "alias": row.alias, "outcome": row.outcome.value,
                    "author": row.author.value, "text": row.text_id, "items": row.items, "chars": row.chars,
                    "struck": row.struck, "guards": Jsonb(row.guards), "seconds": row.seconds,
                    "run": run_id, "words": revision if row.author is not EndpointKind.PROXY else 0,
                },
            )  # fmt: skip

    async def put_observation(self, process_id: str, row: ObservationRow) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(
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

    async def projections(
        self, process_id: str, round: int | None = None, *, aliases: Sequence[str] | None = None
    ) -> list[ProjectionRow]:
        """All turns, or those of one round, of these aliases; by round, then alias."""
        async with reading(self._pool, ProjectionRow) as cursor:
            await cursor.execute(
                """SELECT round, alias, outcome, author, text_id, items, chars, struck, guards, seconds, at
                   FROM projections
                   WHERE process_id = %(process)s AND (%(round)s::int IS NULL OR round = %(round)s)
                       AND (%(aliases)s::text[] IS NULL OR alias = ANY(%(aliases)s))
                   ORDER BY round, alias""",
                {"process": process_id, "round": round, "aliases": list(aliases) if aliases is not None else None},
            )
            return await cursor.fetchall()

    async def observations(self, process_id: str) -> list[ObservationRow]:
        """By round."""
        async with reading(self._pool, ObservationRow) as cursor:
            await cursor.execute(
                """SELECT round, verdict, text_id, chars, struck, guards, seconds, at
                   FROM observations WHERE process_id = %s ORDER BY round""",
                [process_id],
            )
            return await cursor.fetchall()
