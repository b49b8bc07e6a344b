"""Clients of Temporal: address, TLS and mTLS, API key (docs/temporal.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Interceptor
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from tongyao.runtime.errors import NamespaceUnknown, TemporalUnreachable
from tongyao.runtime.master_key import keyring
from tongyao.runtime.settings import Settings, SettingsError
from tongyao.runtime.settings_sources import temporal_profile
from tongyao.runtime.temporal.payload_codec import PayloadEncryption, converter_with

if TYPE_CHECKING:
    from temporalio.client import Plugin


@dataclass(frozen=True)
class ConnectionOptions:
    """Arguments of `Client.connect`. `metadata`: sent with every call, for proxies that need it."""

    api_key: str | None
    tls: bool | TLSConfig
    metadata: Mapping[str, str]


def connection_options(settings: Settings) -> ConnectionOptions:
    """Return the options. The settings take precedence over the variables `TEMPORAL_TLS_…`, and these over the profile.

    Raises `SettingsError`.
    """
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
    """Return `tls` with the certificates and the server name of the settings."""
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


async def connect(
    settings: Settings,
    *,
    address: str | None = None,
    runtime: Runtime | None = None,
    new_namespace: bool = False,
    plugins: Sequence[Plugin] = (),
) -> Client:
    """Return a client with Tongyao's data converter. `runtime`: receives the SDK's metrics.

    `new_namespace`: whether the namespace may be missing. `plugins`: for a client with which workers are created.
    Raises `TemporalUnreachable`, `NamespaceUnknown` (the server answers and lacks the namespace), `SettingsError`,
    `BadKey`.
    """
    target = address or settings.temporal_address
    if target is None:
        raise TemporalUnreachable("no Temporal server is named: set TEMPORAL_ADDRESS, or start one with `tongyao up`")
    options = connection_options(settings)
    try:
        client = await Client.connect(
            target,
            namespace=settings.temporal_namespace,
            api_key=options.api_key,
            tls=options.tls,
            rpc_metadata=options.metadata,
            data_converter=converter_with(codec_of(settings)),
            interceptors=_interceptors(settings),
            plugins=plugins,
            runtime=runtime,
        )
    except (RuntimeError, RPCError) as error:
        raise TemporalUnreachable(
            f"no Temporal server answers at {target}: {str(error).splitlines()[0]}. Is it running (`tongyao doctor`)?"
        ) from error
    if not new_namespace:
        await _check_namespace(client, target)
    return client


def _interceptors(settings: Settings) -> Sequence[Interceptor]:
    """Return the interceptors for traces, if an endpoint is set. Workers inherit them from their client."""
    if settings.traces_endpoint is None:
        return ()
    from tongyao.runtime.observability.traces import Tracing  # late: imports the OpenTelemetry SDK

    return (Tracing(),)


def codec_of(settings: Settings, *, takes_plain: bool = False) -> PayloadEncryption:
    """Return the codec with the master keys of this installation. Raises `BadKey`.

    `takes_plain`: accept unencrypted payloads, even if the settings do not.
    """
    return PayloadEncryption(
        keyring(settings),
        encrypts=settings.temporal_encryption,
        takes_plain=takes_plain or settings.temporal_takes_plain,
    )


async def _check_namespace(client: Client, target: str) -> None:
    """Raise if the namespace does not exist, because then every process would seem to have ended."""
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED):
            raise TemporalUnreachable(f"the Temporal server at {target} does not answer: {error.message}") from error
        raise NamespaceUnknown(
            f"the Temporal server at {target} has no namespace {client.namespace!r}, or does not let us in: check "
            "TEMPORAL_NAMESPACE, or create it (`temporal operator namespace create`)"
        ) from error
