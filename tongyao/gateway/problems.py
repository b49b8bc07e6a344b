"""HTTP answers for problems: `application/problem+json` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

import structlog
from fastapi.responses import JSONResponse

from tongyao.app.calls import CallRefused
from tongyao.app.errors import (
    BadIdempotencyKey,
    BadInput,
    Conflict,
    Gone,
    NotAllowed,
    NotFound,
    NotOffered,
    NotSignedIn,
    Problem,
    QuotaReached,
    Refused,
    Unauthenticated,
    Unavailable,
    places_of,
)

log = structlog.get_logger()

STATUS: Final[Mapping[type[Problem], int]] = {
    BadIdempotencyKey: 400,
    Unauthenticated: 401,
    NotAllowed: 403,
    NotSignedIn: 403,
    NotFound: 404,
    Conflict: 409,
    Refused: 409,
    CallRefused: 409,
    QuotaReached: 409,
    Gone: 410,
    BadInput: 422,
    NotOffered: 501,
    Unavailable: 503,
}


def log_failure(event: str, error: BaseException, **where: str) -> str:
    """Log an unexpected error without its text. Return the message for the caller, with the id under which it was logged."""
    id = uuid4().hex[:8]
    log.error(event, id=id, error=type(error).__name__, at=places_of(error), **where)
    return f"an internal error occurred. The log has the details (id {id})"


class HttpProblem(Problem):
    """A problem of the HTTP request itself."""

    def __init__(
        self, status: int, code: str, message: str, /, *, headers: Mapping[str, str] | None = None, **details: Any
    ) -> None:
        super().__init__(code, message, **details)
        self.status = status
        self.headers = dict(headers or {})


def problem_response(problem: Problem) -> JSONResponse:
    if isinstance(problem, HttpProblem):
        status, headers = problem.status, problem.headers
    else:
        status = STATUS[type(problem)]
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    body = {
        "type": f"urn:tongyao:problem:{problem.code}",
        "title": problem.code.replace("_", " "),
        "status": status,
        "code": problem.code,
        "detail": str(problem),
        **problem.details,
    }
    return JSONResponse(body, status, headers, media_type="application/problem+json")
