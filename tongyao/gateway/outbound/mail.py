"""Notifier by mail, over SMTP."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Literal

import aiosmtplib

from tongyao.app.notifications.notifier import NotSent, Outgoing

SECONDS = 20.0
Encryption = Literal["starttls", "tls", "none"]


class MailNotifier:
    """Sends plain text. The Message-ID is the notification's, so that a mail sent twice is one to most programs."""

    def __init__(
        self,
        host: str,
        *,
        sender: str,
        port: int = 587,
        encryption: Encryption = "starttls",
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
                timeout=SECONDS,
            )
        except aiosmtplib.SMTPRecipientsRefused as refused:
            codes = [one.code for one in refused.recipients]
            raise NotSent(f"recipient refused ({codes[0]})", permanent=min(codes) >= 500) from None
        except (aiosmtplib.SMTPSenderRefused, aiosmtplib.SMTPDataError) as refused:
            raise NotSent(f"mail refused ({refused.code})", permanent=refused.code >= 500) from None
        except (aiosmtplib.SMTPException, OSError) as error:  # unreachable, no login, no TLS: operators have to act
            raise NotSent(f"mail server: {type(error).__name__}") from None
