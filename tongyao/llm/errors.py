"""Failures of an engine, and the effect of each on the process.

Only this module maps failures of a service to outcomes (`of_failure`; docs/models.md, the table of errors). It needs no
client library, so activities may import it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tongyao.llm.engine import Usage


class EngineError(Exception):
    """Base class of all errors in this module. `reason`: a code for the ledger and the events, never a person's text.

    `usage`, `cost` and `model` describe the failed call, because it must be paid too.
    """

    reason = "engine_error"
    usage: Usage = Usage()
    cost: Decimal = Decimal(0)
    model: str = ""


class OperatorNeeded(EngineError):
    """Only an operator can remove the cause of the failure (expired key, no credit, no server). The process is
    suspended."""

    reason = "operator_needed"


class DayBudgetUsed(EngineError):
    """The day budget is used up, so the call was not made. The process is suspended and retries automatically."""

    reason = "day_budget"


class Transient(EngineError):
    """The call may succeed later. The number of retries is limited. `retry_after`: seconds, if stated by the server."""

    reason = "transient"

    def __init__(self, message: str, *, retry_after: float | None = None, reason: str = "transient") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.reason = reason


class AnswerPending(EngineError):
    """An answerer will answer the call later. The step is parked, and runs again when the answer has arrived.

    `request`: the request for the answerer as JSON (`tongyao.llm.delegated`); empty if the call is already waiting.
    `tokens`: estimated length of the request. `calls`: ids of the waiting calls, once they are known.
    """

    reason = "answer_pending"

    def __init__(self, request: str = "", *, tokens: int = 0, calls: tuple[str, ...] = ()) -> None:
        super().__init__(f"the step waits for an answer from outside: {', '.join(calls)}")
        self.request, self.tokens, self.calls = request, tokens, calls


class StepFailed(EngineError):
    """This request fails each time it is repeated. The error's text states the remedy."""

    reason = "step_failed"


class OutOfBudget(EngineError):
    """The call was not made, because the tree's budget does not cover it. For the workflow this is data."""

    reason = "out_of_budget"


class ModelRefused(StepFailed):
    """The model declined to answer. Operators see the name of this class."""

    reason = "refused"


class Unreadable(EngineError):
    """The answer does not have the required structure. `text`: the answer, for one repair call and for fallbacks."""

    reason = "unreadable"

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text


class Cut(Unreadable):
    """The answer ended at the token limit, also in the retry with twice the limit. It is never used as a whole answer."""

    reason = "cut"


@dataclass(frozen=True)
class Failure:
    """A service's error response. `kind` and `code`: from the service's fixed lists. `message`: free text."""

    status: int
    kind: str = ""
    code: str = ""
    message: str = ""
    retry_after: float | None = None
    request_id: str = ""


OPERATOR, RETRY, FAIL = "operator", "retry", "fail"

STATUSES: Final[dict[int, tuple[str, str, str]]] = {
    400: (FAIL, "bad_request", "the service refuses this request: correct the parameter that it names"),
    401: (OPERATOR, "unauthorized", "the key is missing or expired: set it (for Claude ANTHROPIC_API_KEY), then resume"),
    402: (OPERATOR, "no_credit", "no credit or a billing problem at the service: solve it there, then resume"),
    403: (OPERATOR, "forbidden", "the key may not use this model: give it the permission, then resume"),
    404: (OPERATOR, "not_found", "no such model or address: correct the setting, then resume"),
    408: (RETRY, "timeout", "the service stopped waiting for the request"),
    409: (RETRY, "conflict", "the service reported a conflict"),
    413: (FAIL, "too_large", "the request is too large: choose a model with a larger context window, or shorten the profiles"),
    422: (FAIL, "bad_request", "the service refuses this request in this form"),
    425: (RETRY, "too_early", "the service asks for a later retry"),
    429: (RETRY, "rate_limited", "the rate limit is reached"),
    504: (RETRY, "timeout", "the service timed out"),
    529: (RETRY, "overloaded", "the service is overloaded"),
}  # fmt: skip
"""Status → (outcome, reason in the ledger, remedy). Other 5xx are retried; all other statuses fail."""

STATUS_OF_KIND: Final[dict[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Error kind → HTTP status, for errors within a stream that began with status 200."""

_OPERATOR_CODES: Final = (
    "spend_limit",
    "billing",
    "on_hold",
    "not_billable",
    "cmek_key_disabled",
    "network_blocked",
)
_OPERATOR_WORDS: Final = (
    "credit balance",
    "usage limits",
    "spend limit",
    "spending limit",
    "insufficient credit",
)
"""Words that mean an empty account. Some services report it as 400 or 429, and a retry does not help."""


def of_failure(failure: Failure) -> EngineError:
    """The error for `failure`. Its message is Tongyao's own. The caller adds the service's message if that is safe."""
    status = failure.status if failure.status >= 400 else STATUS_OF_KIND.get(failure.kind, failure.status)
    if status >= 500 and status not in STATUSES:
        outcome, reason, advice = RETRY, "server_error", "the service failed"
    else:
        outcome, reason, advice = STATUSES.get(status, (FAIL, "bad_request", "the service refuses this request"))
    words = failure.message.lower()
    if any(code in failure.code for code in _OPERATOR_CODES) or (
        status in (400, 403, 429) and any(word in words for word in _OPERATOR_WORDS)
    ):
        outcome, reason, advice = OPERATOR, "no_credit", STATUSES[402][2]
    seen = ", ".join(filter(None, (f"status {status}" if status else "", failure.kind, failure.code)))
    message = f"{advice} ({seen or 'no status'}{f', request {failure.request_id}' if failure.request_id else ''})"
    if outcome == RETRY:
        return Transient(message, retry_after=failure.retry_after, reason=reason)
    error: EngineError = OperatorNeeded(message) if outcome == OPERATOR else StepFailed(message)
    error.reason = reason
    return error
