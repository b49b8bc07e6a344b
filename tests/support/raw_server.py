"""A server that sends bytes that no correct server would send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def raw_server(first: bytes, again: bytes = b"", times: int = 0) -> AsyncIterator[str]:
    """Answer every request with `first`, then with `again`, `times` times or until the client disconnects. Yields the address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            for _ in range(times):
                writer.write(again)
                await writer.drain()
            await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
