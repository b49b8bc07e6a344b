"""Sends notifications over one kind of channel: an extension point (docs/extending.md)."""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import SecretStr

from tongyao.protocol.model.value import Value


class Outgoing(Value):
    """One notification of one person, as text for people and as data for programs. Neither contains anybody's text.

    `id` stays the same when a delivery is retried, so a receiver can drop repetitions. `secret` belongs to the channel: it
    signs a webhook.
    """

    id: str
    address: str
    subject: str
    text: str
    data: dict[str, Any]
    secret: SecretStr = SecretStr("")


class NotSent(Exception):
    """The notification was not accepted. `permanent`: a retry is of no use. The message contains no address and no text."""

    def __init__(self, why: str, *, permanent: bool = False) -> None:
        super().__init__(why)
        self.permanent = permanent


class Notifier(Protocol):
    """One kind of channel."""

    async def send(self, outgoing: Outgoing) -> None:
        """Return once it is accepted. Raises `NotSent` and no other error on purpose."""
        ...


class LogNotifier:
    """The channel of people without one, and of operators: a line in the log, with ids alone."""

    async def send(self, outgoing: Outgoing) -> None:
        import structlog  # late: every command loads the contracts of the application, and most log nothing

        structlog.get_logger().info("notification", id=outgoing.id, **outgoing.data)
