"""Makes notifications of processes from their events and from the inbox, and their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog

from tongyao.protocol.life.asks import ASK_KINDS, Told, does
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import ask_id
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.database import RecordsError
from tongyao.records.people.notifications import Notice
from tongyao.records.process.events import RecordedEvent
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import catalogue, worded

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


def said(what: str, about: Mapping[str, Any], ask: Told | None, language: str) -> str:
    """Return the sentence of a notification. A notification of an `ask` has the sentence of the table of asks."""
    if ask is not None and what in ASK_KINDS:
        sentence = does(ask, language)
        return f"请{sentence}" if language == "zh" else sentence[:1].upper() + sentence[1:]
    word = _in(language)
    return word(what, alias=about.get("alias") or word("somebody"), round=about.get("round", ""))


def subject(sentence: str) -> str:
    return f"Tongyao: {sentence}"


def text(
    sentence: str,
    *,
    process: str,
    due: datetime | None,
    where: str,
    personal: bool,
    language: str,
    first: Sequence[str] = (),
) -> str:
    """Return the body of a notification.

    `personal`: whether `where` is a link that signs the reader in. `first`: paragraphs before the sentence.
    """
    said = _in(language)
    lines = [line for paragraph in first for line in (paragraph, "")]
    lines += [sentence, ""]
    if process:
        lines.append(said("process", process=process))
    if due is not None:
        lines.append(said("until", until=f"{due:%Y-%m-%d %H:%M} UTC"))
    if where:
        lines.append(said("personal_link" if personal else "where", where=where))
    return "\n".join(lines) + "\n"


def code_mail(code: str, language: str) -> tuple[str, str]:
    """Return subject and text of the mail with a code."""
    said = _in(language)
    return said("code_subject"), said("code", code=code)


def _in(language: str) -> Callable[..., str]:
    def said(key: str, **values: object) -> str:
        return worded(catalogue("app"), language, f"notification.{key}", **values)

    return said
