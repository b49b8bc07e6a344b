"""TLS to servers that people named: what such a server can make this side compute is bounded, and is not done on the event loop."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import httpcore
import httpx

T = TypeVar("T")

HANDSHAKE_BYTES: Final = 160 * 1024
"""OpenSSL takes certificates of 100 KB."""
UNREAD_BYTES: Final = 40 * 1024
"""Bytes of a connection that are not for the reader: tickets, changes of keys, and a record that is not whole yet."""
_RECORD_BYTES: Final = 64
"""Around a record so many more are allowed: some servers send each byte in a record of its own."""
_PIECE: Final = 4096
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2. Where a server may choose the numbers of a DHE exchange, it costs this side two thirds of a second."""

_HANDSHAKES: Final = ThreadPoolExecutor(4, thread_name_prefix="handshakes")
"""The longest exchange of TLS 1.3 takes a tenth of a second."""


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The public authorities, read once. No server can ask for a second handshake on a connection."""
    context = httpx.create_ssl_context(trust_env=False)
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


class TlsRefused(httpcore.ReadError):
    """The server sends too much that is not for the reader."""


class TlsStream(httpcore.AsyncNetworkStream):
    """A connection inside TLS, over another one."""

    def __init__(self, below: httpcore.AsyncNetworkStream, context: ssl.SSLContext, host: str | None) -> None:
        self._below = below
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_hostname=host)
        self._writing = asyncio.Lock()
        self._allowed = HANDSHAKE_BYTES

    async def shake_hands(self, timeout: float | None) -> None:
        """Raises `httpcore.ConnectError`, `httpcore.ConnectTimeout`."""
        loop = asyncio.get_running_loop()

        async def beside() -> None:
            await loop.run_in_executor(_HANDSHAKES, self._tls.do_handshake)

        try:
            async with asyncio.timeout(timeout):
                await self._done(beside, None)
            self._allowed = UNREAD_BYTES
        except TimeoutError:
            raise httpcore.ConnectTimeout("the TLS handshake took too long") from None
        except (ssl.SSLError, httpcore.ReadError, httpcore.WriteError) as error:
            raise httpcore.ConnectError(f"TLS: {type(error).__name__}") from None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        async def next_bytes() -> bytes:
            return self._tls.read(max_bytes)

        try:
            given = await self._done(next_bytes, timeout)
            self._allowed += len(given) + _RECORD_BYTES
            return given
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        except ssl.SSLError as error:
            raise httpcore.ReadError(f"TLS: {type(error).__name__}") from None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            self._tls.write(buffer)
        except ssl.SSLError as error:
            raise httpcore.WriteError(f"TLS: {type(error).__name__}") from None
        await self._send(timeout)

    async def aclose(self) -> None:
        await self._below.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._tls if info == "ssl_object" else self._below.get_extra_info(info)

    async def _done(self, step: Callable[[], Awaitable[T]], timeout: float | None) -> T:
        """What `step` returns when enough has arrived for it."""
        while True:
            try:
                result = await step()
            except ssl.SSLWantReadError:
                await self._send(timeout)
                if self._allowed <= 0:
                    raise TlsRefused("too much arrived that is not for the reader") from None
                piece = await self._below.read(_PIECE, timeout)
                self._allowed -= len(piece)
                self._arrived.write(piece) if piece else self._arrived.write_eof()
            else:
                await self._send(timeout)
                return result

    async def _send(self, timeout: float | None) -> None:
        async with self._writing:
            if self._leaving.pending:
                await self._below.write(self._leaving.read(), timeout)
