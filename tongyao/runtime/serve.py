"""The front of an installation: the gateway with everything behind it, wired from the settings and running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from tongyao.app.context import Gateway
from tongyao.app.notifier import Notifier
from tongyao.gateway.outbound.agent_http import HttpSource
from tongyao.gateway.outbound.ask_agents import Asking
from tongyao.gateway.outbound.log import LogNotifier
from tongyao.gateway.outbound.mail import MailNotifier
from tongyao.gateway.outbound.notifications import Notifying
from tongyao.gateway.outbound.webhook import WebhookNotifier
from tongyao.gateway.server import listen, serve, url_of
from tongyao.runtime import wiring
from tongyao.runtime.installation import Office
from tongyao.runtime.settings import Settings


def gateway_of(here: Office) -> Gateway:
    """The doors of a running installation."""
    return Gateway(
        here.library,
        here.starting,
        here.registering,
        here.relay,
        here.settings.gateway,
        search=wiring.intent_field(here.settings, here.library),
        forgetting=wiring.forgetting(here.library),
        notifiers=notifiers_of(here.settings),
        sources={"http": partial(HttpSource, private_allowed=here.settings.gateway.private_addresses)},
    )


def notifiers_of(settings: Settings) -> dict[str, Notifier]:
    """By kind of channel; mail only where a server for it is named."""
    made: dict[str, Notifier] = {
        "log": LogNotifier(),
        "webhook": WebhookNotifier(private_allowed=settings.gateway.private_addresses),
    }
    if settings.mail_host is not None:
        made["mail"] = MailNotifier(
            settings.mail_host,
            sender=settings.mail_from,
            port=settings.mail_port,
            encryption=settings.mail_encryption,
            username=settings.mail_username,
            password=settings.mail_password.get_secret_value() if settings.mail_password else None,
        )
    return made


@asynccontextmanager
async def opened(here: Office, stop: asyncio.Event) -> AsyncIterator[str]:
    """Serve API and MCP for the length of the block, tell people what waits, and ask their agents.

    Yields the address.

    Raises `AddressTaken`. Should any of it end by itself, `stop` is set.
    """
    gateway = gateway_of(here)
    notifying = Notifying(here.library, gateway.notifiers, public_url=here.settings.public_url)
    bound = listen(here.settings.gateway_host, here.settings.gateway_port)
    work = [
        asyncio.create_task(serve(gateway, stop, bound)),
        asyncio.create_task(notifying.run(stop)),
        asyncio.create_task(Asking(gateway).run(stop)),
    ]
    for task in work:
        task.add_done_callback(lambda _: stop.set())
    try:
        yield url_of(bound)
    finally:
        stop.set()
        await asyncio.gather(*work)
