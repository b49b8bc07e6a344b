"""Sends `cancel` to the children of a process that was cancelled with its branch (docs/protocol.md §3.6)."""

from __future__ import annotations

from temporalio import activity

from activities.record import write_outbox
from tongyao.protocol.contracts.process import CANCEL_CHILDREN, CancelChildrenInput
from tongyao.records.process.children import cancel_children
from tongyao.records.repositories import Repositories


class CancellingChildren:
    def __init__(self, repositories: Repositories) -> None:
        self._library = repositories

    @activity.defn(name=CANCEL_CHILDREN.name)
    async def cancel_children(self, what: CancelChildrenInput) -> None:
        """Send `cancel` to every child that has not ended, those that were never started included. Again is harmless."""
        await write_outbox(self._library, what)
        await cancel_children(self._library.pool, what.process_id)
