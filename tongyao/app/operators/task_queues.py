"""Task queues as Temporal describes them (pollers and backlog), and the roles of workers that poll them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from tongyao.protocol.contracts.process import PROCESS_QUEUE, ROLES, start_worker
from tongyao.protocol.model.value import Value

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


class RoleState(Value):
    """`workers`: number of polling workers by build. `waiting`: tasks in the queue. `waiting_seconds`: oldest age."""

    role: str
    queue: str
    workers: dict[str, int]
    waiting: int = 0
    waiting_seconds: float = 0.0

    @property
    def missing(self) -> str:
        """Advice for a role without a poller. Empty if a worker polls."""
        if self.workers:
            return ""
        return f"nobody polls the queue of the role {self.role} ({self.queue}): {start_worker(self.role)}"


async def read_roles(client: Client, queues: Sequence[str] = tuple(ROLES)) -> list[RoleState]:
    """Return the roles of these queues, in the given order. Raises `RPCError`.

    A worker counts if it polls for all tasks of its role: activities, and on the process queue also workflow tasks.
    """
    return [await _role(client, queue) for queue in queues]


async def _role(client: Client, queue: str) -> RoleState:
    kinds = [ACTIVITIES, WORKFLOWS] if queue == PROCESS_QUEUE else [ACTIVITIES]
    states = [await describe_queue(client, queue, kind) for kind in kinds]
    whole = set.intersection(*(set(state.pollers) for state in states))
    return RoleState(
        role=ROLES[queue],
        queue=queue,
        workers=dict(sorted(Counter(states[0].pollers[identity] for identity in whole).items())),
        waiting=sum(state.waiting for state in states),
        waiting_seconds=max(state.waiting_seconds for state in states),
    )
