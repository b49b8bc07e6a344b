"""Clients of Temporal. Parts for workers alone are in `worker_plugin.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Interceptor
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode

from tongyao.runtime.errors import NamespaceUnknown, TemporalUnreachable
from tongyao.runtime.master_key import keyring
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection_options import connection_options
from tongyao.runtime.temporal.payload_codec import PayloadEncryption, converter_with

if TYPE_CHECKING:
    from temporalio.client import Plugin


async def connect(
    settings: Settings,
    *,
    address: str | None = None,
    runtime: Runtime | None = None,
    new_namespace: bool = False,
    plugins: Sequence[Plugin] = (),
) -> Client:
    """A client that speaks pydantic; `runtime`: where the SDK's metrics go; `new_namespace`: it may not be there yet.

    `plugins`: for a client that workers are made of.

    Raises `TemporalUnreachable`, `NamespaceUnknown` where the server answers and has no such namespace, `SettingsError`, `BadKey`.
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
    """Return the interceptors of traces, if an endpoint is set. Workers take them over from their client."""
    if settings.traces_endpoint is None:
        return ()
    from tongyao.runtime.observability.traces import Tracing  # late: brings the OpenTelemetry SDK

    return (Tracing(),)


def codec_of(settings: Settings, *, takes_plain: bool = False) -> PayloadEncryption:
    """Encryption with the master keys of this installation. `takes_plain`: accept plain payloads, even if the settings do not. Raises `BadKey`."""
    return PayloadEncryption(
        keyring(settings),
        encrypts=settings.temporal_encryption,
        takes_plain=takes_plain or settings.temporal_takes_plain,
    )


async def _check_namespace(client: Client, target: str) -> None:
    """Raise if the namespace does not exist: every process would seem to have ended."""
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED):
            raise TemporalUnreachable(f"the Temporal server at {target} does not answer: {error.message}") from error
        raise NamespaceUnknown(
            f"the Temporal server at {target} has no namespace {client.namespace!r}, or does not let us in: check "
            "TEMPORAL_NAMESPACE, or create it (`temporal operator namespace create`)"
        ) from error
