"""Roles of workers as Temporal reports them: the pollers of each task queue, and the age of its oldest task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from temporalio.client import Client

from tongyao.app.operators.task_queues import ACTIVITIES, WORKFLOWS, describe_queue
from tongyao.protocol.contracts.process import PROCESS_QUEUE, ROLES, start_worker
from tongyao.protocol.model.value import Value


class RoleState(Value):
    """`workers`: number of polling workers by build. `waiting`: tasks in the queue. `waiting_seconds`: oldest age."""

    role: str
    queue: str
    workers: dict[str, int]
    waiting: int = 0
    waiting_seconds: float = 0.0

    @property
    def missing(self) -> str:
        """Advice for a role without a poller; empty if a worker polls."""
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
