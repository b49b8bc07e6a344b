"""A TCP proxy between two parts of an installation. Tests cut, freeze and slow it down."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self

CHUNK = 65_536


class TcpProxy:
    """Forwards connections to `address` to a TCP address (`host:port`) or to a UNIX socket (a path).

    ::

        async with TcpProxy("127.0.0.1:7233") as proxy:
            await proxy.cut()
    """

    def __init__(self, target: str) -> None:
        self.target = target
        """The target of new connections. It may be changed."""
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._reachable = True
        self.port = 0
        self.delay = 0.0
        """The delay before each chunk is forwarded, in seconds, in both directions."""
        self.refused = 0
        """The number of connections that arrived while the proxy was cut."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self.cut()

    async def cut(self) -> None:
        """Reset every connection, and every later connection until `restore`."""
        self._reachable = False
        for writer in list(self._writers):
            writer.transport.abort()

    def freeze(self) -> None:
        """Keep connections open and forward nothing until `restore`, like a network that loses all packets."""
        self._flows.clear()

    def restore(self) -> None:
        self._reachable = True
        self._flows.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._reachable:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            there, back = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
        finally:
            self._writers -= {writer, back}
            for one in (writer, back):
                with suppress(OSError):
                    one.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.target.startswith("/"):
            return await asyncio.open_unix_connection(self.target)
        host, _, port = self.target.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._flows.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        with suppress(OSError, RuntimeError):
            writer.write_eof() if writer.can_write_eof() else writer.close()
