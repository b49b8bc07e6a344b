"""Which of a process's events stand (docs/protocol.md §11.4).

Every run of a workflow writes in an epoch of its own, given at its first write. A run that was reset or restored goes on from an
earlier event: what older epochs wrote from there on is kept and superseded. A run that continues as new goes on behind the last
event and supersedes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tongyao.protocol.model.events import Event
from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection


class Position(Value):
    """Where the records stand with a process: the run that wrote last, its epoch, and the last transition.

    `went_back`: a run said otherwise than before, and its whole state has not been asked for since.
    """

    run_id: str
    epoch: int
    seq: int
    went_back: bool = False


class Written(Value):
    """What a write did: in which epoch, whether it is the newest, numbers of events that are new, whether any were superseded."""

    epoch: int
    newest: bool
    seqs: frozenset[int] = frozenset()
    superseded: bool = False


async def write_events(
    connection: Connection, process_id: str, run_id: str, events: Sequence[Event], stand: Position, *, next_seq: int
) -> Written:
    """Write events of one run. The caller holds the lock on the process's row, which stands at `stand`.

    `next_seq`: behind the last event that the run knows; what older epochs have from there on is superseded when the run is new.
    """
    epoch, superseded = stand.epoch, False
    if run_id != stand.run_id:
        known = await _epoch_of(connection, process_id, run_id)
        if known is not None and known < epoch:
            return await _write_late(connection, process_id, known, events)
        if known is None:
            first = await first_difference(connection, process_id, events)
            superseded = await begin_epoch(connection, process_id, run_id, epoch + 1, first or next_seq)
            epoch += 1
    elif epoch > 1:
        first = await first_difference(connection, process_id, events, before=epoch)
        if first is not None:  # steps that run side by side write in any order
            superseded = await _supersede(connection, process_id, first, before=epoch)
            await connection.execute(
                "UPDATE epochs SET first_seq = least(first_seq, %s) WHERE process_id = %s AND epoch = %s",
                [first, process_id, epoch],
            )
    seqs = await _insert(connection, process_id, epoch, events)
    if len(seqs) < len(events):
        first = await first_difference(connection, process_id, events)
        if first is not None:  # the same run says something else than before: its server was restored from a backup
            epoch += 1
            superseded = await begin_epoch(connection, process_id, run_id, epoch, first) or superseded
            seqs |= await _insert(connection, process_id, epoch, events)
    return Written(epoch=epoch, newest=True, seqs=seqs, superseded=superseded)


async def begin_epoch(
    connection: Connection, process_id: str, run_id: str, epoch: int, first_seq: int, *, complete_to: int = 0
) -> bool:
    """Give a run a new epoch; returns whether that superseded anything.

    `complete_to`: events up to there that are missing are lost, and readers do not wait for them.
    """
    await connection.execute(
        "INSERT INTO epochs (process_id, epoch, run_id, first_seq, complete_to) VALUES (%s, %s, %s, %s, %s)",
        [process_id, epoch, run_id, first_seq, complete_to],
    )
    return await _supersede(connection, process_id, first_seq, before=epoch)


async def _epoch_of(connection: Connection, process_id: str, run_id: str) -> int | None:
    cursor = await connection.execute(
        "SELECT max(epoch) AS epoch FROM epochs WHERE process_id = %s AND run_id = %s", [process_id, run_id]
    )
    row = await cursor.fetchone()
    return row["epoch"] if row else None


async def _write_late(connection: Connection, process_id: str, epoch: int, events: Sequence[Event]) -> Written:
    """What an older run still writes stands only before the first event of every newer one."""
    cursor = await connection.execute(
        "SELECT min(first_seq) AS first FROM epochs WHERE process_id = %s AND epoch > %s", [process_id, epoch]
    )
    row = await cursor.fetchone()
    assert row is not None
    early = [event for event in events if event.seq < row["first"]]
    late = [event for event in events if event.seq >= row["first"]]
    seqs = await _insert(connection, process_id, epoch, early)
    await _insert(connection, process_id, epoch, late, superseded=True)
    return Written(epoch=epoch, newest=False, seqs=seqs)


async def _insert(
    connection: Connection, process_id: str, epoch: int, events: Sequence[Event], *, superseded: bool = False
) -> frozenset[int]:
    """Insert what is not there; returns the numbers of those that are new."""
    if not events:
        return frozenset()
    cursor = await connection.execute(
        """INSERT INTO events (process_id, epoch, superseded, seq, kind, at, data)
           SELECT %s, %s, %s, * FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::jsonb[])
           ON CONFLICT DO NOTHING RETURNING seq""",
        [process_id, epoch, superseded, *_columns(events)],
    )
    return frozenset(row["seq"] for row in await cursor.fetchall())


async def first_difference(
    connection: Connection, process_id: str, events: Sequence[Event], *, before: int | None = None
) -> int | None:
    """The first of `events` that stands otherwise in the records, or not at all; None if all stand as they are.

    `before`: only where an older epoch than this one says otherwise.
    """
    if not events:
        return None
    cursor = await connection.execute(
        """SELECT min(n.seq) AS first
           FROM unnest(%(seqs)s::bigint[], %(kinds)s::text[], %(ats)s::timestamptz[], %(datas)s::jsonb[])
                AS n (seq, kind, at, data)
           LEFT JOIN events e ON e.process_id = %(process)s AND e.seq = n.seq AND NOT e.superseded
           WHERE (e.kind, e.at, e.data) IS DISTINCT FROM (n.kind, n.at, n.data)
             AND (%(before)s::int IS NULL OR e.epoch < %(before)s)""",
        {
            "process": process_id,
            "before": before,
            **dict(zip(("seqs", "kinds", "ats", "datas"), _columns(events), strict=True)),
        },
    )
    row = await cursor.fetchone()
    return row["first"] if row else None


async def _supersede(connection: Connection, process_id: str, first_seq: int, *, before: int) -> bool:
    cursor = await connection.execute(
        """UPDATE events SET superseded = true
           WHERE process_id = %s AND seq >= %s AND epoch < %s AND NOT superseded""",
        [process_id, first_seq, before],
    )
    return cursor.rowcount > 0


def _columns(events: Sequence[Event]) -> list[list[Any]]:
    return [
        [event.seq for event in events],
        [event.kind.value for event in events],
        [event.at for event in events],
        [Jsonb(event.data) for event in events],
    ]
