"""The front of an installation: the gateway with everything behind it, wired from the settings and running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tongyao.gateway.gateway import Gateway
from tongyao.gateway.serving import listen, serve, url_of
from tongyao.runtime.office import Office


def gateway_of(here: Office) -> Gateway:
    """The doors of a running installation."""
    from tongyao.field.intent_field import IntentField

    return Gateway(
        here.library,
        here.starting,
        here.registering,
        here.door,
        here.settings.gateway,
        search=IntentField(here.library.pool),
    )


@asynccontextmanager
async def opened(here: Office, stop: asyncio.Event) -> AsyncIterator[str]:
    """Serve API and MCP for the length of the block; yields the address. Raises `AddressTaken`.

    Should the server end by itself, `stop` is set.
    """
    gateway = gateway_of(here)
    bound = listen(here.settings.gateway_host, here.settings.gateway_port)
    work = [
        asyncio.create_task(serve(gateway, stop, bound), name="gateway"),
    ]
    for task in work:
        task.add_done_callback(lambda _: stop.set())
    try:
        yield url_of(bound)
    finally:
        stop.set()
        await asyncio.gather(*work)
