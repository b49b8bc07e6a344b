"""Interface for sending notifications over one kind of channel: an extension point (docs/extending.md).

Also the signature of a webhook (docs/api.md, "Notifications").
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

from pydantic import SecretStr

from tongyao.protocol.model.value import Value


class Outgoing(Value):
    """One notification of one person, as text for people and as data for programs. Neither contains texts of people.

    `id` stays the same when a delivery is retried, so a receiver can drop repetitions. `secret` belongs to the channel,
    and signs the requests to a webhook.
    """

    id: str
    address: str
    subject: str
    text: str
    data: dict[str, Any]
    secret: SecretStr = SecretStr("")


class NotSent(Exception):
    """The notification was not accepted. `permanent`: retries are useless. The message has no address and no text."""

    def __init__(self, why: str, *, permanent: bool = False) -> None:
        super().__init__(why)
        self.permanent = permanent


class Notifier(Protocol):
    """One kind of channel."""

    async def send(self, outgoing: Outgoing) -> None:
        """Return when the notification is accepted. Raises `NotSent` for expected failures."""
        ...


class LogNotifier:
    """The channel of operators and of people without a channel: a log line that contains only ids."""

    async def send(self, outgoing: Outgoing) -> None:
        import structlog  # imported late, because every command loads this module and most commands log nothing

        structlog.get_logger().info("notification", id=outgoing.id, **outgoing.data)


PREFIX: Final = "whsec_"
TOLERANCE_SECONDS: Final = 300
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


class BadSignature(Exception):
    """The signature is not the sender's, or it is too old."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign(secret: str, id: str, body: bytes, *, at: float | None = None) -> dict[str, str]:
    """Return the three headers of one delivery. `at`: Unix time in seconds, by default now."""
    timestamp = str(int(time.time() if at is None else at))
    return {ID: id, TIMESTAMP: timestamp, SIGNATURE: f"v1,{_mac(secret, id, timestamp, body)}"}


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, at: float | None = None) -> str:
    """Verify a signature, as the receiver of a webhook does. Returns the id, to compare with known ids. Raises `BadSignature`."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, timestamp, signatures = given[ID], given[TIMESTAMP], given[SIGNATURE].split()
        age = abs((time.time() if at is None else at) - int(timestamp))
    except (KeyError, ValueError):
        raise BadSignature("the headers webhook-id, -timestamp and -signature are missing or unreadable") from None
    if age > TOLERANCE_SECONDS:
        raise BadSignature(f"this was signed {age:.0f} s ago or ahead; at most {TOLERANCE_SECONDS}")
    expected = f"v1,{_mac(secret, id, timestamp, body)}".encode()
    if not any(hmac.compare_digest(expected, signature.encode()) for signature in signatures):
        raise BadSignature("no signature fits")
    return id


def _mac(secret: str, id: str, timestamp: str, body: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise BadSignature("the secret is `whsec_` and base64") from None
    return base64.b64encode(hmac.digest(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256)).decode()
