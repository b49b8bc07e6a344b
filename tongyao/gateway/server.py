"""The gateway as an HTTP server: API, MCP and console on one address."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.routing import Mount

from tongyao.app.context import AppContext
from tongyao.app.errors import Unavailable
from tongyao.gateway.access.addresses import accepted_hosts
from tongyao.gateway.access.http_server import ServerWithoutSignals, server_config
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.api.app import make_app
from tongyao.gateway.console.app import make_console
from tongyao.gateway.console.visit import BASE
from tongyao.gateway.mcp.server import make_server


def application(context: AppContext) -> FastAPI:
    """Return the API, with the MCP server (streamable HTTP, stateless) at `/mcp` and the console at `/console`."""
    limits = RateLimits(context.options)
    mcp = make_server(context, limits=limits)
    mcp_app = mcp.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        json_response=True,
        max_request_body_size=context.options.max_body_bytes,
        transport_security=_same_site_only(context),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    app = make_app(context, limits=limits, lifespan=lifespan)
    # The console is the first route, so the path of a page is not compared with the routes of the API.
    app.router.routes.insert(0, Mount(BASE, make_console(context, limits)))
    app.router.routes.extend(mcp_app.routes)
    app.add_route("/", lambda request: RedirectResponse(f"{BASE}/"), include_in_schema=False)
    return app


def _same_site_only(context: AppContext) -> TransportSecuritySettings:
    """Return settings that prevent pages of other sites from calling tools with a browser's cookies."""
    hosts = [
        host_name
        for host in accepted_hosts(context.public_url, context.gateway_host)
        for host_name in (host, f"{host}:*")
    ]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def listen(host: str, port: int, *, exposed: bool = False) -> socket.socket:
    """Return a bound socket. Port 0 means any free port. Raises `Unavailable`.

    `exposed`: whether `host` may be an address that other machines can reach.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not exposed and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise Unavailable(
                "no_proxy",
                f"the gateway listens on {host} only behind a reverse proxy (TONGYAO_BEHIND_PROXY=true, docs/deployment.md §2) "
                "or if you allow it without one (TONGYAO_GATEWAY__WITHOUT_PROXY=true)",
            )
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise Unavailable(
            "address_taken",
            f"the gateway cannot listen on {host}:{port} ({error.strerror or error}): "
            "choose another TONGYAO_GATEWAY_PORT (0: any free one) or TONGYAO_GATEWAY_HOST",
        ) from None
    return bound


def url_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(context: AppContext, stop: asyncio.Event, bound: socket.socket) -> None:
    """Serve on `bound` until `stop` is set. Then open event streams end, and other requests have three seconds."""
    config = server_config(
        application(context),
        most_connections=context.options.most_connections,
        timeout_graceful_shutdown=3,
        proxy_headers=False,  # `Admission` reads them, from the proxies in the settings
    )
    server = ServerWithoutSignals(config)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        server.should_exit = True
        AppStatus.should_exit = True  # ends open streams; otherwise uvicorn aborts each and logs it as a failure
        try:
            await running
        finally:
            AppStatus.should_exit = False
