"""The HTTP API. Each resource is a module of this package. The OpenAPI document is made from these modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from html import escape
from typing import Any, Final

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, location, reason
from tongyao.gateway.access.addresses import KnownHosts, accepted_hosts
from tongyao.gateway.access.admission import CONSOLE, Admission
from tongyao.gateway.access.answered_problems import AnsweredProblems
from tongyao.gateway.access.body_limit import BodyLimit
from tongyao.gateway.access.codec_cors import CodecCors
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.api import calls, events, operations, processes, profiles
from tongyao.gateway.api.common import known_query
from tongyao.gateway.problems import HttpProblem, log_failure, problem_response
from tongyao.protocol.model.events import EventKind

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
        operations.router,
    ):
        app.include_router(routes, dependencies=[Depends(known_query)])
    app.include_router(operations.codec)
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


_ABOUT: Final = (
    "The actions of people and their agents in a process, over HTTP. docs/api.md explains them and contains a script that runs. "
    "Tokens begin with `ty_`. Errors are `application/problem+json`. A field whose value is null is left out."
)
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457. `code` is for programs, `detail` for people. Refusals of a process also have a Chinese text, `zh`.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "zh": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "With `not_valid`: each wrong place.",
            "items": {
                "type": "object",
                "properties": {"where": {"type": "string"}, "why": {"type": "string"}},
                "required": ["where", "why"],
            },
        },
    },
}
WITHOUT_TOKEN: Final = frozenset({"get /me", "get /scenes", "post /profiles"})
_KINDS: Final = "The kinds of events, and the keys of `data`. You get the keys that you may see:\n\n" + "\n".join(
    f"- `{kind.value}`: {kind.keys}" for kind in EventKind
)
_ANSWER: Final[dict[str, Any]] = {
    "description": "An error: 400, 401, 403, 404, 409, 413, 422, 429 (with `Retry-After`) or 503.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_STYLE: Final = "body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}code{overflow-wrap:anywhere}td{padding:.2rem .8rem .2rem 0;vertical-align:top}@media(max-width:40rem){td{display:block;padding:.2rem 0}td:first-child{margin-top:.6rem}}"


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of this application. It is made at the first call."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemas = made["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        for schema in schemas.values():
            _null_may_be_missing(schema)
        schemas["Problem"] = _PROBLEM
        schemas["EventKind"]["description"] = _KINDS
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                _correct(operation)
                open_to_all = f"{method} {path}" in WITHOUT_TOKEN
                operation["security"] = [{"token": []}, {}] if open_to_all else [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema


def _correct(operation: dict[str, Any]) -> None:
    parameters = [parameter for parameter in operation.get("parameters", ()) if parameter["name"] != "Authorization"]
    for parameter in parameters:
        if parameter["name"] == "Idempotency-Key":
            parameter["required"] = True
    operation["parameters"] = parameters
    operation["responses"].pop("422", None)
    operation["responses"]["default"] = _ANSWER


def _null_may_be_missing(schema: dict[str, Any]) -> None:
    required = schema.get("required")
    if required is None:
        return
    properties = schema.get("properties", {})
    kept = [name for name in required if {"type": "null"} not in properties.get(name, {}).get("anyOf", ())]
    schema["required"] = kept
    if not kept:
        del schema["required"]


def add_reference(app: FastAPI) -> None:
    """Serve the list of operations at `/docs`, on a page without scripts and without resources of other sites."""

    async def reference(request: Request) -> HTMLResponse:
        rows = [
            f"<tr><td><code>{escape(method.upper())} {escape(path)}</code></td>"
            f"<td>{escape(str(operation.get('description') or operation.get('summary', '')))}</td></tr>"
            for path, methods in app.openapi()["paths"].items()
            for method, operation in methods.items()
        ]
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tongyao API</title><style>{_STYLE}</style>'
            '<h1>Tongyao API</h1><p>Bodies and answers: <a href="/openapi.json">openapi.json</a>.</p>'
            f"<table>{''.join(rows)}</table></html>"
        )
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"})

    app.add_route("/docs", reference, include_in_schema=False)
