"""Connection options of the Temporal server: address, TLS and mTLS, API key, from the settings and Temporal's own configuration (docs/temporal.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from temporalio.service import TLSConfig

from tongyao.runtime.settings import Settings, SettingsError
from tongyao.runtime.settings_sources import temporal_profile


@dataclass(frozen=True)
class ConnectionOptions:
    """Arguments of `Client.connect`. `metadata`: sent with every call, for proxies that ask for it."""

    api_key: str | None
    tls: bool | TLSConfig
    metadata: Mapping[str, str]


def connection_options(settings: Settings) -> ConnectionOptions:
    """Settings go before the variables `TEMPORAL_TLS_…`, and these before the profile. Raises `SettingsError`."""
    profile = temporal_profile(settings.temporal_profile, settings.temporal_config_file)
    key = settings.temporal_api_key.get_secret_value() if settings.temporal_api_key else profile.api_key
    tls: bool | TLSConfig = settings.temporal_tls or key is not None
    if profile.tls is not None:
        try:
            tls = profile.tls.to_connect_tls_config()
        except OSError as error:
            raise SettingsError(f"TLS to Temporal: cannot read {error.filename}: {error.strerror}") from None
    return ConnectionOptions(key, _with_own(settings, tls), profile.grpc_meta)


def _with_own(settings: Settings, tls: bool | TLSConfig) -> bool | TLSConfig:
    """`tls` with what the settings say of certificates."""
    ca, cert, key = (
        _read(name, path)
        for name, path in (
            ("TONGYAO_TEMPORAL_TLS_CA", settings.temporal_tls_ca),
            ("TONGYAO_TEMPORAL_TLS_CERT", settings.temporal_tls_cert),
            ("TONGYAO_TEMPORAL_TLS_KEY", settings.temporal_tls_key),
        )
    )
    name = settings.temporal_tls_server_name
    if not (ca or cert or key or name):
        return tls
    base = tls if isinstance(tls, TLSConfig) else TLSConfig()
    return TLSConfig(
        server_root_ca_cert=ca or base.server_root_ca_cert,
        domain=name or base.domain,
        client_cert=cert or base.client_cert,
        client_private_key=key or base.client_private_key,
    )


def _read(variable: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{variable}: cannot read {path}: {error.strerror}") from None
