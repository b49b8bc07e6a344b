"""How a Temporal server is reached: TLS, mTLS, API keys, and the configuration of Temporal's own tools.

A proxy that ends TLS stands before a real server. It lets in whoever shows a certificate of its authority.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from temporalio.service import TLSConfig

from tests.support.certificates import Authority, Issued
from tongyao.runtime.errors import TemporalUnreachable
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.settings import Settings, SettingsError, load_settings
from tongyao.runtime.temporal.connection import connect, connection_options

SERVER_NAME = "temporal.test"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@asynccontextmanager
async def ending_tls(server: Issued, target: str, *, clients_of: Path | None = None) -> AsyncIterator[str]:
    """A proxy before `target`; yields its address. `clients_of`: the authority that must have signed clients' certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.cert, server.key)
    context.set_alpn_protocols(["h2"])
    if clients_of is not None:
        context.load_verify_locations(clients_of)
        context.verify_mode = ssl.CERT_REQUIRED
    host, _, port = target.rpartition(":")

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pass_on(reader, there_writer), pass_on(there_reader, writer))

    listening = await asyncio.start_server(joined, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()


async def test_mtls_lets_in_with_a_certificate_and_not_without(
    authority: Authority, temporal_server: LocalTemporal, home: Path
) -> None:
    client = authority.issue("client.test")
    async with ending_tls(authority.issue(SERVER_NAME), temporal_server.address, clients_of=authority.cert) as address:
        common: dict[str, Any] = {
            "home": home,
            "temporal_address": address,
            "temporal_tls_ca": authority.cert,
            "temporal_tls_server_name": SERVER_NAME,
        }
        settings = Settings(**common, temporal_tls_cert=client.cert, temporal_tls_key=client.key)
        reached = await connect(settings)
        assert (await reached.count_workflows()).count >= 0
        with pytest.raises(TemporalUnreachable, match=address):
            await connect(Settings(**common))


async def test_a_server_whose_certificate_is_of_another_authority_or_name_is_not_trusted(
    authority: Authority, temporal_server: LocalTemporal, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", "other")
    async with ending_tls(authority.issue(SERVER_NAME), temporal_server.address) as address:
        trusted: dict[str, Any] = {"home": home, "temporal_address": address, "temporal_tls_server_name": SERVER_NAME}
        await connect(Settings(**trusted, temporal_tls_ca=authority.cert))
        with pytest.raises(TemporalUnreachable):
            await connect(Settings(**trusted, temporal_tls_ca=other.cert))
        with pytest.raises(TemporalUnreachable):
            await connect(
                Settings(**{**trusted, "temporal_tls_server_name": "else.test"}, temporal_tls_ca=authority.cert)
            )


async def test_a_profile_of_temporals_own_configuration_connects(
    authority: Authority,
    temporal_server: LocalTemporal,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = authority.issue("client.test")
    async with ending_tls(authority.issue(SERVER_NAME), temporal_server.address, clients_of=authority.cert) as address:
        file = tmp_path / "temporal.toml"
        file.write_text(
            f"""[profile.harbour]
address = "{address}"
namespace = "default"
[profile.harbour.tls]
server_name = "{SERVER_NAME}"
server_ca_cert_path = "{authority.cert}"
client_cert_path = "{client.cert}"
client_key_path = "{client.key}"
"""
        )
        monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(file))
        monkeypatch.setenv("TEMPORAL_PROFILE", "harbour")
        settings = load_settings(home=home)
        assert (settings.temporal_address, settings.temporal_namespace) == (address, "default")
        assert (await connect(settings)).namespace == "default"


def test_what_is_set_goes_before_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text('[profile.default]\naddress = "theirs:7233"\nnamespace = "of-the-file"\napi_key = "k-canary"\n')
    assert load_settings().temporal_address is None, "a file that nothing names is not read"
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(file))
    settings = load_settings()
    assert (settings.temporal_address, settings.temporal_namespace) == ("theirs:7233", "of-the-file")
    assert connection_options(settings).api_key == "k-canary"
    assert connection_options(settings).tls is True
    monkeypatch.setenv("TEMPORAL_ADDRESS", "ours:7233")
    monkeypatch.setenv("TONGYAO_TEMPORAL_NAMESPACE", "of-the-environment")
    settings = load_settings()
    assert (settings.temporal_address, settings.temporal_namespace) == ("ours:7233", "of-the-environment")
    monkeypatch.setenv("TEMPORAL_PROFILE", "nowhere")
    with pytest.raises(SettingsError, match="nowhere"):
        load_settings()


def test_an_api_key_turns_tls_on_and_temporals_variables_are_honoured(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection_options(Settings()).tls is False
    monkeypatch.setenv("TEMPORAL_API_KEY", "k-canary")
    options = connection_options(load_settings())
    assert (options.api_key, options.tls) == ("k-canary", True)
    monkeypatch.setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", str(authority.cert))
    monkeypatch.setenv("TEMPORAL_GRPC_META_TENANT", "harbour")
    options = connection_options(load_settings())
    assert isinstance(options.tls, TLSConfig) and options.tls.server_root_ca_cert == authority.cert.read_bytes()
    assert dict(options.metadata) == {"tenant": "harbour"}


def test_what_is_missing_of_a_connection_is_named(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TONGYAO_TEMPORAL_TLS_CERT", str(authority.cert))
    with pytest.raises(SettingsError, match="TONGYAO_TEMPORAL_TLS_KEY"):
        load_settings()
    monkeypatch.setenv("TONGYAO_TEMPORAL_TLS_KEY", str(tmp_path / "nothing"))
    with pytest.raises(SettingsError, match=r"TONGYAO_TEMPORAL_TLS_KEY: cannot read .*nothing"):
        connection_options(load_settings())
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "nothing.toml"))
    with pytest.raises(SettingsError, match=r"TEMPORAL_CONFIG_FILE: .*nothing\.toml"):
        load_settings()
