"""Reads the events of a process, in order and without gaps."""

from __future__ import annotations

from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository


class EventCursor(Value):
    """The position of a reader: the last event read is `seq`, in the version of `epoch`.

    `seq` 0: nothing was read. `epoch` 0: every version of an event counts as read.
    """

    epoch: int = 0
    seq: int = 0


START = EventCursor()


class RecordedEvent(Event):
    """An event with the epoch in which it was written."""

    epoch: int

    @property
    def cursor(self) -> EventCursor:
        """The position after this event."""
        return EventCursor(epoch=self.epoch, seq=self.seq)

    @property
    def event(self) -> Event:
        """The event as the process wrote it."""
        return Event(seq=self.seq, kind=self.kind, at=self.at, data=self.data)


class Events(Repository):
    """The events of each process by `seq`, from 1 without gaps. There is no global order."""

    async def events(self, process_id: str, after: EventCursor = START, limit: int = 100) -> list[RecordedEvent]:
        """The events that directly follow `after`, at most `limit`, in order.

        Outboxes may be written out of order. An event after a gap is returned only when the gap is filled. So a reader
        who continues after the last event read misses none. If events that the reader has read were superseded, the
        reader gets the events that replace them.
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
        """The first `seq` that a reader of this epoch must read again, because a newer epoch begins there. None if
        there is none.

        A reader of epoch 0 has read nothing.
        """
        first: int | None = await self._value(
            "SELECT min(first_seq) AS first FROM epochs WHERE process_id = %s AND epoch > %s AND %s > 0",
            [process_id, epoch, epoch],
        )
        return first

    async def of_kind(self, process_id: str, *kinds: EventKind) -> list[RecordedEvent]:
        """The valid events of these kinds, in order."""
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
"""`after`: the `seq` after which the reader continues; it lies before the start of any newer epoch.

`complete_to`: up to this `seq`, missing events are lost and are not waited for.
"""
