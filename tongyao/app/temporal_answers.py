"""Answers of Temporal, which may not know what it is asked about."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

T = TypeVar("T")


async def if_known(asked: Awaitable[T]) -> T | None:
    """The answer; None where the server knows nothing of this name, or its retention is over. Raises `RPCError`."""
    try:
        return await asked
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return None


async def delete_history(client: Client, workflow_id: str, run_id: str = "") -> None:
    """The server deletes it in its own time. Nothing happens where its retention was over. Raises `RPCError`."""
    workflow = WorkflowExecution(workflow_id=workflow_id, run_id=run_id)
    request = DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=workflow)
    await if_known(client.workflow_service.delete_workflow_execution(request))
