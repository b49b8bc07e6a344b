"""Starts the workflow `Recitation`, which indexes a long profile in the background (docs/highway.md).

It is apart from `retrievers`, which needs the extra `highway`.
"""

from __future__ import annotations

from typing import Protocol

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from tongyao.protocol.contracts.maintenance import RECITATION, RECITATION_QUEUE, RecitationInput
from tongyao.protocol.contracts.process import Readable


class Recite(Protocol):
    """Requests the recitation of a profile version. A search may request more `passes` and an `encoder`."""

    async def __call__(self, profile_id: str, version: int, passes: int = 0, encoder: str = "") -> None: ...


def reciting(client: Client) -> Recite:
    """Return a function that requests recitations on this server. A request can safely be repeated."""

    async def recite(profile_id: str, version: int, passes: int = 0, encoder: str = "") -> None:
        what = RecitationInput(profile_id=profile_id, version=version, passes=passes, encoder=encoder)
        try:
            await client.start_workflow(
                RECITATION,
                what,
                id=what.workflow_id,
                task_queue=RECITATION_QUEUE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
                static_summary=Readable("Recite a long profile"),
            )
        except WorkflowAlreadyStartedError:
            return

    return recite
