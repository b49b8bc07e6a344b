"""An application on a real port of the loopback interface, for as long as a block lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from tongyao.gateway.server import listen, url_of


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Yields its address."""
    bound = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server._serve([bound]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield url_of(bound)
    finally:
        server.should_exit = True
        await running
