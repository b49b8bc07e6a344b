"""The HTTP API: every resource is a module beside this one; the OpenAPI document is made from them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tongyao.app.context import Gateway
from tongyao.app.problems import Problem, problem_of, why
from tongyao.gateway.access.body_limit import BodyLimit
from tongyao.gateway.access.rate_limits import Limits
from tongyao.gateway.api import (
    channels,
    events,
    inbox,
    messages,
    pictures,
    processes,
    profiles,
    scenes,
    sources,
    tokens,
)
from tongyao.gateway.api.common import answer

log = structlog.get_logger()

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def make_app(gateway: Gateway, *, lifespan: Lifespan | None = None) -> FastAPI:
    """The application over one gateway."""
    app = FastAPI(title="Tongyao", version="1", lifespan=lifespan, description=__doc__)
    app.state.gateway = gateway
    app.state.limits = Limits(gateway.options)
    for resource in (scenes, profiles, channels, sources, processes, pictures, messages, inbox, events, tokens):
        app.include_router(resource.router)
    app.add_exception_handler(Exception, _failed)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.middleware("http")(_problems)
    app.add_middleware(BodyLimit, most=gateway.options.max_body_bytes)
    return app


async def _problems(request: Request, call_next: Callable[[Request], Any]) -> Any:
    """Errors on purpose become problems here, before anything counts them as failures."""
    try:
        return await call_next(request)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        return answer(problem)


async def _not_valid(request: Request, error: Exception) -> JSONResponse:
    """Where and why; what was sent is not repeated."""
    assert isinstance(error, RequestValidationError)
    wrong = [
        {"where": ".".join(_printable(str(part)) for part in one["loc"]), "why": _printable(why(one))}
        for one in error.errors()
    ]
    detail = "; ".join(f"{one['where']}: {one['why']}" for one in wrong[:3])
    return answer(Problem("not_valid", detail, status=422, errors=wrong[:20]))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code, detail = {
        404: ("no_such_place", "there is nothing at this path: /docs lists what there is"),
        405: ("method_not_allowed", "this path does not take this method: /docs lists what it takes"),
    }.get(error.status_code, ("bad_request", str(error.detail)))
    response = answer(Problem(code, detail, status=error.status_code))
    response.headers.update(error.headers or {})
    return response


async def _failed(request: Request, error: Exception) -> JSONResponse:
    log.error("request failed", path=request.url.path, error=type(error).__name__)
    return answer(Problem("failed", "something failed here that should not have; it is in the log", status=500))


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
