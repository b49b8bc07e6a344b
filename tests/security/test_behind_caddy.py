"""What a hostile connection may do before there is a request is limited by the reverse proxy. These attacks go through a real Caddy."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.gateway.conftest import GatewayHarness, until_served
from tests.security.conftest import limited, whole
from tests.support.caddy import caddy_before
from tongyao.gateway.server import listen, serve, url_of

__all__ = ["whole"]
HEAD = b"GET /me HTTP/1.1\r\nHost: localhost\r\n"
LAST = HEAD + b"Connection: close\r\n\r\n"
CHUNKED = b"POST /profiles HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def behind_caddy(
    whole: GatewayHarness, *, options: Mapping[str, object] | None = None, **settings: str
) -> AsyncIterator[int]:
    """The port of a Caddy in front of a gateway. `settings`: of the Caddyfile."""
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    gateway = limited(whole, proxies=("127.0.0.1/32",), **(options or {}))
    serving = asyncio.create_task(serve(gateway.context, stop, bound))
    try:
        await until_served(url_of(bound))
        async with caddy_before(bound.getsockname()[1], **settings) as port:
            yield port
    finally:
        stop.set()
        await serving


async def statuses(port: int, *pieces: bytes) -> list[bytes]:
    """Of all answers that arrive until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""

    async def read() -> None:
        nonlocal received
        while piece := await reader.read(65_536):
            received += piece

    reading = asyncio.create_task(read())
    try:
        async with asyncio.timeout(60):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            await reading
    except OSError:
        pass
    finally:
        reading.cancel()
        writer.close()
    return re.findall(rb"HTTP/1\.1 (\d+)", received)


async def test_a_request_reaches_the_gateway_as_it_was_sent(whole: GatewayHarness) -> None:
    async with behind_caddy(whole) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        scene = await whole.scene()
        said = {"scene": scene, "name": "Anna Example", "text": "I keep bees and sell honey at two markets."}
        joined = await http.post("/profiles", json=said, headers={"Idempotency-Key": "0123456789abcdef0123456789"})
        assert joined.status_code == 201, joined.text
        place, mine = f"/profiles/{joined.json()['profile_id']}", {"Authorization": f"Bearer {joined.json()['token']}"}
        long = await http.put(place, json={"text": "I keep bees. " * 100_000}, headers=mine)
        assert long.status_code == 200, long.text


async def test_a_client_is_counted_by_its_address_whatever_it_says_of_it(whole: GatewayHarness) -> None:
    few = {"rate": "3/minute"}  # the first request is the harness's, from the same address
    async with behind_caddy(whole, options=few) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        forged = [{"X-Forwarded-For": f"198.51.100.{number}"} for number in range(3)]
        codes = [(await http.get("/me", headers=headers)).status_code for headers in forged]
    assert codes == [200, 200, 429]


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"X: " + b"a" * 30_000,
        HEAD + b"a:\r\n" * 12_000,
        HEAD.split(b" HTTP")[0] + b"?" + b"a" * 30_000 + b" HTTP/1.1\r\nHost: localhost\r\n",
    ],
    ids=["one long header", "many lines", "a long address"],
)
async def test_a_long_head_does_not_reach_the_gateway(whole: GatewayHarness, head: bytes) -> None:
    async with behind_caddy(whole) as port:
        assert await statuses(port, head + b"\r\n") in ([b"431"], [])


@pytest.mark.parametrize("sent", [b"", HEAD + b"X-Slow: "], ids=["nothing", "half a head"])
async def test_a_client_that_sends_its_head_slowly_is_cut_off(whole: GatewayHarness, sent: bytes) -> None:
    async with behind_caddy(whole, READ_HEADER="300ms") as port:
        begun = time.monotonic()
        assert b"200" not in await statuses(port, sent)
        assert time.monotonic() - begun < 30


async def test_a_client_that_sends_its_body_slowly_is_cut_off(whole: GatewayHarness) -> None:
    posted = (
        b"POST /profiles HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
    )
    async with behind_caddy(whole, READ_BODY="500ms") as port:
        begun = time.monotonic()
        assert b"201" not in await statuses(port, posted)
        assert time.monotonic() - begun < 30


async def test_a_connection_without_a_request_is_closed(whole: GatewayHarness) -> None:
    async with behind_caddy(whole, IDLE="300ms") as port:
        assert await statuses(port, HEAD + b"\r\n") == [b"200"], (
            "the connection is kept open for a further request, for a while"
        )


async def test_who_only_holds_connections_keeps_nobody_out(whole: GatewayHarness) -> None:
    """The proxy holds them; the gateway has a few hundred connections at most, and none of these."""
    async with behind_caddy(whole, options={"most_connections": 20}) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                assert [(await http.get("/me")).status_code for _ in range(5)] == [200] * 5
        finally:
            for _, writer in held:
                writer.close()


@pytest.mark.parametrize(
    "body",
    [
        b"1\r\n \r\n" * 60_000 + b"0\r\n\r\n",
        b"0\r\n" + b"a:\r\n" * 12_000 + b"\r\n",
        b"2;" + b"a" * 60_000 + b"\r\n{}\r\n0\r\n\r\n",
    ],
    ids=["chunks of one byte", "trailers", "a chunk's extension"],
)
async def test_what_is_around_the_bytes_of_a_body_takes_no_time_of_the_gateway(
    whole: GatewayHarness, body: bytes
) -> None:
    """Sent behind another request as well. The proxy reads chunks and sends its own."""
    async with behind_caddy(whole) as port:
        begun = time.process_time()  # of the gateway and this client: seconds of a clock would measure the machine
        for first in (b"", HEAD + b"\r\n"):
            found = await statuses(port, first + CHUNKED + body + LAST)
            # Caddy resets a connection whose rest it refuses: the first answer may be lost with it.
            assert b"201" not in found and found[: bool(first)] in ([b"200"] * bool(first), [])
        assert time.process_time() - begun < 2


async def test_requests_that_are_sent_all_at_once_are_answered_one_after_the_other(whole: GatewayHarness) -> None:
    body = b" " * 4_900
    posted = b"POST /profiles HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with behind_caddy(whole) as port:
        assert await statuses(port, (HEAD + b"\r\n" + posted) * 6 + LAST) == [b"200", b"422"] * 6 + [b"200"]


async def test_a_body_with_two_lengths_hides_no_second_request(whole: GatewayHarness) -> None:
    """Caddy drops the length where a body comes in chunks (RFC 9112 §6.3), so both sides see the same end of the body."""
    hidden = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    posted = CHUNKED.replace(b"Transfer", b"Content-Length: %d\r\nTransfer" % (7 + len(hidden)))
    async with behind_caddy(whole) as port:
        found = await statuses(port, posted + b"2\r\n{}\r\n0\r\n\r\n" + hidden)
        assert found in ([b"422", b"200"], [b"400"]), (
            "the bytes behind the chunks are a request of their own, of the same client"
        )


async def test_a_body_that_is_too_long_is_not_read_to_its_end(whole: GatewayHarness) -> None:
    async with behind_caddy(whole) as port:
        sent = CHUNKED + b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        found = await statuses(port, sent, *[b"10000\r\n" + b"x" * 0x10000 + b"\r\n"] * 400)
        assert found in ([b"413"], []), found


async def test_a_stream_of_events_outlives_the_time_for_a_body(whole: GatewayHarness) -> None:
    async with (
        behind_caddy(whole, READ_BODY="500ms", IDLE="500ms") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http,
        http.stream("GET", "/mcp", headers={"Accept": "text/event-stream"}) as stream,
    ):
        assert stream.status_code == 200
        reading = asyncio.create_task(anext(stream.aiter_bytes(), None))
        done, _ = await asyncio.wait({reading}, timeout=3)
        assert not done, "neither an end nor an error"
        reading.cancel()
