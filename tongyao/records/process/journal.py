"""Writes a workflow's transitions into the records: row, events, open asks (docs/protocol.md §11)."""

from __future__ import annotations

from datetime import UTC, datetime

from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.life.state import State
from tongyao.protocol.model.events import EventKind, Outbox
from tongyao.records.budgets import settle
from tongyao.records.database import Connection, Repository, transaction
from tongyao.records.process import event_projections
from tongyao.records.process.epochs import Position, begin_epoch, first_difference, write_events
from tongyao.records.process.inbox import show_inbox
from tongyao.records.process.lineage import tell_parent
from tongyao.records.process.messages import send_again
from tongyao.records.process.process_rows import ProcessUnknown


class Journal(Repository):
    """Accepts outboxes, also repeated ones or in another order. Nothing is lost, and the records go back only if the workflow did."""

    async def write(self, outbox: Outbox, run_id: str) -> bool:
        """Write all of `outbox`, or nothing. `run_id`: the run of the workflow that wrote the outbox.

        Each event is stored once per `seq`. The row and the inbox are updated only if the snapshot is newer than they
        are. The end of a child is reported to its parent. Returns whether the workflow went back to a state before that
        of the records, and `operators/project_again` has not been called since. Raises `ProcessUnknown` if the process
        was never announced.
        """
        process_id, seq = outbox.snapshot.process_id, outbox.snapshot.seq
        async with transaction(self._pool) as connection:
            # The row is locked first, so outboxes of one process are written one after the other.
            stand = await _locked(connection, process_id)
            written = await write_events(connection, process_id, run_id, outbox.events, stand, next_seq=seq + 1)
            if written.newest and (written.epoch, seq) > (stand.epoch, stand.seq):
                await _show(connection, outbox, Position(run_id=run_id, epoch=written.epoch, seq=seq))
            if written.superseded:
                await connection.execute("UPDATE processes SET went_back = true WHERE id = %s", [process_id])
                await event_projections.rebuild(connection, process_id)
            else:
                new = [event for event in outbox.events if event.seq in written.seqs]
                await event_projections.follow(connection, process_id, new)
        return stand.went_back or written.superseded

    async def set_ended(self, process_id: str, outcome: str) -> None:
        """Note an end that the workflow could not report itself, because it was terminated or failed.

        An end that is already noted stays unchanged. Raises `ProcessUnknown`.
        """
        async with transaction(self._pool) as connection:
            await _locked(connection, process_id)
            await connection.execute(
                """UPDATE processes SET phase = %(outcome)s, outcome = %(outcome)s, waiting = false, suspended = '{}',
                       ended_at = now(), updated_at = now()
                   WHERE id = %(id)s AND ended_at IS NULL""",
                {"id": process_id, "outcome": outcome},
            )
            await connection.execute(
                "UPDATE inbox SET closed_at = now() WHERE process_id = %s AND closed_at IS NULL AND ask <> 'candidate'",
                [process_id],
            )
            await _close(connection, process_id)

    async def knows(self, process_id: str, run_id: str) -> bool:
        """Whether this run, or no run, has written before. In the second case the records cannot be ahead of the
        run."""
        return bool(
            await self._value(
                """SELECT 1 FROM processes p WHERE p.id = %(id)s AND (p.run_id = %(run)s OR p.seq = 0
                   OR EXISTS (SELECT 1 FROM epochs e WHERE e.process_id = p.id AND e.run_id = %(run)s))""",
                {"id": process_id, "run": run_id},
            )
        )

    async def project_again(self, state: State, run_id: str) -> int:
        """Bring the records to a whole state, after a reset, or after either server was restored.

        Row, seats and inbox become those of the state. Later events in the records are superseded. Earlier events that
        are missing in the records are lost, and readers do not wait for them. Messages that the state has not applied
        will be delivered again: returns their number. Raises `ProcessUnknown`.
        """
        outbox = Outbox(snapshot=snapshot(state, datetime.now(UTC)), events=tuple(state.outbox))
        process_id, seq = state.process_id, state.seq
        written_to = outbox.events[0].seq - 1 if outbox.events else seq
        async with transaction(self._pool) as connection:
            before = await _locked(connection, process_id)
            stand = Position(run_id=run_id, epoch=before.epoch + 1, seq=seq)
            first = await first_difference(connection, process_id, outbox.events) or seq + 1
            await begin_epoch(connection, process_id, run_id, stand.epoch, first, complete_to=written_to)
            await write_events(connection, process_id, run_id, outbox.events, stand, next_seq=seq + 1)
            await _show(connection, outbox, stand)
            await connection.execute("UPDATE processes SET went_back = false WHERE id = %s", [process_id])
            await event_projections.rebuild(connection, process_id)
            await event_projections.seat_again(connection, process_id, state.seats)
            return await send_again(connection, process_id, state.lanes)


async def _locked(connection: Connection, process_id: str) -> Position:
    cursor = await connection.execute(
        "SELECT run_id, epoch, seq, went_back FROM processes WHERE id = %s FOR NO KEY UPDATE", [process_id]
    )
    row = await cursor.fetchone()
    if row is None:
        raise ProcessUnknown(f"there is no process {process_id!r}: its row must be stored before its workflow starts")
    return Position(**row)


async def _show(connection: Connection, outbox: Outbox, stand: Position) -> None:
    """Bring the row and the inbox to the snapshot."""
    snapshot = outbox.snapshot
    at = outbox.events[-1].at if outbox.events else datetime.now(UTC)
    await connection.execute(
        """UPDATE processes SET
               run_id = %(run)s, epoch = %(epoch)s, seq = %(seq)s,
               phase = %(phase)s, round = %(round)s, waiting = %(waiting)s, started = true,
               grade = COALESCE(NULLIF(%(grade)s, ''), grade),
               tension_text_id = COALESCE(NULLIF(%(tension_text_id)s, '')::uuid, tension_text_id),
               suspended = %(suspended)s, suspended_reason = %(suspended_reason)s, deadline_at = %(deadline)s,
               tokens = %(tokens)s, cost = %(cost)s::numeric, updated_at = now(),
               ended_at = CASE WHEN %(ended)s THEN %(at)s END,
               outcome = CASE WHEN %(ended)s THEN %(outcome)s END
           WHERE id = %(process_id)s""",
        {
            **snapshot.model_dump(exclude={"inbox", "phase", "suspended"}),
            "run": stand.run_id,
            "epoch": stand.epoch,
            "phase": snapshot.phase.value,
            "suspended": list(snapshot.suspended),
            "ended": snapshot.phase.ended,
            "at": at,
            "outcome": _outcome(outbox),
        },
    )
    await show_inbox(connection, snapshot, at)
    if snapshot.phase.ended:
        await _close(connection, snapshot.process_id)


def _outcome(outbox: Outbox) -> str:
    ends = (event.data.get("outcome") for event in outbox.events if event.kind is EventKind.PROCESS_ENDED)
    return str(next(ends, None) or outbox.snapshot.phase.value)


async def _close(connection: Connection, process_id: str) -> None:
    """Apply the end of a process: its parent is notified, and calls that will not be claimed again become orphaned.

    Their reservations are released. An orphaned call may still settle, and then its usage is counted.
    """
    await tell_parent(connection, process_id)
    await connection.execute(
        """UPDATE model_calls SET state = 'orphaned', ended_at = now()
           WHERE process_id = %s AND state IN ('claimed', 'waiting', 'answered')""",
        [process_id],
    )
    await settle(connection, process_id)
