"""A workflow's transitions into the records: row, events, what waits for whom (docs/protocol.md §11)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from psycopg.types.json import Jsonb

from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.database import Connection, Pool, transaction
from tongyao.records.process.processes import ProcessUnknown


class Journal:
    """Where outboxes arrive, even twice or out of order: nothing is lost, nothing goes backwards."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def write(self, outbox: Outbox) -> None:
        """Write all of `outbox`, or nothing.

        Events go in once per `seq`. The row and the inbox follow the snapshot only where it is newer than
        what they show. Raises `ProcessUnknown` when the process was never announced.
        """
        snapshot = outbox.snapshot
        at = outbox.events[-1].at if outbox.events else datetime.now(UTC)
        async with transaction(self._pool) as connection:
            # The row first: it stays locked, so two outboxes that both move it go one after the other.
            if await _advance(connection, outbox, at):
                await _show_inbox(connection, snapshot, at)
            if outbox.events:
                await connection.execute(
                    """INSERT INTO events (process_id, seq, kind, at, data)
                       SELECT %s, * FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::jsonb[])
                       ON CONFLICT (process_id, seq) DO NOTHING""",
                    [
                        snapshot.process_id,
                        [event.seq for event in outbox.events],
                        [event.kind.value for event in outbox.events],
                        [event.at for event in outbox.events],
                        [Jsonb(event.data) for event in outbox.events],
                    ],
                )
                await _follow(connection, snapshot.process_id, outbox.events)


async def _follow(connection: Connection, process_id: str, events: Sequence[Event]) -> None:
    """Bring seats and answers to what the events say. Read back from `events`, so that order and repetition do not matter."""
    kinds = {event.kind for event in events}
    if kinds & {EventKind.ENDPOINT_SWITCHED, EventKind.PARTICIPANT_LEFT}:
        await connection.execute(
            """UPDATE seats s SET
                   active = s.active AND NOT EXISTS (
                       SELECT 1 FROM events e WHERE e.process_id = s.process_id
                       AND e.kind = 'participant_left' AND e.data ->> 'alias' = s.alias),
                   endpoint = COALESCE((
                       SELECT e.data ->> 'to' FROM events e WHERE e.process_id = s.process_id
                       AND e.kind = 'endpoint_switched' AND e.data ->> 'alias' = s.alias
                       ORDER BY e.seq DESC LIMIT 1), s.endpoint)
               WHERE s.process_id = %s""",
            [process_id],
        )
    if EventKind.ANSWER_RECEIVED in kinds:
        await connection.execute(
            """INSERT INTO answers (process_id, revision, alias, decision, text_id)
               SELECT process_id, (data ->> 'revision')::int, data ->> 'alias', data ->> 'decision',
                      NULLIF(data ->> 'text_id', '')::uuid
               FROM events WHERE process_id = %s AND kind = 'answer_received' ORDER BY seq
               ON CONFLICT (process_id, revision, alias) DO NOTHING""",
            [process_id],
        )


async def _advance(connection: Connection, outbox: Outbox, at: datetime) -> bool:
    """Bring the row to the snapshot; False when it is there already, or further."""
    snapshot = outbox.snapshot
    cursor = await connection.execute(
        """UPDATE processes SET
               seq = %(seq)s, phase = %(phase)s, round = %(round)s, waiting = %(waiting)s, started = true,
               grade = COALESCE(NULLIF(%(grade)s, ''), grade),
               tension_text_id = COALESCE(NULLIF(%(tension)s, '')::uuid, tension_text_id),
               suspended_reason = %(reason)s, deadline_at = %(deadline)s,
               tokens = %(tokens)s, cost = %(cost)s::numeric, updated_at = now(),
               ended_at = CASE WHEN %(ended)s THEN %(at)s END,
               outcome = CASE WHEN %(ended)s THEN %(outcome)s END
           WHERE id = %(id)s AND seq < %(seq)s""",
        {
            "id": snapshot.process_id,
            "seq": snapshot.seq,
            "phase": snapshot.phase.value,
            "round": snapshot.round,
            "waiting": snapshot.waiting,
            "grade": snapshot.grade,
            "tension": snapshot.tension_text_id,
            "reason": snapshot.suspended_reason,
            "deadline": snapshot.deadline,
            "tokens": snapshot.tokens,
            "cost": snapshot.cost,
            "ended": snapshot.phase.ended,
            "at": at,
            "outcome": _outcome(outbox),
        },
    )
    if cursor.rowcount:
        return True
    known = await connection.execute("SELECT 1 FROM processes WHERE id = %s", [snapshot.process_id])
    if not known.rowcount:
        raise ProcessUnknown(f"there is no process {snapshot.process_id!r}: rows are made before workflows")
    return False


def _outcome(outbox: Outbox) -> str:
    ends = (event.data.get("outcome") for event in outbox.events if event.kind is EventKind.PROCESS_ENDED)
    return str(next(ends, None) or outbox.snapshot.phase.value)


async def _show_inbox(connection: Connection, snapshot: Snapshot, at: datetime) -> None:
    """Open what waits now, close what no longer does. What was closed and waits again is opened anew."""
    asks = {f"{snapshot.process_id}/{w.ask}/{w.alias}/{w.round}": w for w in snapshot.inbox}
    await connection.execute(
        "UPDATE inbox SET closed_at = %s WHERE process_id = %s AND closed_at IS NULL AND NOT id = ANY(%s)",
        [at, snapshot.process_id, list(asks)],
    )
    if not asks:
        return
    await connection.execute(
        """INSERT INTO inbox AS old (id, process_id, ask, alias, person, round, due_at, subject, opened_at)
           SELECT w.id, p.id, w.ask, w.alias,
                  CASE WHEN w.alias = %(demander)s THEN p.demander ELSE s.profile_id END,
                  w.round, w.due, w.subject, %(at)s
           FROM processes p CROSS JOIN unnest(
               %(ids)s::text[], %(asks)s::text[], %(aliases)s::text[],
               %(rounds)s::int[], %(dues)s::timestamptz[], %(subjects)s::text[]
           ) AS w (id, ask, alias, round, due, subject) LEFT JOIN seats s ON s.process_id = p.id AND s.alias = w.alias
           WHERE p.id = %(process)s
           ON CONFLICT (id) DO UPDATE SET
               due_at = excluded.due_at, subject = excluded.subject, closed_at = NULL,
               person = COALESCE(excluded.person, old.person),
               opened_at = CASE WHEN old.closed_at IS NULL THEN old.opened_at ELSE excluded.opened_at END""",
        {
            "process": snapshot.process_id,
            "demander": DEMANDER,
            "at": at,
            "ids": list(asks),
            "asks": [w.ask.value for w in asks.values()],
            "aliases": [w.alias for w in asks.values()],
            "rounds": [w.round for w in asks.values()],
            "dues": [w.due for w in asks.values()],
            "subjects": [w.subject for w in asks.values()],
        },
    )
