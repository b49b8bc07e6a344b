"""Inserts the row of the child process of a residual tension. The workflow starts it (docs/protocol.md §3.6)."""

from __future__ import annotations

from temporalio import activity

from activities.dependencies import Deps
from activities.record import write_outbox
from tongyao.protocol.contracts.process import BRANCH, BranchInput, BranchOutput
from tongyao.records.process.announcements import NotAnnounced, announce_child


class Branching:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=BRANCH.name)
    async def branch(self, what: BranchInput) -> BranchOutput:
        """Announce the child of one residual. Idempotent: the child's id is derived from the residual."""
        repositories = self._deps.repositories
        await write_outbox(repositories, what)
        least = self._deps.model_calls.minimum_budget()
        try:
            child = await announce_child(
                repositories, what.process_id, what.residual, tokens=least.tokens, cost=least.cost
            )
        except NotAnnounced as refused:
            return BranchOutput(reason=refused.reason)
        return BranchOutput(child=child)
