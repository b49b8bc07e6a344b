"""One task queue as Temporal describes it: its pollers and its backlog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

ACTIVITIES: Final = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
WORKFLOWS: Final = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
POLLING: Final = timedelta(seconds=90)
"""A worker without a poll for this time is gone. A poll lasts a minute."""


@dataclass(frozen=True)
class QueueState:
    """`pollers`: build by identity, of workers that polled lately. `waiting`: tasks. `waiting_seconds`: oldest age."""

    pollers: Mapping[str, str]
    waiting: int
    waiting_seconds: float


async def describe_queue(
    client: Client,
    queue: str,
    kind: TaskQueueType.ValueType = ACTIVITIES,
    *,
    seconds: float = 5.0,
) -> QueueState:
    """`seconds`: timeout. Raises `temporalio.service.RPCError` if the server refuses or does not answer."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind, report_stats=True
    )
    described = await client.workflow_service.describe_task_queue(request, timeout=timedelta(seconds=seconds))
    return QueueState(
        pollers={poller.identity: build_of(poller) for poller in described.pollers if polls(poller)},
        waiting=described.stats.approximate_backlog_count,
        waiting_seconds=described.stats.approximate_backlog_age.ToTimedelta().total_seconds(),
    )


def polls(poller: PollerInfo) -> bool:
    return datetime.now(UTC) - poller.last_access_time.ToDatetime(UTC) < POLLING


def build_of(poller: PollerInfo) -> str:
    return poller.deployment_options.build_id or poller.worker_version_capabilities.build_id or "unknown"
