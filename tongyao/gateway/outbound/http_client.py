"""HTTP requests to addresses that people entered: resolve the name, check every address, connect to one that was checked.

The addresses that are checked are those that are connected to, so a name that resolves differently a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx

MOST_BYTES: Final = 8_000_000
"""Bytes of a body, unless its reader sets another limit."""
MOST_PARTS: Final = 20_000
"""Pieces of a body, as it arrives: a server may send each byte by itself, which takes the event loop as long as a thousand bytes."""
_PARTS_AT_ONCE: Final = 50
"""After so many parts other tasks run: data in the socket's buffer is read without a wait."""
_ADDRESSES_TRIED: Final = 4
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2. In a DHE exchange the server chooses numbers that cost this side two thirds of a second."""

_LOOKUPS: Final = ThreadPoolExecutor(100, thread_name_prefix="host-names")
"""A name server that does not answer holds a thread for ten seconds and more, so look-ups have threads of their own."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NOT_PUBLIC: Final = [
    ipaddress.ip_network(network)
    for network in (
        "fec0::/10 3fff::/20 5f00::/16 192.88.99.0/24 192.0.0.0/24 "  # site-local, documentation, IETF
        "::/96 2002::/16 2001::/32 64:ff9b:1::/48"  # carry IPv4: compatible, 6to4, Teredo, local NAT64
    ).split()
]
"""Networks that `ipaddress` of some Python versions takes for global."""


class AddressForbidden(httpx.RequestError):
    """The address is not one of the public internet, or not encrypted."""


class AnswerRefused(httpx.RequestError):
    """An answer is too long, in too many parts, or compressed."""


def client(*, private_allowed: bool, seconds: float, most_bytes: int = MOST_BYTES) -> httpx.AsyncClient:
    """A client that follows no redirects, reads no proxy settings, and goes to public addresses over TLS only.

    Its requests raise `AddressForbidden` for others, unless `private_allowed`. Reading a body raises `AnswerRefused` if it is longer than
    `most_bytes`, has more than `MOST_PARTS`, or is compressed. `seconds`: for every wait, of connecting and of each read; the whole request
    is bounded by the caller.
    """
    return _Client(
        transport=_CheckedTransport(private_allowed=private_allowed, most_bytes=most_bytes),
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
            raise AddressForbidden("the address has a host name that cannot exist") from None


class _CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects to checked addresses. The certificate is checked against the host name (httpx's extension `sni_hostname`)."""

    def __init__(self, *, private_allowed: bool, most_bytes: int) -> None:
        super().__init__(verify=tls_context(), trust_env=False)
        self._private_allowed, self._most_bytes = private_allowed, most_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme != "https" and not self._private_allowed:
            raise AddressForbidden("only https:// addresses are used here", request=request)
        host = request.url.raw_host.decode("ascii")
        addresses = await _addresses(host, request)
        if not self._private_allowed and not all(is_public(address) for address in addresses):
            raise AddressForbidden("this address is not one of the public internet", request=request)
        failed: httpx.RequestError = httpx.ConnectError("the name has no address", request=request)
        for address in addresses[:_ADDRESSES_TRIED]:
            there = httpx.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,  # `Host` keeps the name
                stream=request.stream,
                extensions=request.extensions | {"sni_hostname": host},
            )
            try:
                answer = await super().handle_async_request(there)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = error
            else:
                assert isinstance(answer.stream, httpx.AsyncByteStream)
                encoding = answer.headers.get("content-encoding", "")
                answer.stream = _BoundedBody(answer.stream, encoding, self._most_bytes)
                return answer
        raise failed


class _BoundedBody(httpx.AsyncByteStream):
    """A body before it is unpacked. A compressed one is not read at all: two kilobytes may unpack to gigabytes."""

    def __init__(self, body: httpx.AsyncByteStream, encoding: str, most_bytes: int) -> None:
        self._body, self._encoding, self._most_bytes = body, encoding, most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding.strip().lower() not in ("", "identity"):
            raise AnswerRefused("the answer is compressed, but no compression was requested")
        length = parts = 0
        async for part in self._body:
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


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The public authorities, read once. No server can ask for a second handshake on a connection."""
    context = httpx.create_ssl_context(trust_env=False)
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


async def _addresses(host: str, request: httpx.Request) -> list[str]:
    look_up = functools.partial(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
    try:
        found = await asyncio.get_running_loop().run_in_executor(_LOOKUPS, look_up)
    except UnicodeError:  # a label of more than 63 characters, or an empty one
        raise AddressForbidden("the address has a host name that cannot exist", request=request) from None
    except OSError:
        raise httpx.ConnectError("the name does not resolve", request=request) from None
    return [str(entry[4][0]) for entry in found]


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet. An IPv6 address that carries an IPv4 address is judged by it, or refused."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None or parsed in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)))
        if (int(parsed) >> 32) & 0xFCFFFFFF == 0x00005EFE:  # ISATAP
            return False
    outside = parsed.is_global and not (parsed.is_multicast or parsed.is_reserved)
    return outside and not any(parsed in network for network in _NOT_PUBLIC)
