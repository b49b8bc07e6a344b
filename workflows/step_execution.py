"""Execution of steps: queues, timeouts, retries, conversion of failures, and the start of a child (docs/operations.md
§4).

An activity is retried for about a minute. Then the failure is passed to the state machine. The state machine suspends
the process, and retries failures of infrastructure later. Errors that must not be retried are raised as non-retryable.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.common import (
    Priority,
    RetryPolicy,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,
    TimeoutType,
    WorkflowAlreadyStartedError,
)
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from tongyao.protocol.contracts.process import (
    CRYSTALLIZATION,
    DELIVER,
    DISCOVER,
    FORMULATE,
    OPERATOR_NEEDED,
    PROCESS_QUEUE,
    QUEUE_PATIENCE,
    ROLES,
    STEP_FAILED,
    ActivityContract,
    ActivityInput,
    ModelActivity,
    ProcessInput,
    ProcessResult,
    ProjectInput,
    Readable,
    SearchAttribute,
    queue_of,
    start_worker,
)
from tongyao.protocol.life.state import StepFailure, WantedStep
from tongyao.protocol.model.process_settings import ProcessSettings

HEARTBEAT: Final = timedelta(seconds=15)
"""Time after which a dead worker is noticed. Model activities send heartbeats every few seconds."""


SOMEBODY_WAITS: Final = 2
ROUND: Final = 3
"""Temporal's default priority."""
PROXIES: Final = 4


def _priority(contract: ActivityContract[Any, Any], given: ActivityInput) -> int:
    """Return the priority, from 1 (first) to 5 (docs/operations.md §8). Steps for which a person waits now are first:
    formulation, search, words of people, delivery. Then come steps for which a round waits. The calls of proxies are
    last."""
    if contract in (FORMULATE, DISCOVER, DELIVER):
        return SOMEBODY_WAITS
    if isinstance(given, ProjectInput):
        return SOMEBODY_WAITS if any(turn.submissions for turn in given.turns) else PROXIES
    return ROUND


def options_of(step: WantedStep, settings: ProcessSettings) -> dict[str, Any]:
    """Return keyword arguments of `workflow.execute_activity` for a step, including the task queue of its role."""
    contract = step.contract
    queue = queue_of(contract)
    shared: dict[str, Any] = {
        "task_queue": queue,
        "priority": Priority(priority_key=_priority(contract, step.input)),  # the fairness key is that of the process
        "schedule_to_start_timeout": None if queue == PROCESS_QUEUE else QUEUE_PATIENCE,
    }
    if isinstance(contract, ModelActivity):
        return shared | {
            "start_to_close_timeout": timedelta(seconds=contract.step.activity_seconds(settings.proxy_seconds)),
            "heartbeat_timeout": HEARTBEAT,
            "retry_policy": RetryPolicy(
                initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=20), maximum_attempts=6
            ),
        }
    return shared | {
        "start_to_close_timeout": timedelta(seconds=30),
        "retry_policy": RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10), maximum_attempts=11
        ),
    }


def failure_of(key: str, error: ActivityError, began: datetime, queue: str) -> StepFailure:
    """Convert the failure of an activity. `queue`: the task queue of the step. The reason contains no words of people,
    because this code base writes all messages of `error.cause`."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type in (OPERATOR_NEEDED, STEP_FAILED):
        code = str(cause.details[0]) if cause.details else "operator_needed"
        return StepFailure("operator", code, cause.message, began)
    if isinstance(cause, TimeoutError):
        kind = cause.type.name.lower() if cause.type is not None else "time_out"
        reason = f"step {key} did not answer in time ({kind})"
        if cause.type is TimeoutType.SCHEDULE_TO_START:
            role = ROLES[queue]
            reason = f"no worker of the role {role} took step {key} (task queue {queue}): {start_worker(role)}"
        return StepFailure("infrastructure", kind, reason, began)
    code = cause.type or "unknown" if isinstance(cause, ApplicationError) else type(cause).__name__
    return StepFailure("infrastructure", code, f"step {key} failed: {code}", began)


async def start_child(child: ProcessInput) -> None:
    """Start the workflow of an announced child, unless an earlier attempt, the sweep, or an earlier run started it."""
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
