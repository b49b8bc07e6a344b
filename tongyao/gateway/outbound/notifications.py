"""Sends notifications from the records, so that no process waits for a mail server (docs/api.md, "Notifications").

Each notification is sent once per person and channel. One that was not accepted is retried. A gateway that dies between
sending and recording it sends again, under the same id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from pydantic import SecretStr

from tongyao.app.authorization import Caller
from tongyao.app.errors import Gone, Unauthenticated
from tongyao.app.notifications import notification_texts
from tongyao.app.notifications.notifier import Notifier, NotSent, Outgoing
from tongyao.app.people.invitation import invitation_to
from tongyao.app.people.sessions import LINK_DAYS, LINK_IN_MAIL, link_address, no_longer_than
from tongyao.app.writing import writing
from tongyao.gateway.outbound.pool import DeliveryPool
from tongyao.protocol.model.events import Ask, EventKind
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.database import RecordsError
from tongyao.records.people.notifications import ATTEMPTS, Channel, Notice, Notification
from tongyao.records.process.changes import SAFETY_SECONDS
from tongyao.records.process.events import RecordedEvent
from tongyao.records.repositories import Repositories

log = structlog.get_logger()

STALE: Final = timedelta(days=1)
"""Older events are not notified: a first start does not send the whole past."""
SECONDS: Final = 20.0
"""One delivery from its first to its last byte, however slowly the other side answers."""
ASKS: Final = frozenset(Ask)
NOTIFIED: Final = frozenset(
    {EventKind.REMINDER, EventKind.ESCALATED, EventKind.DELIVERY_READY, EventKind.PROCESS_ENDED}
)


def retry_seconds(attempts: int) -> float:
    """How long after try number `attempts` the next one is: 30 s, then four times as long each time, at most 6 h."""
    return float(min(30 * 4 ** (attempts - 1), 6 * 3600))


class LogNotifier:
    """For people without a channel, and for operators: a line in the log, with ids alone."""

    async def send(self, outgoing: Outgoing) -> None:
        log.info("notification", id=outgoing.id, **outgoing.data)


class NotificationSender:
    """`notifiers`: by kind of channel. `public_url`: where people find this installation."""

    def __init__(self, repositories: Repositories, notifiers: Mapping[str, Notifier], *, public_url: str = "") -> None:
        self._library, self._notifiers, self._public_url = repositories, notifiers, public_url
        self._pool = DeliveryPool("notifications", self._start_due)

    async def run(self, stop: asyncio.Event, *, idle: float = SAFETY_SECONDS) -> None:
        """Run until `stop`. Several may run: a notification is leased to one of them at a time."""
        await self._pool.run(stop, self._library.changes, idle=idle)

    async def once(self) -> int:
        """Create notifications for what is new, and send all that is due; returns how many were tried."""
        return await self._pool.once()

    async def _start_due(self) -> int:
        """Start as many deliveries as there are places for; returns how many."""
        await self.create()
        if not self._pool.free:
            return 0
        due = await self._library.notifications.due(
            self._pool.free, of_one=self._pool.most_of_one, running=self._pool.running
        )
        for one in due:
            self._pool.start(one.person, self._try(one))
        return len(due)

    async def create(self) -> None:
        notifications = self._library.notifications
        await notifications.from_inbox()
        for process_id, cursor in await notifications.behind(within=STALE):
            try:
                events = await self._library.events.events(process_id, cursor, 500)
                notices = [one for event in events for one in await self._notices(process_id, event)]
                await notifications.from_events(process_id, events, notices)
            except RecordsError:
                raise
            except Exception as error:  # those of other processes are made all the same
                log.error("notifications of a process wait", process=process_id, error=type(error).__name__)

    async def _notices(self, process_id: str, event: RecordedEvent) -> list[Notice]:
        if event.kind not in NOTIFIED or datetime.now(UTC) - event.at > STALE:
            return []
        row = await self._library.processes.get(process_id)
        if (number := event.data.get("number")) is not None:
            return await self._reminder_of_consent(process_id, event, f"invited/{number}")
        alias = str(event.data.get("alias", DEMANDER))
        if event.kind is EventKind.ESCALATED:
            person: str | None = row.demander
            seen = event_for_party(event.event, role="demander", seated=bool(row.settings.get("demander_takes_part")))
            alias = str(seen.data.get("alias", "")) if seen else ""
        elif alias == DEMANDER:
            person = row.demander
        else:
            seats = await self._library.seats.seats(process_id)
            person = next((seat.person for seat in seats if seat.alias == alias), None)
        if person is None:
            return []
        about = {"what": event.kind.value, "alias": alias, "round": event.data.get("round", 0)}
        return [
            Notice(
                source=f"event/{process_id}/{event.epoch}.{event.seq}",
                person=person,
                process_id=process_id,
                about=about,
            )
        ]

    async def _reminder_of_consent(self, process_id: str, event: RecordedEvent, alias: str) -> list[Notice]:
        """The question for their consent once more, to whoever was asked and has not answered."""
        number = int(alias.removeprefix("invited/"))
        asked = await self._library.inbox.get(f"{process_id}/{Ask.CONSENT}/{alias}/{number}")
        if asked is None or asked.person is None or asked.closed_at is not None:
            return []
        about = {"what": Ask.CONSENT.value, "alias": alias, "round": number}
        source = f"event/{process_id}/{event.epoch}.{event.seq}"
        return [Notice(source=source, person=asked.person, process_id=process_id, about=about)]

    async def _try(self, one: Notification) -> None:
        records, over = self._library.notifications, one.attempts >= ATTEMPTS
        links: list[str] = []
        try:
            outgoing = await self._outgoing(one, links)
            notifier = self._notifiers.get(one.channel)
            if outgoing is None or notifier is None:
                await records.ended(one.id, "dropped")
                return
            async with asyncio.timeout(SECONDS):
                await notifier.send(outgoing)
        except TimeoutError:
            log.warning("notification not sent", id=one.id, channel=one.channel, why="it took too long", over=over)
        except NotSent as failed:
            over = over or failed.permanent
            log.warning("notification not sent", id=one.id, channel=one.channel, why=str(failed), over=over)
        except Exception as error:  # an implementation from outside may raise anything
            log.error("notifier failed", id=one.id, channel=one.channel, error=type(error).__name__, over=over)
        else:
            await records.ended(one.id, "sent")
            return
        for link in links:  # the next try has one of its own
            await self._library.tokens.revoke(link)
        if over:
            await records.ended(one.id, "failed")
        else:
            await records.postpone(one.id, retry_seconds(one.attempts))

    async def _outgoing(self, one: Notification, links: list[str]) -> Outgoing | None:
        """None when it was answered meanwhile, is too old, or has no channel. `links`: the ids of personal links in it are added."""
        channel = await self._channel(one)
        told = what = str(one.about["what"])
        due: datetime | None = None
        if what in ASKS or what == EventKind.REMINDER:
            ask = Ask.PROJECTION if what == EventKind.REMINDER else Ask(what)
            waiting = await self._library.inbox.get(f"{one.process_id}/{ask}/{one.about['alias']}/{one.about['round']}")
            if waiting is None or waiting.closed_at is not None:
                return None
            due = waiting.due_at
            unlimited = due is None and waiting.remaining_seconds is None
            if ask is Ask.PROJECTION and waiting.alias == DEMANDER and unlimited:
                told = "gap"  # without a seat the demander has no turn
        if channel is None or (what not in ASKS and datetime.now(UTC) - one.created_at > STALE):
            return None
        language = await self._language(one)
        first: tuple[str, ...] = ()
        if what == Ask.CONSENT and one.process_id:
            process = await self._library.processes.get(one.process_id)
            first = (await invitation_to(self._library, process, language)).paragraphs
        data = {**one.about, "process": one.process_id or "", "due": due.isoformat() if due else None}
        return Outgoing(
            id=one.id,
            address=channel.address,
            secret=SecretStr(channel.secret),
            subject=notification_texts.subject(told, one.about, language),
            text=notification_texts.text(
                told,
                one.about,
                process=one.process_id or "",
                due=due,
                where=await self._where(one, channel, links),
                language=language,
                first=first,
            ),
            data=data,
        )

    async def _where(self, one: Notification, channel: Channel, links: list[str]) -> str:
        """In a mail a personal link to the console, which works once; elsewhere the installation's address.

        A mail has none where the token is over that set its address.
        """
        if not self._public_url or one.channel != "mail":
            return self._public_url
        root = await self._library.tokens.root(channel.set_with)
        try:
            async with writing(self._library, Caller(person=one.person, id=channel.set_with)):
                issued = await self._library.tokens.issue(
                    "person",
                    person=one.person,
                    label=LINK_IN_MAIL,
                    lasts=no_longer_than(root, timedelta(days=LINK_DAYS)),
                    kind="link",
                    opened_by=root.id if root else None,
                )
        except (Unauthenticated, Gone):
            return self._public_url
        links.append(issued.token.id)
        return link_address(self._public_url, issued.secret)

    async def _channel(self, one: Notification) -> Channel | None:
        if one.channel == "log":
            return Channel(person=one.person, kind="mail", address="")
        channels = await self._library.notifications.channels(one.person)
        return next((channel for channel in channels if channel.kind == one.channel and channel.confirmed), None)

    async def _language(self, one: Notification) -> str:
        if one.person in await self._library.profiles.known([one.person]):
            return (await self._library.profiles.version(one.person)).language
        return (await self._library.processes.get(one.process_id)).language if one.process_id else "en"
