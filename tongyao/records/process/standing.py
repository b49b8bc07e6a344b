"""Standing tensions, which wait in a scene, and the people found for them (docs/protocol.md §7.8).

Each new profile version is compared with the standing tensions once. One transaction marks the version as searched,
stores the people found and opens the asks to the demanders. Therefore nothing is lost or repeated after an
interruption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.events import AskName
from tongyao.protocol.model.ids import OWN_TENSION, ask_id
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, fetch_all, fetch_one, one_at_a_time, session, transaction
from tongyao.records.privacy.texts import text_id

DAYS: Final = 90
"""Days for which a standing tension waits, unless its demander chooses another number."""

PER_WEEK: Final = 3
"""Most candidates that a demander is asked about in a week, for one standing tension, by default."""

MOST_STANDING: Final = 50
"""Most standing tensions of one demander that wait at the same time."""

MOST_PER_DAY: Final = 10
"""Most candidates that one demander is asked about in a day, for all their standing tensions together."""


class StandingTension(Value):
    """A row of the table of this name. `residual`: the id of a residual, or `OWN_TENSION`. `people`: the owners of the
    items on which it rests. `searched`: it was compared with all people who came since its process began."""

    id: str
    scene_id: str
    process_id: str
    residual: str
    demander: str
    text_id: str
    people: list[str] = Field(default_factory=list)
    visible: bool = False
    per_week: int = PER_WEEK
    until: datetime
    searched: bool = False
    child: str | None = None
    created_at: datetime
    closed_at: datetime | None = None


class StandingMatch(Value):
    """A person who answers a standing tension.

    `perspective`: empty for people who stepped forward themselves. `begun`: the demander's answer.
    """

    standing_id: str
    profile_id: str
    version: int
    number: int = 0
    perspective: str = ""
    score: float = 0.0
    reasons: list[Any] = Field(default_factory=list)
    asked_at: datetime | None = None
    begun: bool | None = None

    @property
    def ask(self) -> str:
        return ask_id(AskName.CANDIDATE, self.standing_id, self.number)


def standing_id(process_id: str, residual: str) -> str:
    return "s-" + text_id("standing", process_id, residual).replace("-", "")[:16]


class StandingTensions:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def not_looked_through(self, most: int = 50) -> list[str]:
        """Processes that may have left something open: ended processes, and processes for which too few people were found."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(_NOT_LOOKED_THROUGH, [most])
            return [row["id"] for row in await cursor.fetchall()]

    async def stand(self, process_id: str, tensions: Sequence[StandingTension]) -> int:
        """Store the standing tensions of a process, and mark an ended process as examined. Existing rows stay
        unchanged. Returns the number of new rows."""
        async with transaction(self._pool) as connection:
            stored = [await connection.execute(_STAND + "DO NOTHING", row.model_dump()) for row in tensions]
            await connection.execute(
                "UPDATE processes SET stood = true WHERE id = %s AND ended_at IS NOT NULL", [process_id]
            )
        return sum(cursor.rowcount for cursor in stored)

    async def keep(self, row: StandingTension) -> bool:
        """Store a demander's standing tension, and open it if it was closed. False if `MOST_STANDING` others wait."""
        async with transaction(self._pool) as connection:
            return bool((await connection.execute(_STAND + _ANEW, row.model_dump())).rowcount)

    async def close(self, id: str, now: datetime, *, child: str | None = None) -> None:
        """Close a standing tension and its asks. `child`: the process that takes it up."""
        async with transaction(self._pool) as connection:
            await connection.execute(
                "UPDATE standing_tensions SET closed_at = %s, child = COALESCE(%s, child) WHERE id = %s AND closed_at IS NULL",
                [now, child, id],
            )
            await connection.execute(_CLOSE_ASKS, {"now": now})

    async def close_those_over(self, now: datetime) -> None:
        """Close standing tensions whose date has passed, whose residual has a process, or whose process continued. Also
        close their asks.
        """
        async with transaction(self._pool) as connection:
            await connection.execute(
                """UPDATE standing_tensions s SET closed_at = %(now)s
                   FROM processes p WHERE p.id = s.process_id AND s.closed_at IS NULL
                     AND (s.until <= %(now)s OR p.branch_cancelled OR (p.ended_at IS NULL AND p.phase <> 'selecting')
                          OR EXISTS (SELECT 1 FROM processes c WHERE c.parent_id = p.id AND c.id = p.id || '.'
                              || regexp_replace(s.residual, '^plan/(\\d+)/(residual|hole)/', '\\1-')))""",
                {"now": now},
            )
            await connection.execute(_CLOSE_ASKS, {"now": now})

    async def get(self, id: str) -> StandingTension | None:
        return await fetch_one(self._pool, StandingTension, "SELECT * FROM standing_tensions WHERE id = %s", [id])

    async def of_demander(self, person: str) -> list[StandingTension]:
        """A demander's standing tensions that wait or were taken up, newest first."""
        return await fetch_all(
            self._pool,
            StandingTension,
            """SELECT * FROM standing_tensions WHERE demander = %s AND (closed_at IS NULL OR child IS NOT NULL)
               ORDER BY created_at DESC, id""",
            [person],
        )

    async def waiting(self, scene: str, now: datetime) -> list[StandingTension]:
        """The standing tensions that wait in a scene, oldest first."""
        return await fetch_all(
            self._pool,
            StandingTension,
            """SELECT * FROM standing_tensions WHERE scene_id = %s AND closed_at IS NULL AND until > %s
               ORDER BY created_at, id""",
            [scene, now],
        )

    async def scenes(self) -> list[str]:
        """Scenes with new or changed people, or with a new standing tension."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT DISTINCT scene_id FROM profiles WHERE searched_version < current_version AND deleted_at IS NULL
                   UNION SELECT scene_id FROM standing_tensions WHERE closed_at IS NULL AND NOT searched ORDER BY 1"""
            )
            return [row["scene_id"] for row in await cursor.fetchall()]

    async def newcomers(self, scene: str, tensions: Sequence[str]) -> dict[str, int]:
        """Profile id → version to compare with these standing tensions.

        They are the versions that were not compared yet and, if a tension is not `searched`, all stored since its
        process began.
        """
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT p.id, v.version FROM profiles p
                   JOIN profile_versions v ON v.profile_id = p.id AND v.version = p.current_version
                   WHERE p.scene_id = %s AND p.deleted_at IS NULL AND (p.searched_version < p.current_version
                     OR v.created_at >= (SELECT min(c.created_at) FROM standing_tensions s JOIN processes c ON c.id = s.process_id
                                         WHERE s.id = ANY(%s) AND NOT s.searched))""",
                [scene, list(tensions)],
            )
            return {row["id"]: row["version"] for row in await cursor.fetchall()}

    async def settle(
        self, scene: str, found: Iterable[StandingMatch], now: datetime, *, people: Mapping[str, int] | None = None,
        tensions: Sequence[StandingTension] = (),
    ) -> int:  # fmt: skip
        """Store matches, note that these versions of `people` were compared with `tensions`, and ask demanders.

        Waiting tensions that are not in `tensions` were not compared, so they are no longer `searched`. A person is
        stored once per standing tension. Returns the number of new asks.
        """
        async with one_at_a_time(self._pool, f"standing/{scene}"), session(self._pool) as connection:
            for match in found:
                await connection.execute(_MATCH, {**match.model_dump(), "reasons": Jsonb(match.reasons), "now": now})
            if people is not None:
                await connection.execute(
                    """UPDATE profiles p SET searched_version = s.version FROM unnest(%s::text[], %s::int[]) AS s (id, version)
                       WHERE p.id = s.id AND p.searched_version < s.version""",
                    [list(people), list(people.values())],
                )
                await connection.execute(
                    """UPDATE standing_tensions SET searched = NOT searched WHERE scene_id = %s AND closed_at IS NULL
                         AND searched <> ((id, text_id) IN (SELECT * FROM unnest(%s::text[], %s::uuid[])))""",
                    [scene, [row.id for row in tensions], [row.text_id for row in tensions]],
                )
            return await self.ask(now)

    async def ask(self, now: datetime) -> int:
        """Ask the demanders about people found and not reported yet, nearest first, within each demander's limits."""
        async with one_at_a_time(self._pool, "standing"), session(self._pool) as connection:
            return (await connection.execute(_ASK, {"now": now, "most": MOST_PER_DAY, "demander": DEMANDER})).rowcount

    async def matches(self, id: str) -> list[StandingMatch]:
        """The people found for a standing tension who are still in the scene, in the order of their arrival."""
        return await fetch_all(
            self._pool,
            StandingMatch,
            """SELECT m.* FROM standing_matches m JOIN profiles p ON p.id = m.profile_id AND p.deleted_at IS NULL
               WHERE m.standing_id = %s ORDER BY m.number""",
            [id],
        )

    async def match(self, process_id: str, ask: str) -> tuple[StandingTension, StandingMatch] | None:
        """The standing tension and the match to which an ask of a process refers."""
        _, id, number = [*ask.split("/"), "", ""][:3]
        standing = await self.get(id)
        if standing is None or standing.process_id != process_id:
            return None
        found = next((one for one in await self.matches(id) if str(one.number) == number), None)
        return None if found is None else (standing, found)

    async def answer(self, match: StandingMatch, now: datetime, *, begun: bool) -> None:
        """Store the demander's answer, and close the ask."""
        async with transaction(self._pool) as connection:
            await connection.execute(
                "UPDATE standing_matches SET begun = %s WHERE standing_id = %s AND profile_id = %s",
                [begun, match.standing_id, match.profile_id],
            )
            await connection.execute(_CLOSE_ASKS, {"now": now})


_NOT_LOOKED_THROUGH: Final = f"""
    (SELECT id FROM processes WHERE ended_at IS NOT NULL AND NOT stood ORDER BY ended_at LIMIT %s)
    UNION ALL (SELECT p.id FROM processes p WHERE p.ended_at IS NULL AND p.phase = 'selecting' AND p.scene_id IS NOT NULL
        AND (SELECT count(DISTINCT profile_id) FROM candidates c WHERE c.process_id = p.id AND c.round = 0)
            < (p.settings ->> 'quorum')::int
        AND NOT EXISTS (SELECT 1 FROM standing_tensions s WHERE s.process_id = p.id AND s.residual = '{OWN_TENSION}'))"""

_STAND: Final = f"""
    INSERT INTO standing_tensions (id, scene_id, process_id, residual, demander, text_id, people, visible, per_week, until, created_at)
    SELECT %(id)s, %(scene_id)s, %(process_id)s, %(residual)s, %(demander)s, %(text_id)s, %(people)s, %(visible)s,
           %(per_week)s, %(until)s, %(created_at)s
    WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE owner = %(demander)s)
      AND (SELECT count(*) FROM standing_tensions
           WHERE demander = %(demander)s AND closed_at IS NULL AND id <> %(id)s) < {MOST_STANDING}
    ON CONFLICT (process_id, residual) """

_ANEW: Final = """
    DO UPDATE SET text_id = excluded.text_id, people = excluded.people, visible = excluded.visible, per_week = excluded.per_week,
        until = excluded.until, searched = false, child = NULL, closed_at = NULL"""
"""`searched` becomes false: people who came while it was closed or had another text were not compared."""

_MATCH: Final = """
    INSERT INTO standing_matches (standing_id, profile_id, version, number, perspective, score, reasons, found_at)
    SELECT s.id, p.id, %(version)s, 1 + COALESCE((SELECT max(number) FROM standing_matches WHERE standing_id = s.id), 0),
           %(perspective)s, %(score)s, %(reasons)s, %(now)s
    FROM standing_tensions s, profiles p
    WHERE s.id = %(standing_id)s AND s.closed_at IS NULL AND p.id = %(profile_id)s AND p.deleted_at IS NULL
    ON CONFLICT DO NOTHING"""

_ASK: Final = f"""
    WITH waiting AS (
        SELECT m.standing_id, m.number, s.process_id, s.residual, s.demander, s.until, s.per_week,
               row_number() OVER (PARTITION BY s.id ORDER BY m.perspective <> '', m.score DESC, m.number)
                   + (SELECT count(*) FROM standing_matches t
                      WHERE t.standing_id = s.id AND t.asked_at > %(now)s - interval '7 days') AS in_week,
               row_number() OVER (PARTITION BY s.demander ORDER BY m.perspective <> '', m.score DESC, s.id, m.number)
                   + (SELECT count(*) FROM standing_matches t JOIN standing_tensions o ON o.id = t.standing_id
                      WHERE o.demander = s.demander AND t.asked_at > %(now)s - interval '1 day') AS in_day
        FROM standing_matches m JOIN standing_tensions s ON s.id = m.standing_id
            JOIN profiles p ON p.id = m.profile_id AND p.deleted_at IS NULL
        WHERE m.asked_at IS NULL AND m.begun IS NULL AND s.closed_at IS NULL AND s.until > %(now)s),
    asked AS (
        UPDATE standing_matches m SET asked_at = %(now)s FROM waiting w
        WHERE (m.standing_id, m.number) = (w.standing_id, w.number) AND w.in_week <= w.per_week AND w.in_day <= %(most)s
        RETURNING w.*)
    INSERT INTO inbox (id, process_id, ask, alias, person, round, subject, due_at, opened_at)
    SELECT process_id || '/{AskName.CANDIDATE}/' || standing_id || '/' || number, process_id, '{AskName.CANDIDATE}', %(demander)s, demander, number,
           residual, until, %(now)s FROM asked ON CONFLICT (id) DO NOTHING"""

_CLOSE_ASKS: Final = f"""
    UPDATE inbox i SET closed_at = %(now)s FROM standing_matches m JOIN standing_tensions s ON s.id = m.standing_id
    WHERE i.ask = '{AskName.CANDIDATE}' AND i.closed_at IS NULL AND i.process_id = s.process_id
      AND i.id = s.process_id || '/{AskName.CANDIDATE}/' || s.id || '/' || m.number
      AND (s.closed_at IS NOT NULL OR m.begun IS NOT NULL)"""
"""Close the asks of closed standing tensions, and the asks that were answered."""
