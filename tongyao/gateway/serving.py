"""The gateway as a running server: API and MCP on one address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from tongyao.gateway.api.app import make_app
from tongyao.gateway.gateway import Gateway
from tongyao.gateway.mcp import make_server


def application(gateway: Gateway) -> FastAPI:
    """The API, with the MCP server (streamable HTTP, stateless) at `/mcp`."""
    mcp = make_server(gateway)
    mcp_app = mcp.streamable_http_app(streamable_http_path="/mcp", stateless_http=True, json_response=True)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    app = make_app(gateway, lifespan=lifespan)
    app.router.routes.extend(mcp_app.routes)
    return app


async def serve(gateway: Gateway, stop: asyncio.Event, *, host: str = "127.0.0.1", port: int = 8700) -> None:
    """Serve until `stop`. Raises `OSError` when the address is taken."""
    config = uvicorn.Config(
        application(gateway), host=host, port=port, log_level="warning", timeout_graceful_shutdown=3
    )
    server = uvicorn.Server(config)
    sock = config.bind_socket() if port else None
    running = asyncio.create_task(server.serve(sockets=[sock] if sock else None))
    try:
        await asyncio.wait({running, waiting := asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
    finally:
        server.should_exit = True
        await running
