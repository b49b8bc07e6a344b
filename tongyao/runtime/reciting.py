"""Long profiles are recited in the background, once per version (docs/highway.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from tongyao.protocol.contracts_recitation import RECITATION, RECITATION_QUEUE, RecitationInput


def reciting(client: Client) -> Callable[[str, int], Awaitable[None]]:
    """Start the recitation of a profile version; again is harmless."""

    async def recite(profile_id: str, version: int) -> None:
        what = RecitationInput(profile_id=profile_id, version=version)
        try:
            await client.start_workflow(
                RECITATION,
                what,
                id=what.workflow_id,
                task_queue=RECITATION_QUEUE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
                static_summary="Recite a long profile",
            )
        except WorkflowAlreadyStartedError:
            return

    return recite
