"""People's own agents behind TLS: the certificate is checked against the host name, and no server chooses an expensive exchange."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.gateway.outbound.test_sources import HELLO, SECRETS, Keeping
from tests.support.certificates import Authority
from tongyao.app.people.profile_source import SourceError
from tongyao.gateway.outbound import http_client
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.gateway.outbound.http_client import tls_context

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
    authority: Authority, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, name: str = "localhost"
) -> AsyncIterator[HttpProfileSource]:
    """An agent behind TLS, at a name that its certificate has."""
    issued = authority.issue(name)
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


async def test_a_certificate_of_another_name_is_refused(authority: Authority) -> None:
    """The connection goes to an address; the name that the person entered is what the certificate must have."""
    async with agent(authority, name="elsewhere.example") as source:
        with pytest.raises(SourceError, match="cannot be reached"):
            await source.chat(HELLO)


async def test_a_name_that_resolves_differently_a_moment_later_changes_nothing(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address that was checked is connected to: a name is looked up once for each request."""
    looked_up: list[str] = []

    def look_up(host: str, *args: object, **more: object) -> list[tuple[object, ...]]:
        looked_up.append(host)
        return [(2, 1, 6, "", ("127.0.0.1" if len(looked_up) == 1 else "127.0.0.9", 0))]

    async with agent(authority, name="rebinding.example") as source:
        port = httpx.URL(source._config.chat_url).port
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        monkeypatch.setattr(http_client, "is_public", lambda address: address == "127.0.0.1")
        async with http_client.client(private_allowed=False, seconds=10) as http:
            assert (await http.get(f"https://rebinding.example:{port}/")).status_code == 200
            with pytest.raises(http_client.AddressForbidden):
                await http.get(f"https://rebinding.example:{port}/")
    assert looked_up == ["rebinding.example"] * 2
