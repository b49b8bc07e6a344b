"""Connections to servers that people named: to addresses that were checked, and read in small pieces."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import httpcore
import httpx

from tongyao.gateway.outbound.addresses import is_public
from tongyao.gateway.outbound.tls import TlsStream

NO_HOST: Final = "the address has a host name that cannot exist"
BESIDE_BYTES: Final = 16 * 1024
"""Of an answer in a row that are no part of its body: a head, announcements before it, heads of chunks, trailers. Each line of them takes the
event loop as long as a thousand bytes."""
_PIECE: Final = 4096
"""Bytes that are parsed before others have their turn."""
_ADDRESSES_TRIED: Final = 4

_LOOKUPS: Final = ThreadPoolExecutor(100, thread_name_prefix="host-names")
"""A name server that does not answer holds a thread for ten seconds and more. Nothing else may wait for these threads."""


class AddressForbidden(httpx.RequestError):
    """The address is not one of the public internet, or not encrypted."""


class AnswerRefused(httpx.RequestError):
    """An answer is too long, in too many parts, or compressed."""


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the address that it has checked, so a name that resolves differently a moment later changes nothing.

    `private_allowed`: addresses that are not public are connected to, too. Otherwise they raise `AddressForbidden`.
    """

    def __init__(self, *, private_allowed: bool) -> None:
        self._private_allowed = private_allowed
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await _addresses(host)
        if not self._private_allowed and not all(is_public(one) for one in addresses):
            raise AddressForbidden("this address is not one of the public internet")
        failed: Exception = httpcore.ConnectError("the name has no address")
        for address in addresses[:_ADDRESSES_TRIED]:
            try:
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError as error:
                failed = error
            else:
                return BoundedStream(stream)
        raise failed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class BoundedStream(httpcore.AsyncNetworkStream):
    """Raises `AnswerRefused` where `BESIDE_BYTES` arrive of which nothing is the body of an answer. Its reader says what is: `body_arrived`."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._beside = 0

    def body_arrived(self) -> None:
        self._beside = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._beside >= BESIDE_BYTES:
            raise AnswerRefused(f"more than {BESIDE_BYTES:,} bytes of the answer are not its body")
        await asyncio.sleep(0)  # what lies in the socket's buffer is read without any wait
        piece = await self._stream.read(min(max_bytes, _PIECE), timeout)
        self._beside += len(piece)
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """TLS over this connection's own bytes: `BoundedStream` counts what TLS gives out."""
        secured = TlsStream(self._stream, ssl_context, server_hostname)
        try:
            await secured.shake_hands(timeout)
        except BaseException:
            await self.aclose()
            raise
        return BoundedStream(secured)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


async def _addresses(host: str) -> list[str]:
    look_up = partial(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
    try:
        found = await asyncio.get_running_loop().run_in_executor(_LOOKUPS, look_up)
    except UnicodeError:  # a label of more than 63 characters, or an empty one
        raise AddressForbidden(NO_HOST) from None
    except OSError:
        raise httpcore.ConnectError("the name does not resolve") from None
    return [str(one[4][0]) for one in found]
