"""Reads the events of a process, in order and without gaps."""

from __future__ import annotations

from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository


class EventCursor(Value):
    """How far somebody has read: up to event `seq`, as it stood in `epoch`. 0: nothing yet; epoch 0 takes any event as read."""

    epoch: int = 0
    seq: int = 0


START = EventCursor()


class RecordedEvent(Event):
    """An event with the epoch in which it was written."""

    epoch: int

    @property
    def cursor(self) -> EventCursor:
        """Read up to here."""
        return EventCursor(epoch=self.epoch, seq=self.seq)

    @property
    def event(self) -> Event:
        """As the process told it."""
        return Event(seq=self.seq, kind=self.kind, at=self.at, data=self.data)


class Events(Repository):
    """What happened in each process, by `seq`: per process, from 1, without holes. No global order exists."""

    async def events(self, process_id: str, after: EventCursor = START, limit: int = 100) -> list[RecordedEvent]:
        """The events that directly follow `after`, at most `limit`, in order.

        Outboxes may be written out of order; an event behind a hole is not given out before the hole is filled, so a reader who goes
        on from the last one they saw misses none. Where events that they saw were superseded since, the reader gets what stands
        in their place.
        """
        return await self._all(
            RecordedEvent,
            f"""WITH from_seq AS ({_FROM}),
                lost AS (SELECT e.* FROM events e, from_seq f WHERE e.process_id = %(process)s AND NOT e.superseded
                         AND e.seq > f.after AND e.seq <= f.complete_to ORDER BY e.seq LIMIT %(limit)s),
                next AS (SELECT e.*, greatest(f.after, f.complete_to) + row_number() OVER (ORDER BY e.seq) AS place
                         FROM from_seq f, LATERAL (SELECT * FROM events e WHERE e.process_id = %(process)s
                             AND NOT e.superseded AND e.seq > greatest(f.after, f.complete_to)
                             ORDER BY e.seq LIMIT %(limit)s) AS e)
                SELECT epoch, seq, kind, at, data FROM lost
                UNION ALL SELECT epoch, seq, kind, at, data FROM next WHERE seq = place
                ORDER BY seq LIMIT %(limit)s""",
            {"process": process_id, "epoch": after.epoch, "seq": after.seq, "limit": limit},
        )

    async def superseded_from(self, process_id: str, epoch: int) -> int | None:
        """The first `seq` that a reader of this epoch must read again, as newer epochs begin there; None when there is no newer one.

        Epoch 0 has read nothing.
        """
        first: int | None = await self._value(
            "SELECT min(first_seq) AS first FROM epochs WHERE process_id = %s AND epoch > %s AND %s > 0",
            [process_id, epoch, epoch],
        )
        return first

    async def of_kind(self, process_id: str, *kinds: EventKind) -> list[RecordedEvent]:
        """The events of these kinds that are written so far, in order."""
        return await self._all(
            RecordedEvent,
            """SELECT epoch, seq, kind, at, data FROM events
               WHERE process_id = %s AND kind = ANY(%s) AND NOT superseded ORDER BY seq""",
            [process_id, [kind.value for kind in kinds]],
        )


_FROM = """SELECT least(%(seq)s::bigint, COALESCE(
               min(first_seq) FILTER (WHERE %(epoch)s > 0 AND epoch > %(epoch)s) - 1, %(seq)s::bigint)) AS after,
           COALESCE(max(complete_to), 0) AS complete_to
    FROM epochs WHERE process_id = %(process)s"""
"""Behind which `seq` to go on: back to where a newer epoch than the reader's began; up to where nothing is waited for."""
