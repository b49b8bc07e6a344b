"""Time-outs and retries by kind of activity (docs/operations.md §4). Every retry is bounded: what outlasts it suspends.

What must not be retried says so itself, when it fails: a list of such failures would stand in every scheduled activity.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypedDict

from temporalio.common import RetryPolicy

from tongyao.protocol.contracts.process import ModelActivity
from tongyao.protocol.model.settings import ProcessSettings

HEARTBEAT = timedelta(seconds=15)
"""A dead worker is noticed after this long; model activities beat every few seconds."""


class Options(TypedDict, total=False):
    start_to_close_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy


def records() -> Options:
    """Short transactions: about ten minutes of a database that is away are sat out."""
    return _short(attempts=25)


def spare() -> Options:
    """What a process can do without: sat out for about a minute and a half, then passed over."""
    return _short(attempts=10)


def models(activity: ModelActivity[Any, Any], settings: ProcessSettings) -> Options:
    """A model step: as long as its calls in a row may take."""
    return Options(
        start_to_close_timeout=timedelta(seconds=activity.step.activity_seconds(settings.proxy_seconds)),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1),
            maximum_interval=timedelta(seconds=60),
            maximum_attempts=MODEL_ATTEMPTS,
        ),
    )


MODEL_ATTEMPTS = 10


def _short(*, attempts: int) -> Options:
    return Options(
        start_to_close_timeout=timedelta(seconds=30),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200),
            maximum_interval=timedelta(seconds=30),
            maximum_attempts=attempts,
        ),
    )
