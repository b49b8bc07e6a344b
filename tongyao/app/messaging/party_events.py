"""The events of one process as one party reads them (docs/protocol.md §6.5): numbered for that party, and resumable.

A party does not receive an event's `seq`, because gaps in it would reveal events of others. It receives an opaque token
of the epoch and the position among the events that this party may see.
"""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any, Final

from pydantic import Field, JsonValue

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.process.events import START, EventCursor, Events, RecordedEvent

MAX_TOKEN: Final = 40
"""Characters of the longest token."""
_PAGE: Final = 500
_MAX_NUMBER: Final = 2**31


class PartyEvent(Value):
    """An event as one party may see it. `id`: the opaque token from which reading can resume."""

    id: str
    kind: EventKind
    at: datetime
    data: dict[str, JsonValue] = Field(default_factory=dict)


class History(Value):
    """A page of events. `rewound`: if events that the party has read are superseded, the token of the last valid event,
    or empty if no event is valid. Otherwise None."""

    events: list[PartyEvent]
    next: str | None = None
    rewound: str | None = None


class PartyEvents:
    """A reader of one process's events for one party. A new reader starts before the first event."""

    def __init__(self, events: Events, access: ProcessAccess) -> None:
        self._events, self._access = events, access
        self._read: list[EventCursor] = []
        """The positions in the records of all events that the party has read."""
        self._cursor = START

    @property
    def position(self) -> str:
        """The token of the last event that was read; empty before the first."""
        return _token(self._read[-1].epoch, len(self._read)) if self._read else ""

    async def resume(self, token: str) -> str | None:
        """Continue after this token. Returns None, or the token of the last valid event if later ones are superseded.

        Raises `BadInput` if the token is malformed.
        """
        epoch, number = _read_token(token)
        first = await self._events.superseded_from(self._access.process.id, epoch)
        while len(self._read) < number:
            page = await self._page()
            for event in page:
                if len(self._read) == number or (first is not None and event.seq >= first):
                    return self._rewound_unless(len(self._read) == number)
                self._take(event)
            if not page:
                break
        return self._rewound_unless(len(self._read) == number)

    async def read(self, limit: int | None = _PAGE) -> tuple[list[PartyEvent], str | None]:
        """Return the events since the last call, at most `limit` (None: all), and the same value as `resume`."""
        rewound = await self._go_back()
        shown: list[PartyEvent] = []
        more = True
        while more and (limit is None or len(shown) < limit) and (page := await self._page()):
            more = len(page) == _PAGE
            if page[0].seq <= self._cursor.seq:  # superseded since the query
                lost = await self._go_back()
                return [], rewound if lost is None else lost
            for event in page:
                if (readable := self._take(event)) is not None:
                    shown.append(readable)
                    if len(shown) == limit:
                        break
        return shown, rewound

    async def _page(self) -> list[RecordedEvent]:
        return await self._events.events(self._access.process.id, self._cursor, _PAGE)

    async def _go_back(self) -> str | None:
        first = await self._events.superseded_from(self._access.process.id, self._cursor.epoch)
        if first is None or first > self._cursor.seq:
            return None
        kept = [event for event in self._read if event.seq < first]
        lost = len(kept) < len(self._read)
        self._read = kept
        self._cursor = EventCursor(epoch=self._cursor.epoch, seq=first - 1)
        return self._rewound_unless(not lost)

    def _rewound_unless(self, held: bool) -> str | None:
        return None if held else self.position

    def _take(self, event: RecordedEvent) -> PartyEvent | None:
        """Advance by one event. Returns the part that the party may see, or None."""
        self._cursor = event.cursor
        role: Any = self._access.role.value
        shown = event_for_party(event.event, role=role, alias=self._access.alias, seated=self._access.seated)
        if shown is None:
            return None
        self._read.append(event.cursor)
        token = _token(event.epoch, len(self._read))
        return PartyEvent(id=token, kind=shown.kind, at=shown.at, data=shown.data)


async def party_events(context: AppContext, caller: Caller, process_id: str) -> tuple[PartyEvents, ProcessAccess]:
    """Return a reader of the events of a process for a caller. Raises `NotFound` and `NotAllowed`."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_EVENTS)
    return PartyEvents(context.repositories.events, access), access


async def read_history(
    context: AppContext, caller: Caller, process_id: str, *, after: str = "", limit: int | None = 100
) -> History:
    """Return the events after token `after` that this party may see, and the token of the next page (None: no more
    yet).

    `limit`: most events; None: all. The events come from the records, so they outlast Temporal's retention.
    """
    events, _ = await party_events(context, caller, process_id)
    rewound = await events.resume(after) if after else None
    page, lost = await events.read(limit)
    return History(events=page, next=page[-1].id if page else None, rewound=rewound if lost is None else lost)


def _token(epoch: int, number: int) -> str:
    return base64.urlsafe_b64encode(f"{epoch}.{number}".encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, int]:
    try:
        plain = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        epoch, number = (int(part) for part in plain.decode("ascii").split(".") if part.isdigit())
    except (ValueError, binascii.Error):
        raise BadInput("bad_event_id", "give the `id` of the last event that you have, as it was sent") from None
    if not (0 < epoch < _MAX_NUMBER and 0 < number < _MAX_NUMBER):
        raise BadInput("bad_event_id", "give the `id` of the last event that you have, as it was sent")
    return epoch, number
