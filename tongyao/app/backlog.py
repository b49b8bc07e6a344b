"""How long the work that waits for models has waited (docs/operations.md §8)."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from tongyao.protocol.contracts.process import MODELS_QUEUE

KEPT_SECONDS: Final = 5.0
"""How long an answer of the server is used again."""
_ASK_SECONDS: Final = 2.0


class ModelsBacklog:
    """How long the oldest model step has waited for a worker, as Temporal says."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked_at = -KEPT_SECONDS
        self._age = 0.0

    async def oldest_seconds(self) -> float:
        """0 when nothing waits, or when the server does not say: then starting fails, or waits, by itself."""
        now = time.monotonic()
        if now - self._asked_at >= KEPT_SECONDS:
            self._asked_at = now
            try:
                described = await self._client.workflow_service.describe_task_queue(
                    DescribeTaskQueueRequest(
                        namespace=self._client.namespace,
                        task_queue=TaskQueue(name=MODELS_QUEUE),
                        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
                        report_stats=True,
                    ),
                    timeout=timedelta(seconds=_ASK_SECONDS),
                )
                self._age = described.stats.approximate_backlog_age.ToTimedelta().total_seconds()
            except RPCError:
                self._age = 0.0
        return self._age
