"""Time-outs and retries by kind of activity (docs/operations.md §4). Every retry is bounded: what outlasts it suspends."""

from __future__ import annotations

from datetime import timedelta
from typing import TypedDict

from temporalio.common import RetryPolicy

from tongyao.protocol.contracts import OPERATOR_NEEDED
from tongyao.protocol.settings import ProcessSettings

HEARTBEAT = timedelta(seconds=15)
"""A dead worker is noticed after this long; model activities beat every few seconds."""

_NOT_RETRIED = [OPERATOR_NEEDED]


class Options(TypedDict, total=False):
    start_to_close_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy


def records() -> Options:
    """Short transactions: about ten minutes of a database that is away are sat out."""
    return Options(
        start_to_close_timeout=timedelta(seconds=30),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200),
            maximum_interval=timedelta(seconds=30),
            maximum_attempts=25,
            non_retryable_error_types=_NOT_RETRIED,
        ),
    )


def models(settings: ProcessSettings, *, calls: int = 2) -> Options:
    """A model step: at most `calls` calls in a row (the answer and its re-ask), each within the proxy's time-out."""
    return Options(
        start_to_close_timeout=timedelta(seconds=settings.proxy_seconds * calls + 30),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1),
            maximum_interval=timedelta(seconds=60),
            maximum_attempts=MODEL_ATTEMPTS,
            non_retryable_error_types=_NOT_RETRIED,
        ),
    )


MODEL_ATTEMPTS = 10
