"""What a stranger's own agent answers takes neither the gateway's memory nor its time."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.gateway.outbound.test_sources import HELLO, SECRETS, Keeping
from tongyao.app.people.profile_source import SourceError
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.gateway.outbound.http_client import MOST_BYTES, MOST_PARTS

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
NOT_SIGNED_IN = b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def agent(first: bytes, again: bytes = b"", times: int = 0) -> AsyncIterator[HttpProfileSource]:
    """An agent that answers everything with `first`, then with `again` for `times` times or until it is not listened to any more."""

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

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    config = {"profile_url": url, "chat_url": url, "token_url": url}
    async with server:
        yield HttpProfileSource(config, SECRETS, Keeping(), private_allowed=True)


async def refused(source: HttpProfileSource) -> str:
    """Why a profile that is fetched, and a turn, are not taken."""
    whys = set()
    for asked in (source.get_profile(), source.chat(HELLO)):
        with pytest.raises(SourceError) as caught:
            await asked
        assert (caught.value.code, caught.value.permanent) == ("answer_refused", True)
        whys.add(str(caught.value))
    [why] = whys
    return why


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate", "identity, gzip"])
async def test_a_small_answer_that_unpacks_to_gigabytes_is_not_unpacked(encoding: str) -> None:
    packed = gzip.compress(gzip.compress(b" " * 50_000_000))
    head = OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (encoding.encode(), len(packed))
    async with agent(head + packed) as source:
        assert "compressed" in await refused(source)


async def test_an_answer_without_end_is_cut_off() -> None:
    async with agent(OK + b"\r\n", b"y" * 100_000, times=2 * MOST_BYTES // 100_000) as source:
        assert "bytes" in await refused(source)


async def test_an_answer_in_chunks_of_one_byte_is_cut_off() -> None:
    async with agent(OK + CHUNKED, b"1\r\ny\r\n" * 1_000, times=2 * MOST_PARTS // 1_000) as source:
        assert "parts" in await refused(source)


async def test_what_a_platform_answers_when_a_token_is_renewed_is_cut_off_too() -> None:
    """httpx reads the body of an answer that asks for another token by itself."""
    async with agent(NOT_SIGNED_IN + b"\r\n", b"y" * 100_000, times=2 * MOST_BYTES // 100_000) as source:
        with pytest.raises(SourceError):
            await source.chat(HELLO)
    async with agent(OK + b"\r\n", b"y" * 100_000, times=2 * MOST_BYTES // 100_000) as source:
        expired = HttpProfileSource(
            source._config.model_dump(), {**SECRETS, "access_token": ""}, Keeping(), private_allowed=True
        )
        assert "bytes" in await refused(expired)
