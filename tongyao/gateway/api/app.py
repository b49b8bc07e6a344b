"""The HTTP API. Each resource is a module of this package. The OpenAPI document is made from these modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, location, reason
from tongyao.gateway.access.addresses import KnownHosts, accepted_hosts
from tongyao.gateway.access.admission import CONSOLE, Admission
from tongyao.gateway.access.answered_problems import AnsweredProblems
from tongyao.gateway.access.body_limit import BodyLimit
from tongyao.gateway.access.codec_cors import CodecCors
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.api import calls, events, processes, profiles
from tongyao.gateway.api.common import known_query
from tongyao.gateway.api.openapi_document import add_reference, document
from tongyao.gateway.problems import HttpProblem, log_failure, problem_response

_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def make_app(context: AppContext, *, limits: RateLimits | None = None, lifespan: Lifespan | None = None) -> FastAPI:
    """Return the API as an ASGI application. `limits`: those shared with MCP and the console."""
    app = FastAPI(title="Tongyao", version="1", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.openapi = partial(document, app)  # type: ignore[method-assign]  # as FastAPI documents it
    add_reference(app)
    app.state.context = context
    app.state.rate_limits = limits or RateLimits(context.options)
    for routes in (
        profiles.scene_routes,
        profiles.router,
        profiles.channel_routes,
        processes.router,
        processes.standing_routes,
        processes.picture_routes,
        processes.message_routes,
        events.router,
        profiles.token_routes,
        calls.router,
        calls.operation_routes,
    ):
        app.include_router(routes, dependencies=[Depends(known_query)])
    app.include_router(calls.codec)
    app.add_exception_handler(Exception, _failed)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(AnsweredProblems, answer=_answer, headers=_headers)
    app.add_middleware(BodyLimit, options=context.options)
    app.add_middleware(Admission, context=context, limits=app.state.rate_limits)
    app.add_middleware(CodecCors, temporal_ui=context.temporal_ui)
    app.add_middleware(KnownHosts, hosts=accepted_hosts(context.public_url, context.gateway_host))
    return app


def _answer(request: Request, problem: Problem) -> JSONResponse:
    return problem_response(problem)


def _headers(path: str) -> Mapping[str, str]:
    """Return headers that forbid caching, because an answer may contain a token. The console sets its own headers."""
    return {} if path.startswith(CONSOLE) else _HEADERS


async def _not_valid(request: Request, error: Exception) -> JSONResponse:
    """Answer 422 with the places and reasons of the faults. The answer does not repeat the input."""
    assert isinstance(error, RequestValidationError)
    wrong = [{"where": location(fault), "why": reason(fault)} for fault in error.errors()[:20]]
    detail = "; ".join(f"{fault['where']}: {fault['why']}" for fault in wrong[:3])
    return problem_response(HttpProblem(422, "not_valid", detail, errors=wrong))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code, detail = {
        404: ("no_such_place", "nothing is at this path: /docs lists the paths"),
        405: ("method_not_allowed", "this path does not accept this method: /docs lists its methods"),
    }.get(error.status_code, ("bad_request", str(error.detail)))
    return problem_response(HttpProblem(error.status_code, code, detail, headers=error.headers))


async def _failed(request: Request, error: Exception) -> JSONResponse:
    return problem_response(HttpProblem(500, "failed", log_failure("request failed", error, path=request.url.path)))
