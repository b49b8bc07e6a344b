"""HTTP requests to addresses that people entered: resolve the name, check every address, connect to a checked address.

The connection goes to a checked address, and the name is not resolved again. So DNS rebinding has no effect.
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
"""Default limit of a body."""
MOST_PARTS: Final = 20_000
"""Limit of the parts in which a body arrives. A part of one byte takes as long as one of a thousand bytes."""
_PARTS_AT_ONCE: Final = 50
"""Other tasks run after this number of parts. Reading buffered data does not wait, so it would not let them run."""
_ADDRESSES_TRIED: Final = 4
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2. Without DHE, because a server's DHE parameters can take the client two thirds of a second."""

_LOOKUPS: Final = ThreadPoolExecutor(100, thread_name_prefix="host-names")
"""The threads of name look-ups. A name server that does not answer blocks a thread for ten seconds or more."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NOT_PUBLIC: Final = [
    ipaddress.ip_network(network)
    for network in (
        "fec0::/10 3fff::/20 5f00::/16 192.88.99.0/24 192.0.0.0/24 "  # site-local, documentation, IETF
        "::/96 2002::/16 2001::/32 64:ff9b:1::/48"  # carry IPv4: compatible, 6to4, Teredo, local NAT64
    ).split()
]
"""Further networks to refuse, because `ipaddress` of some Python versions treats them as global."""


class AddressForbidden(httpx.RequestError):
    """The address is not on the public internet, or does not begin with `https`."""


class AnswerRefused(httpx.RequestError):
    """An answer is too long, in too many parts, or compressed."""


def client(*, private_allowed: bool, seconds: float, most_bytes: int = MOST_BYTES) -> httpx.AsyncClient:
    """Return a client without redirects and proxy settings that connects only to public addresses over TLS.

    Its requests raise `AddressForbidden` for other addresses, unless `private_allowed`. Reading a body raises
    `AnswerRefused` if the body is longer than `most_bytes`, has more than `MOST_PARTS` parts, or is compressed.
    `seconds` limits each connection and each read. The caller limits the whole request.
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
        """Build the request as httpx does, but raise `AddressForbidden` for a host name that cannot exist."""
        try:
            return super().build_request(*args, **kwargs)
        except UnicodeError:
            raise AddressForbidden("the address has a host name that cannot exist") from None


class _CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects to checked addresses. Checks the certificate against the host name (extension `sni_hostname`)."""

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
    """A body with limits. A compressed body is not read, because two kilobytes may decompress to gigabytes."""

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
    """Return the TLS settings with the public certificate authorities. Renegotiation is off. The result is cached."""
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
    """Return whether an address is on the public internet.

    For an IPv6 address that contains an IPv4 address, the IPv4 address decides, or the address is refused.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None or parsed in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)))
        if (int(parsed) >> 32) & 0xFCFFFFFF == 0x00005EFE:  # ISATAP
            return False
    outside = parsed.is_global and not (parsed.is_multicast or parsed.is_reserved)
    return outside and not any(parsed in network for network in _NOT_PUBLIC)
