"""HTTP requests to addresses that people entered: never into the private network of this server, unless it is allowed.

What such a server answers is bounded while it arrives, whoever reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import httpcore
import httpx

from tongyao.gateway.outbound.network import NO_HOST, AddressForbidden, AnswerRefused, BoundedStream, CheckedNetwork
from tongyao.gateway.outbound.tls import tls_context

MOST_BYTES: Final = 8_000_000
"""Of a body, where its reader names no other limit."""
MOST_PARTS: Final = 20_000
"""Of a body, as it arrives: somebody may send each byte by itself, which takes the event loop as long as a thousand bytes."""
_PARTS_AT_ONCE: Final = 50
"""After so many parts others have their turn: what lies in the socket's buffer is read without any wait."""


def client(*, private_allowed: bool, seconds: float, most_bytes: int = MOST_BYTES) -> httpx.AsyncClient:
    """A client that follows no redirects, reads no proxy settings, and goes to public addresses over TLS only.

    Its requests raise `AddressForbidden` for others. They raise `AnswerRefused` for an answer whose head is too long, and while a body is read
    that is longer than `most_bytes`, has more than `MOST_PARTS`, or is compressed. `seconds`: for every wait, of connecting and of each read.
    """
    return _Client(
        transport=_Transport(private_allowed=private_allowed, most_bytes=most_bytes),
        headers={"Accept-Encoding": "identity"},
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
    )


class _Client(httpx.AsyncClient):
    def build_request(self, *args: Any, **kwargs: Any) -> httpx.Request:
        """As httpx does; a host name that cannot exist raises `AddressForbidden` instead of the codec's error."""
        try:
            return super().build_request(*args, **kwargs)
        except UnicodeError:
            raise AddressForbidden(NO_HOST) from None


class _Transport(httpx.AsyncHTTPTransport):
    """httpx's own, on a network that checks addresses. It bounds the bodies of all answers: those that httpx reads by itself, too."""

    def __init__(self, *, private_allowed: bool, most_bytes: int) -> None:
        super().__init__(verify=tls_context(), trust_env=False)
        self._private_allowed, self._most_bytes = private_allowed, most_bytes
        # httpx takes no network of one's own, and its pool is the only thing that it would give it to.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls_context(), network_backend=CheckedNetwork(private_allowed=private_allowed)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme != "https" and not self._private_allowed:
            raise AddressForbidden("only https:// addresses are used here", request=request)
        answer = await super().handle_async_request(request)
        connection = answer.extensions.get("network_stream")
        if not isinstance(connection, BoundedStream):
            await answer.aclose()
            raise AnswerRefused("the answer changes the protocol, which was not asked for", request=request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        encoding = answer.headers.get("content-encoding", "")
        answer.stream = _BoundedBody(answer.stream, encoding, connection, self._most_bytes)
        return answer


class _BoundedBody(httpx.AsyncByteStream):
    """A body before it is unpacked. A compressed one is not read at all: two kilobytes may unpack to gigabytes."""

    def __init__(self, body: httpx.AsyncByteStream, encoding: str, connection: BoundedStream, most_bytes: int) -> None:
        self._body, self._encoding, self._connection, self._most_bytes = body, encoding, connection, most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding.strip().lower() not in ("", "identity"):
            raise AnswerRefused("the answer is compressed, which was not asked for")
        length = parts = 0
        async for part in self._body:
            self._connection.body_arrived()
            length, parts = length + len(part), parts + 1
            if length > self._most_bytes:
                raise AnswerRefused(f"the answer has more than {self._most_bytes:,} bytes")
            if parts > MOST_PARTS:
                raise AnswerRefused(f"the answer comes in more than {MOST_PARTS:,} parts")
            if parts % _PARTS_AT_ONCE == 0:
                await asyncio.sleep(0)
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()
