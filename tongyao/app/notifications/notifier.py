"""Interface for sending notifications over one kind of channel: an extension point (docs/extending.md)."""

from __future__ import annotations

from typing import Any, Protocol

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
