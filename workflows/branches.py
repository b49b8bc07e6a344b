"""Residual tensions go back to the field, each in a child process of its own (docs/protocol.md §3.6)."""

from __future__ import annotations

import asyncio

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import ApplicationError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from tongyao.protocol.contracts.process import (
    BRANCH,
    CRYSTALLIZATION,
    BranchInput,
    ProcessInput,
    ProcessResult,
    SearchAttribute,
)
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.settings import Residuals
from workflows import options
from workflows.steps import Steps, give_up


class Branches(Steps):
    """Children are started once, live on when this process ends, and belong to the same demander."""

    def open_residuals(self, residuals: tuple[str, ...]) -> None:
        """A plan left these unresolved: ask the demander, or approve them all, as the settings say."""
        if not self.state.may_branch:
            return
        self.state.residuals = residuals
        if self.start.settings.residuals is Residuals.AUTO:
            self.state.approved = residuals
            return
        for residual in residuals:
            self.journal.note(EventKind.RESIDUAL_OPEN, {"residual": residual}, urgent=False)

    async def branch(self) -> None:
        """Start the children of approved residuals, for as long as the process lives."""
        following: list[asyncio.Task[None]] = []
        try:
            while True:
                await workflow.wait_condition(lambda: bool(self.state.to_start))
                for residual in self.state.to_start:
                    if (child := await self._started(residual)) is not None:
                        following.append(asyncio.create_task(self._follow(residual, child)))
        finally:
            for task in following:
                give_up(task)

    async def cancel_children(self) -> None:
        """Ask every child that still runs to end, and everything below it."""
        message = {"author": {"role": "operator"}, "key": f"branch-of-{self.start.process_id}", "branch": True}
        for child in self.state.children.values():
            if child in self.state.ended_children:
                continue
            try:
                await workflow.get_external_workflow_handle(child).signal("cancel", message)
            except ApplicationError:
                workflow.logger.info("child had ended", extra={"child": child})

    async def _started(self, residual: str) -> workflow.ChildWorkflowHandle[object, ProcessResult] | None:
        announced = await self.call(
            BRANCH,
            BranchInput(process_id=self.start.process_id, residual=residual),
            summary=f"child for {residual}",
            using=options.records(),
        )
        if announced.child is None:
            self._refused(residual, announced.reason)
            return None
        child = announced.child
        try:
            handle: workflow.ChildWorkflowHandle[object, ProcessResult] = await workflow.start_child_workflow(
                CRYSTALLIZATION,
                child,
                id=child.process_id,
                result_type=ProcessResult,
                parent_close_policy=ParentClosePolicy.ABANDON,
                cancellation_type=ChildWorkflowCancellationType.ABANDON,
                search_attributes=_search_attributes(child),
                static_summary=child.summary,
            )
        except WorkflowAlreadyStartedError:
            self._refused(residual, "started elsewhere")
            return None
        self.state.children[residual] = child.process_id
        self.journal.note(EventKind.CHILD_STARTED, {"child": child.process_id, "residual": residual})
        self.show()
        return handle

    def _refused(self, residual: str, reason: str) -> None:
        self.state.refused_residuals = (*self.state.refused_residuals, residual)
        self.journal.note(EventKind.CHILD_REFUSED, {"residual": residual, "reason": reason})

    async def _follow(self, residual: str, handle: workflow.ChildWorkflowHandle[object, ProcessResult]) -> None:
        try:
            outcome = (await handle).outcome
        except ChildWorkflowError:  # terminated, or timed out in the Temporal UI
            outcome = Phase.FAILED
        self.state.ended_children[handle.id] = outcome.value
        self.journal.note(
            EventKind.CHILD_FINISHED, {"child": handle.id, "residual": residual, "outcome": outcome.value}
        )
        self.show()


def _search_attributes(child: ProcessInput) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(SearchAttribute.SCENE), child.scene or "-"),
            SearchAttributePair(SearchAttributeKey.for_int(SearchAttribute.DEPTH), child.depth),
            SearchAttributePair(SearchAttributeKey.for_keyword(SearchAttribute.ROOT), child.root),
        ]
    )
