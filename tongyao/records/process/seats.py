"""The people of a process: seats, the frozen manifest, candidates found by the field (docs/protocol.md §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository, transaction, wait_for_others
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.privacy.texts import TextErased


class SeatRow(Value):
    """The person under an alias. `person` is their profile's id, or the demander's own id if they have no profile."""

    alias: str
    person: str
    profile_id: str | None = None
    profile_version: int | None = None
    endpoint: str
    fallback: str
    active: bool = True
    joined_round: int = 1

    @property
    def profile(self) -> ProfileRef | None:
        """The profile version that is frozen for this seat."""
        if self.profile_id is None or self.profile_version is None:
            return None
        return ProfileRef(profile_id=self.profile_id, version=self.profile_version)

    @classmethod
    def of(cls, profile: ProfileVersion, *, alias: str, endpoint: str, fallback: str, joined_round: int = 1) -> SeatRow:
        """Make a seat for one version of a profile."""
        return cls(
            alias=alias,
            person=profile.profile_id,
            profile_id=profile.profile_id,
            profile_version=profile.version,
            endpoint=endpoint,
            fallback=fallback,
            joined_round=joined_round,
        )


class CandidateRow(Value):
    """A person found from one perspective. `reasons` are spans and labels, without words of the profile.

    `round`: 0 if the person was found before the rounds. Otherwise the round after which they were found, for the needs
    then open (docs/protocol.md §3.8).
    """

    perspective: str
    rank: int
    profile_id: str
    score: float
    reasons: list[Any] = Field(default_factory=list)
    round: int = 0


SEATS: Final = """SELECT s.alias, COALESCE(s.profile_id, p.demander) AS person, s.profile_id, s.profile_version,
    s.endpoint, s.fallback, s.active, s.joined_round
    FROM seats s JOIN processes p ON p.id = s.process_id WHERE s.process_id = %(process)s ORDER BY s.alias"""


class Seats(Repository):
    """Seats, manifests and candidates of processes."""

    async def seat(self, process_id: str, seats: Sequence[SeatRow]) -> None:
        """Seat these people, or change the data of their seats. The person under an alias never changes.

        If one of them was erased, raises `TextErased` and seats nobody. An erasure that begins later finds the seat.
        """
        people = sorted({seat.person for seat in seats})
        async with transaction(self._pool) as connection:
            for person in people:
                await wait_for_others(connection, f"person/{person}")
            if (await connection.execute("SELECT 1 FROM tombstones WHERE owner = ANY(%s)", [people])).rowcount:
                raise TextErased("a person to be seated was erased")
            await connection.execute(
                """INSERT INTO seats (process_id, alias, profile_id, profile_version, endpoint, seated_endpoint, fallback,
                       seated_fallback, active, joined_round)
                   SELECT %s, s.alias, s.profile_id, s.profile_version, s.endpoint, s.endpoint, s.fallback, s.fallback,
                          s.active, s.joined_round
                   FROM jsonb_to_recordset(%s) AS s (alias text, profile_id text, profile_version int,
                       endpoint text, fallback text, active bool, joined_round int)
                   ON CONFLICT (process_id, alias) DO UPDATE SET endpoint = excluded.endpoint,
                       seated_endpoint = excluded.seated_endpoint, fallback = excluded.fallback,
                       seated_fallback = excluded.seated_fallback, active = excluded.active, seated_at = now()""",
                [process_id, Jsonb([seat.model_dump(exclude={"person"}) for seat in seats])],
            )

    async def seats(self, process_id: str) -> list[SeatRow]:
        """All people who ever had a seat in the process, in alias order."""
        return await self._all(SeatRow, SEATS, {"process": process_id})

    async def spoke_for_themselves(self, process_id: str) -> dict[str, EndpointKind]:
        """Profile id → endpoint of the people for whom no proxy spoke at the end: a `human` or an `agent`."""
        return {
            seat.profile_id: EndpointKind(seat.endpoint)
            for seat in await self.seats(process_id)
            if seat.profile_id and seat.endpoint != EndpointKind.PROXY
        }

    async def freeze(self, process_id: str, parts: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Freeze parts of the manifest (`*`, or an alias). Returns the whole manifest, in which the first version of a
        part stays.

        The part of an alias without a seat is overwritten.
        """
        await self._run(
            """INSERT INTO manifests (process_id, part, body)
               SELECT %s, * FROM unnest(%s::text[], %s::jsonb[])
               ON CONFLICT (process_id, part) DO UPDATE SET body = excluded.body
                   WHERE manifests.part ~ '^P[0-9]+$' AND NOT EXISTS (SELECT 1 FROM seats s
                       WHERE (s.process_id, s.alias) = (manifests.process_id, manifests.part))""",
            [process_id, list(parts), [Jsonb(body) for body in parts.values()]],
        )
        return await self.manifest(process_id)

    async def manifest(self, process_id: str) -> dict[str, dict[str, Any]]:
        """The manifest by part; empty before the start."""
        return await self._mapping("SELECT part, body FROM manifests WHERE process_id = %s", [process_id])

    async def find(self, process_id: str, candidates: Sequence[CandidateRow], *, round_number: int = 0) -> None:
        """Replace the candidates found before the rounds, or after round `round_number`."""
        async with transaction(self._pool) as connection:
            await connection.execute(
                "DELETE FROM candidates WHERE process_id = %s AND round = %s", [process_id, round_number]
            )
            await connection.execute(
                """INSERT INTO candidates (process_id, round, perspective, rank, profile_id, score, reasons)
                   SELECT %s, %s, c.* FROM jsonb_to_recordset(%s)
                       AS c (perspective text, rank int, profile_id text, score float, reasons jsonb)""",
                [process_id, round_number, Jsonb([found.model_dump(exclude={"round"}) for found in candidates])],
            )

    async def candidates(self, process_id: str, *, round_number: int | None = None) -> list[CandidateRow]:
        """The candidates by round, perspective and rank; of one round only if it is given."""
        return await self._all(
            CandidateRow,
            """SELECT c.perspective, c.rank, c.profile_id, c.score, c.round,
                   CASE WHEN d.consent = 'never' THEN '[]' ELSE c.reasons END AS reasons
               FROM candidates c JOIN processes p ON p.id = c.process_id
               LEFT JOIN consents d ON d.profile_id = c.profile_id AND d.scene_id = p.scene_id
               WHERE c.process_id = %(process)s AND (%(round)s::int IS NULL OR c.round = %(round)s)
               ORDER BY c.round, c.perspective, c.rank""",
            {"process": process_id, "round": round_number},
        )
