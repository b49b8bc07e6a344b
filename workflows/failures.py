"""Sorts failures of steps into two kinds: an operator is needed, or infrastructure failed (docs/protocol.md §3.7)."""

from __future__ import annotations

from datetime import datetime

from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType

from tongyao.protocol.contracts.process import OPERATOR_NEEDED, ROLES, STEP_FAILED, start_worker
from tongyao.protocol.life.steps import Failure


def failure_of(key: str, error: ActivityError, began: datetime, queue: str) -> Failure:
    """`queue`: where the step waited for a worker. `error.cause` says why the last attempt failed. Its texts are ours: they hold no words of people."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type in (OPERATOR_NEEDED, STEP_FAILED):
        code = str(cause.details[0]) if cause.details else "operator_needed"
        return Failure("operator", code, cause.message, began)
    if isinstance(cause, TimeoutError):
        kind = cause.type.name.lower() if cause.type is not None else "time_out"
        reason = f"step {key} did not answer in time ({kind})"
        if cause.type is TimeoutType.SCHEDULE_TO_START:
            role = ROLES[queue]
            reason = f"no worker of the role {role} took step {key} (task queue {queue}): {start_worker(role)}"
        return Failure("infrastructure", kind, reason, began)
    code = cause.type or "unknown" if isinstance(cause, ApplicationError) else type(cause).__name__
    return Failure("infrastructure", code, f"step {key} failed: {code}", began)
