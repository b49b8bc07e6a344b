"""HTTP requests to addresses that people entered: never into the private network of this server, unless it is allowed.

What such a server answers is bounded while it arrives, whoever reads it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx

_NO_HOST: Final = "the address has a host name that cannot exist"
_NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


MOST_BYTES: Final = 8_000_000
MOST_PARTS: Final = 20_000
"""Of an answer, as it arrives: somebody may send each byte by itself, which takes the event loop as long as a thousand bytes."""
_PARTS_AT_ONCE: Final = 50
"""After so many parts others have their turn: what lies in the socket's buffer is read without any wait."""


class AddressForbidden(httpx.RequestError):
    """The address is not one of the public internet, or not encrypted."""


class AnswerRefused(httpx.RequestError):
    """The body of an answer is too long, in too many parts, or compressed."""


def client(*, private_allowed: bool, seconds: float) -> httpx.AsyncClient:
    """A client that follows no redirects, reads no proxy settings, and goes to public addresses over TLS only.

    Its requests raise `AddressForbidden` for others, and `AnswerRefused` while a body is read that is longer than `MOST_BYTES`, has more than
    `MOST_PARTS`, or is compressed. `seconds`: for every wait, of connecting and of each read.
    """
    return _Client(
        transport=_Bounded(httpx.AsyncHTTPTransport(trust_env=False) if private_allowed else _PublicTransport()),
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
            raise AddressForbidden(_NO_HOST) from None


class _Bounded(httpx.AsyncBaseTransport):
    """Bounds the bodies of all answers: those that httpx reads by itself, too."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        answer.stream = _BoundedBody(answer.stream, answer.headers.get("content-encoding", ""))
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedBody(httpx.AsyncByteStream):
    """A body before it is unpacked. A compressed one is not read at all: two kilobytes may unpack to gigabytes."""

    def __init__(self, body: httpx.AsyncByteStream, encoding: str) -> None:
        self._body, self._encoding = body, encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding.strip().lower() not in ("", "identity"):
            raise AnswerRefused("the answer is compressed, which was not asked for")
        length = parts = 0
        async for part in self._body:
            length, parts = length + len(part), parts + 1
            if length > MOST_BYTES:
                raise AnswerRefused(f"the answer has more than {MOST_BYTES:,} bytes")
            if parts > MOST_PARTS:
                raise AnswerRefused(f"the answer comes in more than {MOST_PARTS:,} parts")
            if parts % _PARTS_AT_ONCE == 0:
                await asyncio.sleep(0)
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


class _PublicTransport(httpx.AsyncHTTPTransport):
    """Connects to the address it has checked, so a name that resolves differently a moment later changes nothing."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if request.url.scheme != "https":
            raise AddressForbidden("only https:// addresses are used here", request=request)
        address = await _address(host, request)
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return await super().handle_async_request(request)


async def _address(host: str, request: httpx.Request) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label of more than 63 characters, or an empty one
        raise AddressForbidden(_NO_HOST, request=request) from None
    except OSError:
        raise httpx.ConnectError("the name does not resolve", request=request) from None
    addresses = [str(one[4][0]) for one in found]
    if not all(is_public(one) for one in addresses):
        raise AddressForbidden("this address is not one of the public internet", request=request)
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address, and every IPv4 address that it carries, is one of the public internet."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        carried = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
        return carried is not None and is_public(str(carried))
    return all(is_public(str(one)) for one in _carried(parsed))


def _carried(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses inside an IPv6 address, of every way to reach IPv4 through IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    compatible = int(address) >> 32 == 0
    isatap = (int(address) >> 32) & 0xFCFFFFFF == 0x00005EFE
    if compatible or isatap or any(address in network for network in _NAT64):
        found.append(last)
    return [one for one in found if one is not None]
