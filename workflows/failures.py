"""What a failed step means for the process: an operator is needed, or infrastructure was away (docs/protocol.md §3.7)."""

from __future__ import annotations

from datetime import datetime

from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError

from tongyao.protocol.contracts.process import OPERATOR_NEEDED, STEP_FAILED
from tongyao.protocol.life.steps import Failure


def failure_of(key: str, error: ActivityError, began: datetime) -> Failure:
    """`error.cause` says why the last attempt failed. Its texts are ours: they hold no words of people."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type in (OPERATOR_NEEDED, STEP_FAILED):
        code = str(cause.details[0]) if cause.details else "operator_needed"
        return Failure("operator", code, cause.message, began)
    if isinstance(cause, TimeoutError):
        kind = cause.type.name.lower() if cause.type is not None else "time_out"
        return Failure("infrastructure", kind, f"step {key} did not answer in time ({kind})", began)
    code = cause.type or "unknown" if isinstance(cause, ApplicationError) else type(cause).__name__
    return Failure("infrastructure", code, f"step {key} failed: {code}", began)
