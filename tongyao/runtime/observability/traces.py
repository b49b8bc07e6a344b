"""OpenTelemetry traces over OTLP/HTTP (docs/operations.md §9). Without an endpoint this module is not imported.

The SDK's own interceptor puts every step into the trace of the start of the process, which may be weeks old. Here the
workflow passes on the trace of the last applied message, so a step is in the trace of the message that caused it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from temporalio import activity, client, worker
from temporalio.api.common.v1 import Payload

from tongyao.app.messaging.message_trace import MESSAGE, PROCESS
from tongyao.runtime.observability.carried_trace import HEADER, CarriesTrace
from tongyao.runtime.temporal.build import build_id

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_TRACER: Final = trace.get_tracer("tongyao")

KNOWN: Final = frozenset(
    {
        "error.type", "gen_ai.request.model", "http.request.method", "http.response.status_code", "http.route", MESSAGE, PROCESS,
        "tongyao.attempt", "tongyao.events", "tongyao.update",
    }
)  # fmt: skip
"""The span attributes that are sent."""

Headers = Mapping[str, Payload]


def start_traces(endpoint: str, service: str) -> TracerProvider:
    """Send the spans of this program to `endpoint` (its path `/v1/traces`). Call `shutdown` of the result at the end.

    Standard variables such as `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_TRACES_SAMPLER` apply.
    """
    resource = Resource.create({"service.name": f"tongyao-{service}", "service.version": build_id()})
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(_OnlyKnown(exporter)))
    trace.set_tracer_provider(provider)
    return provider


class _OnlyKnown(SpanExporter):
    """Sends only attributes without texts and secrets. Spans of libraries contain addresses, queries and errors."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([_known(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _known(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in (span.attributes or {}).items() if name in KNOWN},
        links=[Link(link.context) for link in span.links],
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


class Tracing(client.Interceptor, worker.Interceptor):
    """Makes spans of starts, updates and signals at the sender, and of activities in the worker.

    Workflows make no spans and only pass the trace on.
    """

    def intercept_client(self, next: client.OutboundInterceptor) -> client.OutboundInterceptor:
        return _Sending(next)

    def intercept_activity(self, next: worker.ActivityInboundInterceptor) -> worker.ActivityInboundInterceptor:
        return _Working(next)

    def workflow_interceptor_class(
        self, input: worker.WorkflowInterceptorClassInput
    ) -> type[worker.WorkflowInboundInterceptor]:
        return CarriesTrace


class _Sending(client.OutboundInterceptor):
    async def start_workflow(self, input: client.StartWorkflowInput) -> client.WorkflowHandle[Any, Any]:
        with _TRACER.start_as_current_span(
            f"start {input.workflow}", kind=SpanKind.CLIENT, attributes={PROCESS: input.id}
        ):
            input.headers = _with_trace(input.headers)
            return await super().start_workflow(input)

    async def start_workflow_update(self, input: client.StartWorkflowUpdateInput) -> client.WorkflowUpdateHandle[Any]:
        with _TRACER.start_as_current_span(
            f"update {input.update}",
            kind=SpanKind.CLIENT,
            attributes={PROCESS: input.id, "tongyao.update": input.update_id or ""},
        ):
            input.headers = _with_trace(input.headers)
            return await super().start_workflow_update(input)

    async def signal_workflow(self, input: client.SignalWorkflowInput) -> None:
        with _TRACER.start_as_current_span(
            f"signal {input.signal}", kind=SpanKind.CLIENT, attributes={PROCESS: input.id}
        ):
            input.headers = _with_trace(input.headers)
            await super().signal_workflow(input)


class _Working(worker.ActivityInboundInterceptor):
    async def execute_activity(self, input: worker.ExecuteActivityInput) -> Any:
        info = activity.info()
        with _TRACER.start_as_current_span(
            f"step {info.activity_type}",
            context=_trace_of(input.headers),
            kind=SpanKind.CONSUMER,
            attributes={PROCESS: info.workflow_id or "", "tongyao.attempt": info.attempt},
            record_exception=False,  # its message may quote a person
        ):
            return await super().execute_activity(input)


def _with_trace(headers: Headers) -> Headers:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    if not carrier:
        return headers
    payload = Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(carrier).encode())
    return {**headers, HEADER: payload}


def _trace_of(headers: Headers) -> Context | None:
    if HEADER not in headers:
        return None
    try:
        return _PROPAGATOR.extract(json.loads(headers[HEADER].data))
    except (ValueError, TypeError):  # any client of Temporal may have written the header
        return None
