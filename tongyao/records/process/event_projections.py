"""Tables that are derived from the events of a process: seats, answers, outcomes of turns (docs/protocol.md §11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg.types.json import Jsonb

from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.process import Seat
from tongyao.records.database import Connection

_SEATING = frozenset({EventKind.ENDPOINT_SWITCHED, EventKind.PARTICIPANT_LEFT})


async def follow(connection: Connection, process_id: str, new: Sequence[Event]) -> None:
    """Update the tables from new events. They are computed from all valid events, so the order does not matter."""
    kinds = {event.kind for event in new}
    if kinds & _SEATING:
        await _seats(connection, process_id)
    if EventKind.ANSWER_RECEIVED in kinds:
        await _answers(connection, process_id)
    if EventKind.PROJECTION_RECEIVED in kinds:
        await _turns(connection, process_id)


async def rebuild(connection: Connection, process_id: str) -> None:
    """Delete the rows that only superseded events justify, and apply the valid events again."""
    for table, written, kind, same in _STANDS_ON:
        await connection.execute(
            f"""DELETE FROM {table} t
                WHERE t.process_id = %s AND NOT EXISTS (SELECT 1 FROM events e
                        WHERE e.process_id = t.process_id AND NOT e.superseded AND e.kind = '{kind}' AND {same})
                    AND {written} < (SELECT max(began_at) FROM epochs e WHERE e.process_id = t.process_id)""".encode(),
            [process_id],
        )
    await _seats(connection, process_id)
    await _answers(connection, process_id)
    await _turns(connection, process_id)


async def seat_again(connection: Connection, process_id: str, seats: Mapping[str, Seat]) -> None:
    """Bring the seats to the state of the workflow, which is authoritative."""
    rows = [
        {
            **seat.model_dump(mode="json", include={"alias", "endpoint", "fallback", "active", "joined_round"}),
            "profile_id": seat.profile.profile_id if seat.profile else None,
            "profile_version": seat.profile.version if seat.profile else None,
        }
        for seat in seats.values()
    ]
    await connection.execute(
        "DELETE FROM seats WHERE process_id = %s AND NOT alias = ANY(%s)", [process_id, list(seats)]
    )
    await connection.execute(
        """INSERT INTO seats (process_id, alias, profile_id, profile_version, endpoint, seated_endpoint, fallback,
               seated_fallback, active, joined_round)
           SELECT %s, n.alias, n.profile_id, n.profile_version, n.endpoint, n.endpoint, n.fallback, n.fallback, n.active,
               n.joined_round
           FROM jsonb_to_recordset(%s) AS n (alias text, profile_id text, profile_version int, endpoint text,
               fallback text, active bool, joined_round int)
           ON CONFLICT (process_id, alias) DO UPDATE SET profile_id = excluded.profile_id,
               profile_version = excluded.profile_version, endpoint = excluded.endpoint, fallback = excluded.fallback,
               active = excluded.active""",
        [process_id, Jsonb(rows)],
    )


_OF_TURN = "e.data @> jsonb_build_object('round', t.round, 'alias', t.alias)"
_OF_PERSON = "e.data @> jsonb_build_object('revision', t.revision, 'alias', t.alias)"
_STANDS_ON: tuple[tuple[str, str, str, str], ...] = (
    ("seats", "t.seated_at", "participants_selected", "e.data -> 'aliases' ? t.alias"),
    ("manifests", "t.part ~ '^P[0-9]+$' AND t.created_at", "participants_selected", "e.data -> 'aliases' ? t.part"),
    ("projections", "t.at", "projection_received", _OF_TURN),
    ("observations", "t.at", "observation_ready", "e.data @> jsonb_build_object('round', t.round)"),
    ("plans", "t.at", "plan_ready", "e.data @> jsonb_build_object('revision', t.revision)"),
    ("deliveries", "t.at", "delivery_ready", _OF_PERSON),
    ("answers", "t.at", "answer_received", _OF_PERSON),
)
"""Tables whose rows activities write, with the time of writing. A row is valid as long as a valid event reports it.

A row written since the start of the newest epoch belongs to that epoch, even if its event has not arrived yet.
"""


async def _seats(connection: Connection, process_id: str) -> None:
    await connection.execute(
        """UPDATE seats s SET
               active = NOT EXISTS (
                   SELECT 1 FROM events e WHERE e.process_id = s.process_id AND NOT e.superseded
                   AND e.kind = 'participant_left' AND e.data ->> 'alias' = s.alias),
               endpoint = COALESCE((
                   SELECT e.data ->> 'to' FROM events e WHERE e.process_id = s.process_id AND NOT e.superseded
                   AND e.kind = 'endpoint_switched' AND e.data ->> 'alias' = s.alias
                   ORDER BY e.seq DESC LIMIT 1), s.seated_endpoint),
               fallback = COALESCE((
                   SELECT e.data ->> 'fallback' FROM events e WHERE e.process_id = s.process_id AND NOT e.superseded
                   AND e.kind = 'endpoint_switched' AND e.data ->> 'alias' = s.alias
                   ORDER BY e.seq DESC LIMIT 1), s.seated_fallback)
           WHERE s.process_id = %s""",
        [process_id],
    )


async def _answers(connection: Connection, process_id: str) -> None:
    await connection.execute(
        """INSERT INTO answers (process_id, revision, alias, decision, text_id)
           SELECT DISTINCT ON (data ->> 'revision', data ->> 'alias')
                  process_id, (data ->> 'revision')::int, data ->> 'alias', data ->> 'decision',
                  NULLIF(data ->> 'text_id', '')::uuid
           FROM events WHERE process_id = %s AND NOT superseded AND kind = 'answer_received'
           ORDER BY data ->> 'revision', data ->> 'alias', seq
           ON CONFLICT (process_id, revision, alias) DO UPDATE SET
               decision = excluded.decision, text_id = excluded.text_id""",
        [process_id],
    )


async def _turns(connection: Connection, process_id: str) -> None:
    """Store outcomes of turns without a model call, and outcomes that differ from the step's row: the event counts.

    The last valid event of a turn counts, unless newer words have reopened the turn. Events may arrive in another order
    than that of their numbers, and after the row of a later step.
    """
    await connection.execute(
        """INSERT INTO projections AS old (process_id, round, alias, outcome, author, items, struck, at)
           SELECT %(process)s, n.round, n.alias, n.outcome, COALESCE(n.author, s.endpoint, 'proxy'),
                  COALESCE(n.items, 0), COALESCE(n.struck, 0), e.at
           FROM (SELECT DISTINCT ON (data -> 'round', data -> 'alias') seq, kind, at, data FROM events
                 WHERE process_id = %(process)s AND NOT superseded AND kind IN ('projection_received', 'words_arrived')
                 ORDER BY data -> 'round', data -> 'alias', seq DESC) AS e,
               LATERAL jsonb_to_record(e.data) AS n (round int, alias text, outcome text, author text, items int, struck int)
               LEFT JOIN seats s ON s.process_id = %(process)s AND s.alias = n.alias
           WHERE e.kind = 'projection_received'
           ON CONFLICT (process_id, round, alias) DO UPDATE SET
               outcome = excluded.outcome, author = excluded.author, text_id = NULL, items = excluded.items, chars = 0,
               struck = excluded.struck, guards = '{}', seconds = 0, at = excluded.at
           WHERE old.outcome <> excluded.outcome""",
        {"process": process_id},
    )
