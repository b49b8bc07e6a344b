"""A flood of connections of one address costs the gateway little, and others come in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tongyao.app.context import GatewayOptions
from tongyao.gateway.access.addresses import ClientAddresses
from tongyao.gateway.access.listening import ListeningSocket
from tongyao.gateway.access.rate_limits import connections_admitted
from tongyao.gateway.server import listen

ONE_LOOPBACK = pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")


@asynccontextmanager
async def greeting(bound: ListeningSocket) -> AsyncIterator[int]:
    """A server that says `hello` to whoever comes in; yields its port."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, sock=bound, backlog=1_000)
    async with server:
        yield bound.getsockname()[1]


async def heard(port: int, source: str) -> bytes:
    """What a connection from `source` is told; nothing where it is reset."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        said = await reader.read(100)
        writer.close()
    except ConnectionError:
        return b""
    return said


@ONE_LOOPBACK
async def test_connections_above_the_rate_are_closed_and_those_of_others_are_not() -> None:
    bound = listen("127.0.0.1", 0)
    bound.admits = connections_admitted("3/hour", str)
    async with greeting(bound) as port, asyncio.timeout(60):
        many = [await heard(port, "127.0.0.1") for _ in range(200)]
        assert many == [b"hello"] * 3 + [b""] * 197
        assert await heard(port, "127.0.0.2") == b"hello"


@ONE_LOOPBACK
async def test_a_flood_does_not_stand_before_others_in_the_queue() -> None:
    bound = listen("127.0.0.1", 0)
    bound.admits = connections_admitted("3/hour", str)
    async with greeting(bound) as port, asyncio.timeout(60):
        flood = [asyncio.create_task(heard(port, "127.0.0.1")) for _ in range(300)]
        other = asyncio.create_task(heard(port, "127.0.0.2"))
        assert await other == b"hello"
        assert sorted(await asyncio.gather(*flood)) == [b""] * 297 + [b"hello"] * 3


def test_connections_of_a_named_proxy_are_not_counted() -> None:
    admitted = connections_admitted("1/hour", ClientAddresses(("10.0.0.0/24",)).of_peer)
    assert [admitted("10.0.0.7") for _ in range(3)] == [True] * 3
    assert [admitted("192.0.2.1") for _ in range(3)] == [True, False, False]
    assert [admitted("2001:db8::1"), admitted("2001:db8::2"), admitted("2001:db8:0:1::1")] == [True, False, True]


def test_a_rate_of_connections_that_is_none_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="connection_rate"):
        GatewayOptions(connection_rate="often")
