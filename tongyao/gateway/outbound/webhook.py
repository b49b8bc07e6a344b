"""Notifier by signed webhook (app/notifications/webhook_signing.py says how a receiver verifies it)."""

from __future__ import annotations

import json
from typing import Final

import httpx

from tongyao.app.notifications.notifier import NotSent, Outgoing
from tongyao.app.notifications.webhook_signing import sign
from tongyao.gateway.outbound import http_client
from tongyao.gateway.outbound.http_client import AddressForbidden

SECONDS: Final = 10.0
AGAIN: Final = frozenset({408, 409, 425, 429})
"""Answers of the 4xx kind after which another try is worth it."""


class WebhookNotifier:
    """`private_allowed`: addresses inside the local network, and without TLS, are used too."""

    def __init__(self, *, private_allowed: bool = False) -> None:
        self._private_allowed = private_allowed

    async def send(self, outgoing: Outgoing) -> None:
        body = json.dumps(outgoing.data, ensure_ascii=False, sort_keys=True).encode()
        headers = sign(outgoing.secret.get_secret_value(), outgoing.id, body) | {"content-type": "application/json"}
        try:
            async with (
                http_client.client(private_allowed=self._private_allowed, seconds=SECONDS) as client,
                client.stream("POST", outgoing.address, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except AddressForbidden:
            raise NotSent("address forbidden", permanent=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotSent(f"webhook: {type(error).__name__}") from None
        if not 200 <= status < 300:
            raise NotSent(f"webhook answered {status}", permanent=400 <= status < 500 and status not in AGAIN)
