"""A gateway without a reverse proxy: it listens on loopback only, and bounds what uvicorn can bound."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness, until_served
from tests.security.conftest import limited, whole
from tongyao.app.errors import Unavailable
from tongyao.gateway.access.addresses import ClientAddresses
from tongyao.gateway.server import listen, serve, url_of

__all__ = ["whole"]
HEAD = b"GET /me HTTP/1.1\r\nHost: localhost\r\n"


@asynccontextmanager
async def bare(whole: GatewayHarness, **options: Any) -> AsyncIterator[int]:
    """The port of a gateway."""
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    serving = asyncio.create_task(serve(limited(whole, **options).context, stop, bound))
    try:
        await until_served(url_of(bound))
        yield bound.getsockname()[1]
    finally:
        stop.set()
        await serving


async def answered(port: int, sent: bytes) -> list[bytes]:
    """The statuses of what is answered until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(60):
            return re.findall(rb"HTTP/1\.1 (\d+)", await reader.read())
    except ConnectionError:
        return []
    finally:
        writer.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_does_not_listen_on_a_public_address_without_being_told_so(host: str) -> None:
    with pytest.raises(Unavailable) as refused:
        listen(host, 0)
    assert refused.value.code == "no_proxy" and "TONGYAO_BEHIND_PROXY" in str(refused.value)
    listen(host, 0, exposed=True).close()


async def test_its_registration_is_closed_where_a_proxy_makes_it_public(whole: GatewayHarness) -> None:
    assert whole.context.registration_open
    assert not whole.also(behind_proxy=True).context.registration_open


async def test_a_head_without_end_is_refused(whole: GatewayHarness) -> None:
    async with bare(whole) as port:
        assert await answered(port, HEAD + b"X: " + b"a" * 200_000) in ([b"400"], [])


async def test_a_request_with_two_lengths_is_refused(whole: GatewayHarness) -> None:
    two = HEAD.replace(b"GET /me", b"POST /profiles") + b"Content-Length: 40\r\nTransfer-Encoding: chunked\r\n"
    async with bare(whole) as port:
        assert (await answered(port, two + b"Connection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))[:1] == [b"400"]


async def test_connections_above_the_limit_are_answered_and_closed(whole: GatewayHarness) -> None:
    async with bare(whole, most_connections=10) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        assert await answered(port, HEAD + b"Connection: close\r\n\r\n") == [b"503"]
        for _, writer in held:
            writer.close()


def test_this_machine_is_one_client_whatever_address_of_its_own_it_calls_from() -> None:
    addresses = ClientAddresses(("127.0.0.5", "10.0.0.0/24"))
    for client in ("127.0.0.1", "127.9.8.7", "::1", "::ffff:127.3.3.3"):
        assert addresses.of({"type": "http", "client": (client, 1), "headers": []}) == "127.0.0.1"
