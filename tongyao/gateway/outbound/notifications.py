"""Sends notifications from the records, so that no process waits for a mail server (docs/api.md, "Notifications").

Each notification is sent once per person and channel. A refused notification is retried. If a gateway dies after
sending a notification and before recording that, the notification is sent again, with the same id.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Final, Literal

import aiosmtplib
import httpx
import structlog
from pydantic import SecretStr

from tongyao.app.authorization import Caller
from tongyao.app.errors import Gone, Unauthenticated
from tongyao.app.notifications import notices
from tongyao.app.notifications.notices import STALE, create_notices
from tongyao.app.notifications.notifier import Notifier, NotSent, Outgoing, sign
from tongyao.app.people.consents import invitation_to
from tongyao.app.people.sessions import LINK_IN_MAIL, link_address, new_link
from tongyao.app.writing import writing
from tongyao.gateway.outbound import http_client
from tongyao.gateway.outbound.deliveries import Deliveries, retry_seconds
from tongyao.gateway.outbound.http_client import AddressForbidden
from tongyao.protocol.model.events import AskName, EventKind
from tongyao.records.people.notifications import ATTEMPTS, Channel, Notification
from tongyao.records.process.inbox import InboxRow
from tongyao.records.repositories import Repositories

log = structlog.get_logger()

SECONDS: Final = 20.0
"""Limit of one delivery, from its first to its last byte."""
ASKS: Final = frozenset(AskName)


class NotificationSender(Deliveries[Notification]):
    """Sends notifications. `notifiers`: by kind of channel. `public_url`: the installation's address for people."""

    what = "notifications"

    def __init__(self, repositories: Repositories, notifiers: Mapping[str, Notifier], *, public_url: str = "") -> None:
        super().__init__(repositories.changes)
        self._library, self._notifiers, self._public_url = repositories, notifiers, public_url

    async def due(self, most: int, *, of_one: int, running: Counter[str]) -> Sequence[Notification]:
        """Create notifications for new events, then lease due notifications."""
        await create_notices(self._library)
        return await self._library.notifications.due(most, of_one=of_one, running=running) if most else ()

    async def deliver(self, notification: Notification) -> None:
        records, over = self._library.notifications, notification.attempts >= ATTEMPTS
        which = {"id": notification.id, "channel": notification.channel}
        links: list[str] = []
        try:
            outgoing = await self._outgoing(notification, links)
            notifier = self._notifiers.get(notification.channel)
            if outgoing is None or notifier is None:
                await records.ended(notification.id, "dropped")
                return
            async with asyncio.timeout(SECONDS):
                await notifier.send(outgoing)
        except TimeoutError:
            log.warning("notification not sent", **which, why="it took too long", over=over)
        except NotSent as failed:
            over = over or failed.permanent
            log.warning("notification not sent", **which, why=str(failed), over=over)
        except Exception as error:  # a notifier that was added to the installation may raise any exception
            log.error("notifier failed", **which, error=type(error).__name__, over=over)
        else:
            await records.ended(notification.id, "sent")
            return
        for link in links:  # the next attempt makes a new link
            await self._library.tokens.revoke(link)
        if over:
            await records.ended(notification.id, "failed")
        else:
            await records.postpone(
                notification.id, retry_seconds(notification.attempts, first=30, factor=4, most=6 * 3600)
            )

    async def _outgoing(self, notification: Notification, links: list[str]) -> Outgoing | None:
        """Return the text to send. None if the ask is closed, the notification is too old, or it has no channel.

        The ids of the personal links in the text are added to `links`.
        """
        channel = await self._channel(notification)
        what = str(notification.about["what"])
        due: datetime | None = None
        waiting: InboxRow | None = None
        if what in ASKS or what == EventKind.REMINDER:
            waiting = await self._library.inbox.get(notification.process_id or "", str(notification.about["ask"]))
            if waiting is None or waiting.closed_at is not None:
                return None
            due = waiting.due_at
        if channel is None or (what not in ASKS and datetime.now(UTC) - notification.created_at > STALE):
            return None
        language = await self._language(notification)
        first: tuple[str, ...] = ()
        if what == AskName.CONSENT and notification.process_id:
            process = await self._library.processes.get(notification.process_id)
            first = (await invitation_to(self._library, process, language)).paragraphs
        sentence = notices.said(what, notification.about, waiting, language)
        where = await self._where(notification, channel, links)
        data = {**notification.about, "process": notification.process_id or "", "due": due.isoformat() if due else None}
        return Outgoing(
            id=notification.id,
            address=channel.address,
            secret=SecretStr(channel.secret),
            subject=notices.subject(sentence),
            text=notices.text(
                sentence,
                process=notification.process_id or "",
                due=due,
                where=where,
                personal=bool(links),
                language=language,
                first=first,
            ),
            data=data,
        )

    async def _where(self, notification: Notification, channel: Channel, links: list[str]) -> str:
        """Return the address in a notification: in a mail a personal link to the console, otherwise `public_url`.

        A personal link works once. A mail has no link if the token that set the mail address is no longer valid.
        """
        if not self._public_url or notification.channel != "mail":
            return self._public_url
        root = await self._library.tokens.root(channel.set_with)
        try:
            async with writing(self._library, Caller(person=notification.person, id=channel.set_with)):
                issued = await new_link(self._library.tokens, notification.person, LINK_IN_MAIL, root)
        except (Unauthenticated, Gone):
            return self._public_url
        links.append(issued.token.id)
        return link_address(self._public_url, issued.secret)

    async def _channel(self, notification: Notification) -> Channel | None:
        if notification.channel == "log":
            return Channel(person=notification.person, kind="mail", address="")
        channels = await self._library.notifications.channels(notification.person)
        return next(
            (channel for channel in channels if channel.kind == notification.channel and channel.confirmed), None
        )

    async def _language(self, notification: Notification) -> str:
        if notification.person in await self._library.profiles.known([notification.person]):
            return (await self._library.profiles.version(notification.person)).language
        return (
            (await self._library.processes.get(notification.process_id)).language if notification.process_id else "en"
        )


WEBHOOK_SECONDS: Final = 10.0
MAIL_SECONDS: Final = 20.0
AGAIN: Final = frozenset({408, 409, 425, 429})
"""Answers of 4xx after which the webhook is tried again."""


class WebhookNotifier:
    """Sends signed webhooks. `private_allowed`: also to addresses in the local network and without TLS."""

    def __init__(self, *, private_allowed: bool = False) -> None:
        self._private_allowed = private_allowed

    async def send(self, outgoing: Outgoing) -> None:
        body = json.dumps(outgoing.data, ensure_ascii=False, sort_keys=True).encode()
        headers = sign(outgoing.secret.get_secret_value(), outgoing.id, body) | {"content-type": "application/json"}
        try:
            async with (
                http_client.client(private_allowed=self._private_allowed, seconds=WEBHOOK_SECONDS) as client,
                client.stream("POST", outgoing.address, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except AddressForbidden:
            raise NotSent("address forbidden", permanent=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotSent(f"webhook: {type(error).__name__}") from None
        if not 200 <= status < 300:
            raise NotSent(f"webhook answered {status}", permanent=400 <= status < 500 and status not in AGAIN)


class MailNotifier:
    """Sends plain text. The Message-ID is the notification's id, so most programs show a mail sent twice only once."""

    def __init__(
        self,
        host: str,
        *,
        sender: str,
        port: int = 587,
        encryption: Literal["starttls", "tls", "none"] = "starttls",
        username: str | None = None,
        password: str | None = None,
    ) -> None:
        self._host, self._port, self._sender = host, port, sender
        self._encryption, self._username, self._password = encryption, username, password

    async def send(self, outgoing: Outgoing) -> None:
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = outgoing.address
        message["Subject"] = outgoing.subject
        message["Message-ID"] = f"<{outgoing.id}@{self._sender.rpartition('@')[2].strip('> ') or 'tongyao'}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(outgoing.text)
        try:
            await aiosmtplib.send(
                message,
                hostname=self._host,
                port=self._port,
                username=self._username,
                password=self._password,
                use_tls=self._encryption == "tls",
                start_tls=self._encryption == "starttls",
                timeout=MAIL_SECONDS,
            )
        except aiosmtplib.SMTPRecipientsRefused as refused:
            codes = [recipient.code for recipient in refused.recipients]
            raise NotSent(f"recipient refused ({codes[0]})", permanent=min(codes) >= 500) from None
        except (aiosmtplib.SMTPSenderRefused, aiosmtplib.SMTPDataError) as refused:
            raise NotSent(f"mail refused ({refused.code})", permanent=refused.code >= 500) from None
        except (aiosmtplib.SMTPException, OSError) as error:  # unreachable, login refused, no TLS: an operator must act
            raise NotSent(f"mail server: {type(error).__name__}") from None
