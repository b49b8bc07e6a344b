"""Serves an application on a real port of the loopback interface during a block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from tests.support.until import until
from tongyao.gateway.server import listen, url_of


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Serve `app` and yield its address."""
    bound = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server._serve([bound]))
    try:
        await until(lambda: server.started, "the server has started")
        yield url_of(bound)
    finally:
        server.should_exit = True
        await running
