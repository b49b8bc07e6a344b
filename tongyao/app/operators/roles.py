"""Which roles of workers are there, as Temporal knows it: who polls the task queue of each, and how long work waits there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from tongyao.protocol.contracts.process import PROCESS_QUEUE, ROLES, start_worker
from tongyao.protocol.model.value import Value

POLLING: Final = timedelta(seconds=90)
"""A worker that has not asked for work for this long has gone: a poll lasts a minute."""

_ASK_SECONDS: Final = 5.0


class RoleState(Value):
    """`workers`: build → how many of it poll the queue. `waiting`: tasks in the queue; `waiting_seconds`: the age of the oldest."""

    role: str
    queue: str
    workers: dict[str, int]
    waiting: int = 0
    waiting_seconds: float = 0.0

    @property
    def missing(self) -> str:
        """What to do where nobody polls; empty where somebody does."""
        if self.workers:
            return ""
        return f"nobody polls the queue of the role {self.role} ({self.queue}): {start_worker(self.role)}"


async def read_roles(
    client: Client, queues: Sequence[str] = tuple(ROLES), *, now: datetime | None = None
) -> list[RoleState]:
    """The roles of these queues, in the order given.

    A worker counts where it asks for everything that its role does: steps, and on the process queue workflow tasks too.

    Raises:
        temporalio.service.RPCError: the server refuses, or does not answer.
    """
    return [await _role(client, queue, now or datetime.now(UTC)) for queue in queues]


async def _role(client: Client, queue: str, now: datetime) -> RoleState:
    workers: dict[str, set[str]] = {}
    waiting, seconds = 0, 0.0
    kinds = [TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY]
    if queue == PROCESS_QUEUE:
        kinds.append(TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW)
    polling: list[set[str]] = []
    for kind in kinds:
        described = await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind, report_stats=True
            ),
            timeout=timedelta(seconds=_ASK_SECONDS),
        )
        there = {one.identity: build_of(one) for one in described.pollers if polls(one, now)}
        polling.append(set(there))
        for identity, build in there.items():
            workers.setdefault(build, set()).add(identity)
        waiting += described.stats.approximate_backlog_count
        seconds = max(seconds, described.stats.approximate_backlog_age.ToTimedelta().total_seconds())
    whole = set.intersection(*polling)
    counted = {build: len(who & whole) for build, who in sorted(workers.items())}
    return RoleState(
        role=ROLES[queue],
        queue=queue,
        workers={build: count for build, count in counted.items() if count},
        waiting=waiting,
        waiting_seconds=seconds,
    )


def polls(poller: PollerInfo, now: datetime) -> bool:
    return now - poller.last_access_time.ToDatetime(UTC) < POLLING


def build_of(poller: PollerInfo) -> str:
    return poller.deployment_options.build_id or poller.worker_version_capabilities.build_id or "unknown"
