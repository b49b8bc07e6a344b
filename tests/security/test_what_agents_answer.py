"""What a stranger's own agent answers takes neither the gateway's memory nor its time."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.gateway.outbound.test_sources import HELLO, SECRETS, Keeping
from tests.support.raw_server import raw_server
from tests.support.until import until
from tongyao.app.people.profile_source import SourceError
from tongyao.gateway.outbound.http_agent import CHAT_BYTES, HttpProfileSource
from tongyao.gateway.outbound.http_client import MOST_BYTES, MOST_PARTS

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
NOT_SIGNED_IN = b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def agent(first: bytes, again: bytes = b"", times: int = 0) -> AsyncIterator[HttpProfileSource]:
    """An agent that answers everything with `first`, then with `again` for `times` times or until it is not listened to any more."""

    async with raw_server(first, again, times) as address:
        config = dict.fromkeys(("profile_url", "chat_url", "token_url"), f"{address}/")
        yield HttpProfileSource(config, SECRETS, Keeping(), private_allowed=True)


async def refused(source: HttpProfileSource) -> str:
    """Why a profile that is fetched, and a turn, are not taken."""
    whys = set()
    for asked in (source.get_profile(), source.chat(HELLO)):
        with pytest.raises(SourceError) as caught:
            await asked
        assert (caught.value.code, caught.value.permanent) == ("answer_refused", True)
        whys.add(str(caught.value))
    return "; ".join(sorted(whys))


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


async def test_a_long_answer_is_taken_whole() -> None:
    text = "I splice rope. " * 100_000
    whole = json.dumps({"text": text, "content": text}).encode()
    head = OK.replace(b"text/plain", b"application/json") + b"X: " + b"x" * 8_000 + b"\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (whole[:5], whole[5:70_000], whole[70_000:]))
    for answer in (head + b"Content-Length: %d\r\n\r\n" % len(whole) + whole, head + CHUNKED + chunks + b"0\r\n\r\n"):
        async with agent(answer) as source:
            assert await source.get_profile() == text
            assert await source.chat(HELLO) == text


async def test_an_answer_in_a_turn_is_shorter_than_a_profile() -> None:
    long = json.dumps({"text": "x" * CHAT_BYTES}).encode()
    async with agent(OK.replace(b"text/plain", b"application/json") + b"\r\n" + long) as source:
        assert await source.get_profile() == "x" * CHAT_BYTES
        with pytest.raises(SourceError, match="bytes"):
            await source.chat(HELLO)


@pytest.mark.parametrize("values", ["[],", "{},", '"":0,', "1e5,"])
async def test_an_answer_of_many_small_values_is_not_parsed(values: str) -> None:
    """`json.loads` took the event loop 20 seconds for 8 MB of empty lists."""
    body = f"[{values * 200_000}0]" if values != '"":0,' else f'{{{values * 200_000}"x":0}}'
    head = OK.replace(b"text/plain", b"application/json") + b"Content-Length: %d\r\n\r\n" % len(body)
    async with agent(head + body.encode()) as source:
        assert "small values" in await refused(source)
        expired = HttpProfileSource(
            source._config.model_dump(), {**SECRETS, "access_token": ""}, Keeping(), private_allowed=True
        )
        assert "small values" in await refused(expired)


async def test_an_answer_that_is_nested_without_end_is_unreadable_and_no_failure() -> None:
    body = b"[" * 4_000
    async with agent(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body) as source:
        with pytest.raises(SourceError) as caught:
            await source.chat(HELLO)
        assert caught.value.code == "unreadable"


async def test_host_names_that_do_not_resolve_hold_up_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up waits for a name server that somebody chose. Searches and registrations waited for the same threads."""
    answered, asked = threading.Event(), threading.Semaphore(0)

    def look_up(*args: object, **more: object) -> list[object]:
        asked.release()
        answered.wait(120)
        raise socket.gaierror("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    config = {"chat_url": "https://slow.example/"}
    sources = [HttpProfileSource(config, {}, Keeping()) for _ in range(40)]
    asking = [asyncio.create_task(source.chat(HELLO)) for source in sources]
    try:
        await until(lambda: asked.acquire(blocking=False), "a host name is looked up")
        async with asyncio.timeout(60):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        answered.set()
    for one in asking:
        with pytest.raises(SourceError):
            await one
