"""Queues, time-outs and retries of steps (docs/operations.md §4).

An activity is retried for about a minute. Then the failure is passed to the state machine, which suspends the process, and
retries failures of infrastructure later. An error that must not be retried is raised as non-retryable.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from temporalio.common import Priority, RetryPolicy

from tongyao.protocol.contracts.fairness import priority_of
from tongyao.protocol.contracts.process import PROCESS_QUEUE, QUEUE_PATIENCE, ModelActivity, queue_of
from tongyao.protocol.life.steps import Step
from tongyao.protocol.model.settings import ProcessSettings

HEARTBEAT: Final = timedelta(seconds=15)
"""A dead worker is noticed after this long; model activities beat every few seconds."""


def of(step: Step, settings: ProcessSettings) -> dict[str, Any]:
    """Keyword arguments of `workflow.execute_activity` for a step. Each names its role's queue."""
    contract = step.contract
    queue = queue_of(contract)
    shared: dict[str, Any] = {
        "task_queue": queue,
        "priority": Priority(priority_key=priority_of(contract, step.input)),  # the fairness key is the process's
        "schedule_to_start_timeout": None if queue == PROCESS_QUEUE else QUEUE_PATIENCE,
    }
    if isinstance(contract, ModelActivity):
        return shared | {
            "start_to_close_timeout": timedelta(seconds=contract.step.activity_seconds(settings.proxy_seconds)),
            "heartbeat_timeout": HEARTBEAT,
            "retry_policy": RetryPolicy(
                initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=20), maximum_attempts=6
            ),
        }
    return shared | {
        "start_to_close_timeout": timedelta(seconds=30),
        "retry_policy": RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10), maximum_attempts=11
        ),
    }
