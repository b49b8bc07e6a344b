"""Rewrites the records from the whole state of a workflow, after a reset or a restore (docs/operations.md §6)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from temporalio.client import Client, WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.errors import NotFound, Unavailable
from tongyao.protocol.contracts.process import STATE_QUERY
from tongyao.protocol.life.state import State
from tongyao.records.repositories import Repositories

ANSWER_SECONDS: Final = 10.0


async def project_again(repositories: Repositories, client: Client, process_id: str, *, login: str, via: str) -> int:
    """Query the workflow for its state and rewrite row, seats and inbox. Returns the number of messages sent again.

    `login` and `via` go to the operators' log. Raises `NotFound` if the process has no workflow, `ProcessUnknown`, and
    `Unavailable` if no worker answers.
    """
    state, run_id = await state_of(client, process_id)
    sent_again = await repositories.journal.project_again(state, run_id)
    await repositories.operators.note(process_id, "project_again", login=login, via=via)
    return sent_again


async def state_of(client: Client, process_id: str) -> tuple[State, str]:
    """Return the state of a process in its current run, and the id of that run. Raises `NotFound`, `Unavailable`."""
    handle = client.get_workflow_handle(process_id)
    try:
        run_id = (await handle.describe()).run_id
        state: State = await client.get_workflow_handle(process_id, run_id=run_id).query(
            STATE_QUERY, result_type=State, rpc_timeout=timedelta(seconds=ANSWER_SECONDS)
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise NotFound("no_workflow", f"Temporal has no workflow {process_id!r} (any more)") from None
        raise Unavailable(
            "no_worker", f"no worker answered for {process_id} ({error.status.name}): is one running?"
        ) from error
    except (WorkflowQueryFailedError, WorkflowQueryRejectedError) as error:
        raise Unavailable(
            "no_state", f"the worker could not give the state of {process_id}: {type(error).__name__}"
        ) from error
    return state, run_id
