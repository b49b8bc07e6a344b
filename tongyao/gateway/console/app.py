"""The console as a separate application, mounted at `/console`. Its pages are modules in `routes`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, Unauthenticated, places_of
from tongyao.gateway.access.answered_problems import AnsweredProblems
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.console.live import Live
from tongyao.gateway.console.pages import SharedPage, environment, told, words
from tongyao.gateway.console.routes import enter, history, inbox, me, operators, plan, preparing, process, start
from tongyao.gateway.console.texts import Language, known, preferred
from tongyao.gateway.console.visit import BASE, LANGUAGE
from tongyao.gateway.problems import STATUS, HttpProblem
from tongyao.single_flight import SingleFlight

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
"""Headers of every answer. They forbid resources of other sites, inline scripts and inline styles."""
_OF_PAGES: Final = {**HEADERS, "Cache-Control": "no-store"}
PAGES: Final = (
    process.router, operators.call_routes, operators.codec_routes, plan.delivery_routes, enter.router, history.router, inbox.router, me.router,
    enter.openid_routes, operators.router, plan.router, preparing.router, me.standing_routes, start.router,
)  # fmt: skip
"""The most visited page is first, because routes are compared one after the other."""


def make_console(context: AppContext, rate_limits: RateLimits) -> FastAPI:
    """Return the console's application. It is not part of the OpenAPI document."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.context, app.state.rate_limits, app.state.live = context, rate_limits, Live(context)
    app.state.process_pages = SingleFlight[SharedPage]()
    for routes in PAGES:
        app.include_router(routes)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(AnsweredProblems, answer=_answer, headers=_headers)
    return app


def _headers(path: str) -> Mapping[str, str]:
    return HEADERS if path.startswith(f"{BASE}/static/") else _OF_PAGES


def _answer(request: Request, problem: Problem) -> Response:
    if isinstance(problem, Unauthenticated) and request.method == "GET":
        return RedirectResponse(f"{BASE}/enter", 303)
    status = problem.status if isinstance(problem, HttpProblem) else STATUS[type(problem)]
    language = preferred(request.cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return _page(request, status, problem.code, _told(problem, language))


def _told(problem: Problem, language: Language) -> str:
    """Return the text of an error page besides its heading; empty if the heading of this code is enough."""
    return "" if known(f"error.{problem.code}") else told(problem, language)


async def _not_valid(request: Request, error: Exception) -> Response:
    return _page(request, 422, "not_valid", "")


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _page(request, error.status_code, "no_such_page" if error.status_code == 404 else "bad_request", "")


async def _failed(request: Request, error: Exception) -> Response:
    log.error("page failed", path=request.url.path, error=type(error).__name__, at=places_of(error))
    response = _page(request, 500, "failed", "")
    response.headers.update(HEADERS)
    return response


def _page(request: Request, status: int, code: str, detail: str) -> HTMLResponse:
    """Return a page for an error. It needs no session and no records."""
    language = preferred(request.cookies.get(LANGUAGE), request.headers.get("accept-language"))
    made = environment().get_template("error.html")
    return HTMLResponse(
        made.render(**words(language), signed_in=None, path=request.url.path, code=code, detail=detail), status
    )
