"""Decides which events of a process are valid (docs/protocol.md §11.4).

Every run of a workflow writes in its own epoch, which it gets at its first write. A run that was reset or restored
continues from an earlier event. Events that older epochs wrote after that point are kept and marked as superseded. A
run that continues as new continues after the last event and supersedes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tongyao.protocol.model.events import Event
from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection


class Position(Value):
    """The state of a process in the records: the run that wrote last, its epoch, and the last transition.

    `went_back`: a run contradicted earlier events, and its whole state was not requested since.
    """

    run_id: str
    epoch: int
    seq: int
    went_back: bool = False


class Written(Value):
    """The result of a write.

    `epoch`: the epoch of the write. `newest`: whether it is the newest epoch. `seqs`: numbers of new events.
    `superseded`: whether events were superseded.
    """

    epoch: int
    newest: bool
    seqs: frozenset[int] = frozenset()
    superseded: bool = False


async def write_events(
    connection: Connection, process_id: str, run_id: str, events: Sequence[Event], stand: Position, *, next_seq: int
) -> Written:
    """Write events of one run. The caller holds the lock on the process's row, whose state is `stand`.

    `next_seq`: the number after the last event that the run knows. If the run is new, events of older epochs are
    superseded from the first difference on. If there is no difference, they are superseded from `next_seq` on.
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
        if first is not None:  # steps that run in parallel write in any order
            superseded = await _supersede(connection, process_id, first, before=epoch)
            await connection.execute(
                "UPDATE epochs SET first_seq = least(first_seq, %s) WHERE process_id = %s AND epoch = %s",
                [first, process_id, epoch],
            )
    seqs = await _insert(connection, process_id, epoch, events)
    if len(seqs) < len(events):
        first = await first_difference(connection, process_id, events)
        # the same run contradicts its earlier events: the Temporal server was restored from a backup
        if first is not None:
            epoch += 1
            superseded = await begin_epoch(connection, process_id, run_id, epoch, first) or superseded
            seqs |= await _insert(connection, process_id, epoch, events)
    return Written(epoch=epoch, newest=True, seqs=seqs, superseded=superseded)


async def begin_epoch(
    connection: Connection, process_id: str, run_id: str, epoch: int, first_seq: int, *, complete_to: int = 0
) -> bool:
    """Give a run a new epoch. Returns whether this superseded events.

    `complete_to`: missing events up to this number are lost, and readers do not wait for them.
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
    """Write events of an older run. They are valid only if they precede the first event of every newer run."""
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
    """Insert the events that are missing. Returns the numbers of the new ones."""
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
    """The `seq` of the first event in `events` that is missing from the records or has different content there. None if the records
    contain all of `events` unchanged.

    `before`: only differences from recorded events of epochs older than this one are reported.
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
