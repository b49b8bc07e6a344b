"""Notifiers by signed webhook (app/notifications/webhook_signing.py describes the verification) and by mail."""

from __future__ import annotations

import json
from email.message import EmailMessage
from typing import Final, Literal

import aiosmtplib
import httpx

from tongyao.app.notifications.notifier import NotSent, Outgoing
from tongyao.app.notifications.webhook_signing import sign
from tongyao.gateway.outbound import http_client
from tongyao.gateway.outbound.http_client import AddressForbidden

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
