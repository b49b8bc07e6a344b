"""Makes notifications of processes from their events and from the inbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import ask_id
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.database import RecordsError
from tongyao.records.people.notifications import Notice
from tongyao.records.process.events import RecordedEvent
from tongyao.records.repositories import Repositories

log = structlog.get_logger()

STALE: Final = timedelta(days=1)
"""Older events cause no notification, so the first start does not notify of all past events."""
NOTIFIED: Final = frozenset(
    {EventKind.REMINDER, EventKind.ESCALATED, EventKind.DELIVERY_READY, EventKind.PROCESS_ENDED}
)


async def create_notices(repositories: Repositories) -> None:
    """Store the notifications for new events and asks, once per person. Events older than `STALE` are skipped."""
    notifications = repositories.notifications
    await notifications.from_inbox()
    for process_id, cursor in await notifications.behind(within=STALE):
        try:
            events = await repositories.events.events(process_id, cursor, 500)
            notices = [notice for event in events for notice in await _notices(repositories, process_id, event)]
            await notifications.from_events(process_id, events, notices)
        except RecordsError:
            raise
        except Exception as error:  # the notifications of other processes are still made
            log.error("notifications of a process wait", process=process_id, error=type(error).__name__)


async def _notices(repositories: Repositories, process_id: str, event: RecordedEvent) -> list[Notice]:
    if event.kind not in NOTIFIED or datetime.now(UTC) - event.at > STALE:
        return []
    row = await repositories.processes.get(process_id)
    if row.forked_from is not None:
        return []
    if (number := event.data.get("number")) is not None:
        return await _reminder_of_consent(repositories, process_id, event, ask_id("consent", number))
    alias = str(event.data.get("alias", DEMANDER))
    if event.kind is EventKind.ESCALATED:
        person: str | None = row.demander
        seen = event_for_party(event.event, role="demander", seated=bool(row.settings.get("demander_takes_part")))
        alias = str(seen.data.get("alias", "")) if seen else ""
    elif alias == DEMANDER:
        person = row.demander
    else:
        seats = await repositories.seats.seats(process_id)
        person = next((seat.person for seat in seats if seat.alias == alias), None)
    if person is None:
        return []
    number = event.data.get("round", 0)
    about = {"what": event.kind.value, "ask": ask_id("say", number, alias), "alias": alias, "round": number}
    return [
        Notice(
            source=f"event/{process_id}/{event.epoch}.{event.seq}",
            person=person,
            process_id=process_id,
            about=about,
        )
    ]


async def _reminder_of_consent(
    repositories: Repositories, process_id: str, event: RecordedEvent, id: str
) -> list[Notice]:
    """Return a reminder of the question for consent, if the person has not answered it."""
    asked = await repositories.inbox.get(process_id, id)
    if asked is None or asked.person is None or asked.closed_at is not None:
        return []
    about = {"what": asked.ask, "ask": id, "alias": asked.alias, "round": asked.round}
    source = f"event/{process_id}/{event.epoch}.{event.seq}"
    return [Notice(source=source, person=asked.person, process_id=process_id, about=about)]
