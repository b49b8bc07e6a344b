"""What a stranger's own server sends below TLS takes no time of the gateway's event loop: exchanges that are expensive, or without end."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore
import pytest

from tests.gateway.outbound.test_sources import HELLO, SECRETS, Keeping
from tests.support.certificates import Authority
from tongyao.app.people.profile_source import SourceError
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.gateway.outbound.tls import HANDSHAKE_BYTES, UNREAD_BYTES, TlsRefused, TlsStream, tls_context

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + b'{"content": "I splice rope."}'
)


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """Trusted as the public ones are."""
    made = Authority(tmp_path, "authority")
    tls_context.cache_clear()
    tls_context().load_verify_locations(made.cert)
    yield made
    tls_context.cache_clear()


@asynccontextmanager
async def agent(
    authority: Authority, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> AsyncIterator[HttpProfileSource]:
    """An agent behind TLS, at a name that its certificate has."""
    issued = authority.issue("localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.cert, issued.key)
    context.maximum_version = newest

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/"
    async with server:
        yield HttpProfileSource({"chat_url": url}, SECRETS, Keeping(), private_allowed=True)


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_an_agent_behind_tls_is_asked(authority: Authority, newest: ssl.TLSVersion) -> None:
    async with agent(authority, newest=newest) as source:
        assert await source.chat(HELLO) == "I splice rope."


def test_a_server_cannot_choose_the_numbers_of_the_key_exchange() -> None:
    assert {one["kea"] for one in tls_context().get_ciphers()} <= {"kx-any", "kx-ecdhe"}


def test_a_server_cannot_ask_for_a_second_handshake() -> None:
    assert tls_context().options & ssl.OP_NO_RENEGOTIATION


async def test_a_server_whose_certificate_nobody_signed_is_not_asked(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with agent(Authority(tmp_path / "other", "other")) as source:
        with pytest.raises(SourceError, match="cannot be reached"):
            await source.chat(HELLO)


class Endless(httpcore.AsyncNetworkStream):
    """A connection on which bytes arrive without end."""

    def __init__(self) -> None:
        self.read_bytes = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.read_bytes += max_bytes
        return bytes(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        pass

    async def aclose(self) -> None:
        pass


class Hungry:
    """In the place of a TLS object and of its context: it takes whatever arrives, and gives nothing out, or one byte now and then."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.greeted = False
        self.a_byte_every, self._reads = 0, 0

    def wrap_bio(self, *args: Any, **named: Any) -> Hungry:
        return self

    def do_handshake(self) -> None:
        self.threads.add(threading.get_ident())
        if not self.greeted:
            raise ssl.SSLWantReadError

    def read(self, most: int) -> bytes:
        self._reads += 1
        if self.a_byte_every and self._reads % self.a_byte_every == 0:
            return b"x"
        raise ssl.SSLWantReadError


def stream_of(tls: Hungry, below: Endless) -> TlsStream:
    context: Any = tls
    return TlsStream(below, context, "agent.test")


async def test_tickets_and_changes_of_keys_without_end_are_cut_off() -> None:
    below, tls = Endless(), Hungry()
    tls.greeted = True
    stream = stream_of(tls, below)
    await stream.shake_hands(60)
    with pytest.raises(TlsRefused):
        await stream.read(1_000)
    assert below.read_bytes <= 2 * UNREAD_BYTES


async def read_on(stream: TlsStream) -> None:
    while await stream.read(1_000):
        pass


async def test_changes_of_keys_between_the_bytes_of_an_answer_are_cut_off_too() -> None:
    below, tls = Endless(), Hungry()
    tls.greeted, tls.a_byte_every = True, 3
    stream = stream_of(tls, below)
    await stream.shake_hands(60)
    with pytest.raises(TlsRefused):
        await read_on(stream)
    assert below.read_bytes <= 2 * UNREAD_BYTES


async def test_a_handshake_without_end_is_cut_off() -> None:
    below = Endless()
    with pytest.raises(httpcore.ConnectError):
        await stream_of(Hungry(), below).shake_hands(60)
    assert below.read_bytes <= 2 * HANDSHAKE_BYTES


async def test_what_a_handshake_computes_is_not_computed_on_the_event_loop() -> None:
    tls = Hungry()
    tls.greeted = True
    await stream_of(tls, Endless()).shake_hands(60)
    assert tls.threads
    assert threading.get_ident() not in tls.threads
