"""Signed webhooks after the open specification Standard Webhooks (standardwebhooks.com). Its libraries can verify them.

HMAC-SHA256 signs `id.timestamp.body`. A receiver refuses known ids, and signatures older than `TOLERANCE_SECONDS`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Final

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
