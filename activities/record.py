"""Writes a workflow's outbox to the records, before anything else an activity does (docs/protocol.md §11)."""

from __future__ import annotations

from temporalio import activity

from tongyao.protocol.contracts.process import RECORD, ActivityInput, RecordInput
from tongyao.records.library import Library


class Recording:
    """For transitions after which nothing else happens soon."""

    def __init__(self, library: Library) -> None:
        self._library = library

    @activity.defn(name=RECORD.name)
    async def record(self, what: RecordInput) -> None:
        await write_outbox(self._library, what)


async def write_outbox(library: Library, what: ActivityInput) -> None:
    """Write the outbox that the workflow sent along. Idempotent."""
    if what.outbox is None:
        return
    for text in what.outbox.texts:
        await library.texts.put_signalled(what.process_id, text)
    await library.journal.write(what.outbox, activity.info().workflow_run_id or "")
