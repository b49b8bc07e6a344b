"""Nobody fills the gateway's memory, holds up its loop or keeps others out before there is a request that a limit could be asked of."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import GatewayHarness, until_served
from tests.security.conftest import limited, whole
from tongyao.gateway.access.addresses import ClientAddresses
from tongyao.gateway.access.connections import OpenConnections
from tongyao.gateway.server import listen, serve, url_of

__all__ = ["whole"]
HEAD = b"GET /me HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /profiles HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def open_gateway(whole: GatewayHarness, **options: Any) -> AsyncIterator[tuple[str, int]]:
    """A gateway on a port of its own: its address and port."""
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    serving = asyncio.create_task(serve(limited(whole, **options).context, stop, bound))
    try:
        await until_served(url_of(bound))
        yield url_of(bound), bound.getsockname()[1]
    finally:
        stop.set()
        await serving


async def taken(port: int, first: bytes, again: bytes, times: int) -> int:
    """How often `again` could be sent behind `first` before the gateway closed the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    closed = asyncio.create_task(reader.read())
    sent = 0
    try:
        writer.write(first)
        while sent < times and not closed.done():
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(0)
            sent += 1
    except OSError:
        pass
    finally:
        writer.close()
        closed.cancel()
    return sent


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (HEAD + b"X: ", b"a" * 50_000),
        (HEAD, b"a: \r\n" * 10_000),
        (HEAD.split(b" HTTP")[0] + b"?", b"a" * 50_000),
        (CHUNKED + b"1\r\n{\r\n0\r\n", b"a: \r\n" * 10_000),
        (CHUNKED + b"1;", b"a" * 50_000),
    ],
    ids=["one long header", "many headers", "a long address", "trailers", "a chunk's extension"],
)
async def test_no_head_and_no_trailer_grows_without_end(whole: GatewayHarness, first: bytes, again: bytes) -> None:
    async with open_gateway(whole, head_seconds=3_600, body_seconds=3_600) as (_, port):
        assert await taken(port, first, again, 100) < 100


async def answered(port: int, *pieces: bytes) -> bytes:
    """What the gateway answers to a request that is sent in pieces."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            return await reader.readuntil(b"\r\n")
    except (OSError, asyncio.IncompleteReadError):
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "body",
    [b"0\r\n" + b"a:\r\n" * 15_900 + b"\r\n", b"2;" + b"a" * 60_000 + b"\r\n{}\r\n0\r\n\r\n"],
    ids=["trailers", "a chunk's extension"],
)
async def test_what_stands_around_the_chunks_of_a_body_is_short(whole: GatewayHarness, body: bytes) -> None:
    """64 KB of trailers are 16,000 lines: they took a third of a second to parse, before every limit."""
    async with open_gateway(whole) as (_, port):
        assert await answered(port, CHUNKED, body) == b""


async def test_a_body_in_chunks_that_arrive_in_pieces_is_taken(whole: GatewayHarness) -> None:
    chunks = [piece for _ in range(100) for piece in (b"20\r\n", b" " * 0x20, b"\r\n")]
    async with open_gateway(whole) as (_, port):
        end = (b"2\r\n", b"{}", b"\r\n", b"0\r\n", b"a: b\r\n", b"\r\n")
        assert b" 422 " in await answered(port, CHUNKED, *chunks, *end)


async def test_who_only_holds_connections_keeps_nobody_out(whole: GatewayHarness) -> None:
    async with open_gateway(whole, most_connections=10, most_address_connections=6) as (url, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
        async with httpx.AsyncClient(base_url=url) as http:
            assert (await http.get("/me")).status_code == 200
        async with asyncio.timeout(60):
            for reader, _ in held[:30]:
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await reader.readexactly(1)
        for _, writer in held:
            writer.close()


class Held:
    def __init__(self, *, waits: bool = True) -> None:
        self.waits, self.open = waits, True

    def abort(self) -> None:
        self.open = False


def test_the_oldest_that_waits_makes_room_and_nothing_that_is_answered_does() -> None:
    room = OpenConnections(most=4, most_of_address=2)
    answered, waiting, newest = Held(waits=False), Held(), Held()
    for one in (answered, waiting, newest):
        room.enter(one, "203.0.113.9")
    assert (answered.open, waiting.open, newest.open) == (True, False, True)
    others = [Held(waits=False) for _ in range(2)]
    for number, one in enumerate(others):
        room.enter(one, f"198.51.100.{number}")
    newest.waits = False
    late = Held()
    room.enter(late, "192.0.2.1")
    assert not late.open and all(one.open for one in (answered, newest, *others))
    room.leave(answered)
    again = Held()
    room.enter(again, "192.0.2.1")
    assert again.open


def test_this_machine_is_one_client_whatever_address_of_its_own_it_calls_from() -> None:
    addresses = ClientAddresses(("127.0.0.5", "10.0.0.0/24"))
    assert {addresses.of_peer(one) for one in ("127.0.0.1", "127.9.8.7", "::1", "::ffff:127.3.3.3")} == {"127.0.0.1"}
    assert addresses.of({"type": "http", "client": ("127.44.0.2", 1), "headers": []}) == "127.0.0.1"
    assert addresses.of_peer("10.0.0.7") == "", "a proxy's connections are of many clients"


async def test_a_body_in_chunks_of_one_byte_is_not_parsed_to_its_end(whole: GatewayHarness) -> None:
    """Each chunk takes the event loop as long as a thousand bytes, before any limit is asked."""
    async with open_gateway(whole) as (_, port):
        assert await answered(port, CHUNKED + b"1\r\n \r\n" * 60_000 + b"0\r\n\r\n") == b""
        assert b" 422 " in await answered(port, CHUNKED + b"20\r\n" + b" " * 32 + b"\r\n0\r\n\r\n")
        assert b" 422 " in await answered(
            port, CHUNKED + b'1\r\n"\r\n' + (b"20\r\n" + b"x" * 32 + b"\r\n") * 1_500 + b"0\r\n\r\n"
        )


async def test_a_head_of_very_many_lines_is_refused_before_they_are_parsed(whole: GatewayHarness) -> None:
    async with open_gateway(whole) as (_, port):
        assert b" 400 " in await answered(port, HEAD + b"a:\r\n" * 12_000 + b"\r\n")
        assert b" 200 " in await answered(port, HEAD + b"a:\r\n" * 150 + b"\r\n")
        body = b"\n" * 1_000  # the lines of a body are not those of the next head
        posted = b"POST /profiles HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(posted)
            async with asyncio.timeout(60):
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                await reader.readexactly(int(length.split(b":")[1]))
            assert b" 422 " in head.split(b"\r\n")[0]
        writer.close()


@pytest.mark.parametrize(
    "behind",
    [
        HEAD + b"a:\r\n" * 12_000 + b"\r\n",
        CHUNKED + b"1\r\n \r\n" * 9_000 + b"0\r\n\r\n",
        CHUNKED + b"0\r\n" + b"a:\r\n" * 12_000 + b"\r\n",
    ],
    ids=["a head of many lines", "chunks of one byte", "trailers"],
)
async def test_what_is_sent_behind_a_request_is_bounded_as_the_request_is(whole: GatewayHarness, behind: bytes) -> None:
    """It was parsed in one piece as soon as the request was answered, and no limit looked at it: more than a second for 250 KB."""
    async with open_gateway(whole) as (_, port):
        found = await statuses(port, HEAD + b"\r\n" + behind)
        assert [one for one in found if one != b"400"] in ([], [b"200"]), "the second one was answered"


async def test_requests_that_are_sent_all_at_once_are_answered_one_after_the_other(whole: GatewayHarness) -> None:
    body = b" " * 4_900
    posted = b"POST /profiles HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    last = HEAD + b"Connection: close\r\n\r\n"
    async with open_gateway(whole) as (_, port):
        sent = (HEAD + b"\r\n" + posted) * 6 + last
        assert await statuses(port, sent) == [b"200", b"422"] * 6 + [b"200"]


async def statuses(port: int, sent: bytes) -> list[bytes]:
    """Of all answers that arrive until the gateway closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    try:
        writer.write(sent)
        async with asyncio.timeout(60):
            while piece := await reader.read(65_536):
                received += piece
    except ConnectionError:
        pass
    finally:
        writer.close()
    return re.findall(rb"HTTP/1\.1 (\d+)", received)
