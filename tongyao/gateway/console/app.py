"""The console as an application of its own, mounted at `/console`: its pages are modules in `routes`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, Unauthenticated, problem_of
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.console.live import Live
from tongyao.gateway.console.pages import environment, told, words
from tongyao.gateway.console.routes import (
    codec,
    delivery,
    enter,
    history,
    inbox,
    me,
    operators,
    plan,
    preparing,
    process,
    start,
)
from tongyao.gateway.console.texts import Language, known, preferred
from tongyao.gateway.console.visit import BASE, LANGUAGE
from tongyao.gateway.problems import STATUS, HttpProblem

log = structlog.get_logger()

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Of every answer. Nothing is loaded from elsewhere, and nothing in a page's own text is a script or a style."""
PAGES: Final = (codec, delivery, enter, history, inbox, me, operators, plan, preparing, process, start)


def make_console(context: AppContext, rate_limits: RateLimits) -> FastAPI:
    """The console's application. It is not part of the API's document."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.context, app.state.rate_limits, app.state.live = context, rate_limits, Live(context)
    for page in PAGES:
        app.include_router(page.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)
    app.middleware("http")(_guarded)
    return app


async def _guarded(request: Request, call_next: Callable[[Request], Any]) -> Response:
    """Answers expected errors with a page, and adds the headers."""
    try:
        response: Response = await call_next(request)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        response = _answer(request, problem)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if not request.url.path.startswith(f"{BASE}/static/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def _answer(request: Request, problem: Problem) -> Response:
    if isinstance(problem, Unauthenticated) and request.method == "GET":
        return RedirectResponse(f"{BASE}/enter", 303)
    status = problem.status if isinstance(problem, HttpProblem) else STATUS[type(problem)]
    language = preferred(request.cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return _page(request, status, problem.code, _told(problem, language))


def _told(problem: Problem, language: Language) -> str:
    """What the page says besides its heading; nothing where the heading of this code says it all."""
    return "" if known(f"error.{problem.code}") else told(problem, language)


async def _not_valid(request: Request, error: Exception) -> Response:
    return _page(request, 422, "not_valid", "")


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _page(request, error.status_code, "no_such_page" if error.status_code == 404 else "bad_request", "")


async def _failed(request: Request, error: Exception) -> Response:
    log.error("page failed", path=request.url.path, error=type(error).__name__)
    response = _page(request, 500, "failed", "")
    response.headers.update(HEADERS)
    return response


def _page(request: Request, status: int, code: str, detail: str) -> HTMLResponse:
    """A page for an error; it needs no session and no records."""
    language = preferred(request.cookies.get(LANGUAGE), request.headers.get("accept-language"))
    made = environment().get_template("error.html")
    return HTMLResponse(
        made.render(**words(language), visit=None, path=request.url.path, code=code, detail=detail), status
    )
