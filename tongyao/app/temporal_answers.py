"""Requests to Temporal about workflows that it may not know."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

T = TypeVar("T")


async def if_known(asked: Awaitable[T]) -> T | None:
    """Return the answer; None if the workflow is unknown to the server, or its history expired. Raises `RPCError`."""
    try:
        return await asked
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return None


async def delete_history(client: Client, workflow_id: str, run_id: str = "") -> None:
    """Request the deletion of a history, which happens later. An unknown workflow is ignored. Raises `RPCError`."""
    workflow = WorkflowExecution(workflow_id=workflow_id, run_id=run_id)
    request = DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=workflow)
    await if_known(client.workflow_service.delete_workflow_execution(request))
