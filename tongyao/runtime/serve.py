"""Runs the gateway: API and MCP, notifications, and the calls to people's own agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import fields, replace
from functools import partial

from tongyao.app.context import AppContext
from tongyao.app.notifications.notifier import LogNotifier, Notifier
from tongyao.gateway.outbound.agents import AgentCaller
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.gateway.outbound.notifications import MailNotifier, NotificationSender, WebhookNotifier
from tongyao.gateway.outbound.openid import OpenIDConnect
from tongyao.gateway.server import listen, serve, url_of
from tongyao.runtime import wiring
from tongyao.runtime.installation import Installation
from tongyao.runtime.local.addresses import GATEWAY_FILE
from tongyao.runtime.settings import Settings


def gateway_context(installation: Installation) -> AppContext:
    """Return the context with the parts for the gateway only: search, intent reader, notifiers, sign-in, agents."""
    settings, context = installation.settings, installation.context
    return replace(
        context,
        people_search=wiring.intent_field(settings, context.repositories),
        intent_reader=wiring.intent_reader(settings, context.repositories),
        models_cost=wiring.models_cost(settings),
        delegates=settings.delegates,
        notifiers=notifiers_of(settings),
        openid=openid_of(settings),
        profile_sources={"http": partial(HttpProfileSource, private_allowed=settings.gateway.private_addresses)},
    )


def openid_of(settings: Settings) -> OpenIDConnect | None:
    """Return the OpenID provider of the settings, or None."""
    if not settings.openid_issuer:
        return None
    return OpenIDConnect(**{one.name: getattr(settings, f"openid_{one.name}") for one in fields(OpenIDConnect)})


def notifiers_of(settings: Settings) -> dict[str, Notifier]:
    """Return the notifiers by kind of channel. There is one for mail only if a mail server is set."""
    notifiers: dict[str, Notifier] = {
        "log": LogNotifier(),
        "webhook": WebhookNotifier(private_allowed=settings.gateway.private_addresses),
    }
    if settings.mail_host is not None:
        notifiers["mail"] = MailNotifier(
            settings.mail_host,
            sender=settings.mail_from,
            port=settings.mail_port,
            encryption=settings.mail_encryption,
            username=settings.mail_username,
            password=settings.mail_password.get_secret_value() if settings.mail_password else None,
        )
    return notifiers


@asynccontextmanager
async def gateway_running(installation: Installation, stop: asyncio.Event) -> AsyncIterator[str]:
    """Run the gateway for the length of the block, and yield its URL.

    Raises `Unavailable` if its address is taken, or is public without a proxy. Sets `stop` if a part of the gateway
    ends.
    """
    settings, context = installation.settings, gateway_context(installation)
    notifications = NotificationSender(context.repositories, context.notifiers, public_url=settings.public_url)
    exposed = settings.behind_proxy or settings.gateway.without_proxy
    bound = listen(settings.gateway_host, settings.gateway_port, exposed=exposed)
    found_at = settings.home / GATEWAY_FILE
    if settings.gateway_port == 0:  # otherwise the address is known, and a container may have no writable home
        found_at.parent.mkdir(parents=True, exist_ok=True)
        found_at.write_text(url_of(bound), encoding="utf-8")
    else:
        with suppress(OSError):  # the file of a gateway that was killed
            found_at.unlink(missing_ok=True)
    tasks = [
        asyncio.create_task(serve(context, stop, bound)),
        asyncio.create_task(notifications.run(stop)),
        asyncio.create_task(AgentCaller(context).run(stop)),
    ]
    for task in tasks:
        task.add_done_callback(lambda _: stop.set())
    try:
        yield url_of(bound)
    finally:
        stop.set()
        if settings.gateway_port == 0:
            found_at.unlink(missing_ok=True)
        await asyncio.gather(*tasks)
