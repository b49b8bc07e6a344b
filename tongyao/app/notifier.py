"""How somebody is told that something waits: an extension point (docs/extending.md)."""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import SecretStr

from tongyao.protocol.model.value import Value


class Outgoing(Value):
    """One thing to tell one person, in words for people and as data for programs. Neither holds anybody's text.

    `id` stays the same when a delivery is tried again: a receiver who keeps ids hears of everything once.
    `secret` is the channel's own: what signs a webhook.
    """

    id: str
    address: str
    subject: str
    text: str
    data: dict[str, Any]
    secret: SecretStr = SecretStr("")


class NotSent(Exception):
    """It did not get through. `permanent`: trying again is of no use. The message holds no address and no text."""

    def __init__(self, why: str, *, permanent: bool = False) -> None:
        super().__init__(why)
        self.permanent = permanent


class Notifier(Protocol):
    """One kind of channel."""

    async def send(self, outgoing: Outgoing) -> None:
        """Return once it is accepted. Raises `NotSent`, and nothing else on purpose."""
        ...
