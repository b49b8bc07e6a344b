"""Starts a child process, which runs independently and reports its end by a message (docs/protocol.md §3.6)."""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from tongyao.protocol.contracts.process import CRYSTALLIZATION, ProcessInput, ProcessResult, SearchAttribute
from tongyao.protocol.contracts.readable import Readable


async def start_child(child: ProcessInput) -> None:
    """Start the workflow of an announced child. One that runs, or has ended, was started by an earlier try, by the sweep, or before a reset."""
    try:
        await workflow.start_child_workflow(
            CRYSTALLIZATION,
            child,
            id=child.process_id,
            result_type=ProcessResult,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            parent_close_policy=ParentClosePolicy.ABANDON,
            cancellation_type=ChildWorkflowCancellationType.ABANDON,
            search_attributes=_search_attributes(child),
            static_summary=Readable(child.summary),
        )
    except WorkflowAlreadyStartedError:
        workflow.logger.info("child was started already", extra={"child": child.process_id})


def _search_attributes(child: ProcessInput) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(SearchAttribute.SCENE), child.scene or "-"),
            SearchAttributePair(SearchAttributeKey.for_int(SearchAttribute.DEPTH), child.depth),
            SearchAttributePair(SearchAttributeKey.for_keyword(SearchAttribute.ROOT), child.root),
        ]
    )
