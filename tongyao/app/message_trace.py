"""The trace of a message: its id is the message's own, so it is found by it in every program (docs/operations.md §8).

Without a tracer provider (`runtime/observability/traces.py`) nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, TraceFlags

MESSAGE: Final = "tongyao.message"
PROCESS: Final = "tongyao.process"

_TRACER: Final = trace.get_tracer("tongyao")


@contextmanager
def message_span(message_id: str, *, process_id: str, kind: str) -> Iterator[None]:
    """A try to deliver a message. Requests and deliveries, now and later, are parts of one trace: each names the message.

    The request that brought the message is linked, and is told the id.
    """
    asking = trace.get_current_span()
    asking.set_attribute(MESSAGE, message_id)
    asking.set_attribute(PROCESS, process_id)
    number = UUID(message_id).int
    root = SpanContext(number, number & (2**64 - 1) or 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    links = [Link(asking.get_span_context())] if asking.get_span_context().is_valid else []
    with _TRACER.start_as_current_span(
        f"message {kind}",
        context=trace.set_span_in_context(NonRecordingSpan(root)),
        kind=SpanKind.PRODUCER,
        attributes={MESSAGE: message_id, PROCESS: process_id},
        links=links,
    ):
        yield
