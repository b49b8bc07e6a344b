"""Writes the outbox of a workflow to the records before a step does anything else (docs/protocol.md §11.1)."""

from __future__ import annotations

from typing import Final

from opentelemetry import trace
from temporalio import activity

from tongyao.protocol.contracts.process import STATE_QUERY, ActivityInput
from tongyao.protocol.identity.proposer import proposed_names
from tongyao.protocol.life.state import State
from tongyao.records.privacy.texts import NewText
from tongyao.records.repositories import Repositories

_TRACER: Final = trace.get_tracer("tongyao")


async def write_outbox(repositories: Repositories, what: ActivityInput) -> None:
    """Write the outbox that the workflow sent. Idempotent.

    If the workflow was reset or restored to a point before the stored events, or if the records do not know its run,
    its whole state is queried and projected again. Steps then use no data that the run has not produced.
    """
    run_id = activity.info().workflow_run_id or ""
    if what.outbox is not None:
        with _TRACER.start_as_current_span("record", attributes={"tongyao.events": len(what.outbox.events)}):
            for text in what.outbox.texts:
                await repositories.texts.put_signalled(what.process_id, text)
                if text.kind == "words":
                    new = NewText(text.text_id, text.owner, text.kind, text.body)
                    names = proposed_names(text.body)
                    process = await repositories.processes.get(what.process_id)
                    await repositories.shared.put(process, [new], aliases={}, names={"": names})
            went_back = await repositories.journal.write(what.outbox, run_id)
    else:
        went_back = not await repositories.journal.knows(what.process_id, run_id)
    if went_back:
        await _follow_state(repositories, what.process_id, run_id)


async def _follow_state(repositories: Repositories, process_id: str, run_id: str) -> None:
    handle = activity.client().get_workflow_handle(process_id)
    if (await handle.describe()).run_id == run_id:  # otherwise this step belongs to a run that has ended
        state = await handle.query(STATE_QUERY, result_type=State)
        await repositories.journal.project_again(state, run_id)
