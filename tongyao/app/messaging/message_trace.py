"""The trace of a message. The trace id is the message's id, so every program can find it (docs/operations.md §9).

Without a tracer provider (`runtime/observability/traces.py`), the functions have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags

MESSAGE: Final = "tongyao.message"
PROCESS: Final = "tongyao.process"

_TRACER: Final = trace.get_tracer("tongyao")


def note_message(message_id: str, process_id: str) -> None:
    """Set the message's id on the span of the current request, and link the span to the message's trace."""
    asking = trace.get_current_span()
    asking.set_attribute(MESSAGE, message_id)
    asking.set_attribute(PROCESS, process_id)
    asking.add_link(_root(message_id))


@contextmanager
def message_span(message_id: str, *, process_id: str, kind: str) -> Iterator[None]:
    """Open the span of one delivery attempt. All attempts, of any program, are in one trace."""
    with _TRACER.start_as_current_span(
        f"message {kind}",
        context=trace.set_span_in_context(NonRecordingSpan(_root(message_id))),
        kind=SpanKind.PRODUCER,
        attributes={MESSAGE: message_id, PROCESS: process_id},
    ):
        yield


def _root(message_id: str) -> SpanContext:
    """Return the common parent of all spans of a message. No span is exported for it."""
    number = UUID(message_id).int
    return SpanContext(number, number & (2**64 - 1) or 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
