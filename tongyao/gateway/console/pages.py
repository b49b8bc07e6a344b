"""Makes pages from templates, in the visitor's language and time zone."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from tongyao.app.action_permissions import Role
from tongyao.app.errors import Problem, Refused
from tongyao.gateway.access.authentication import SESSION
from tongyao.gateway.console import dates
from tongyao.gateway.console.texts import Language, known, say
from tongyao.gateway.console.visit import BASE, Visit, keep
from tongyao.protocol.documents.to_reader import called, to_reader
from tongyao.protocol.life.asks import does, whom
from tongyao.protocol.model.sizes import language_of, shortened

_TEMPLATES: Final = Path(__file__).parent / "templates"
_MARKDOWN: Final = MarkdownIt("zero").enable(
    ["heading", "list", "emphasis", "blockquote", "paragraph", "newline", "hr"]
)
"""Markdown of people and models: headings, lists, emphasis and quotes, without HTML, links and pictures."""


@cache
def environment() -> Environment:
    """Return the environment of the templates. It escapes values, and an undefined name is an error."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["markdown"] = markdown
    made.filters["called"] = called
    made.filters["whom"] = lambda ask, language: whom(ask.ask, ask.alias, language)
    made.filters["to_reader"] = _to_reader
    made.filters["shortened"] = shortened
    made.globals["base"] = BASE
    made.globals["does"] = does
    return made


def _to_reader(text: str, alias: str) -> str:
    """Return a text addressed to its reader (`to_reader`), in the language of the text, not of the page."""
    return to_reader(text, alias, language_of(text))


def markdown(text: str) -> Markup:
    """Return Markdown of a person or a model as safe HTML. Its headings become `h3`, below those of the page."""
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3"
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


class SharedPage:
    """A page for all readers with the same view. `of` fills in the values of one reader."""

    def __init__(self, html: str, mark: str) -> None:
        """`mark`: a random text before every place for a reader's value. Authors of texts on the page cannot know
        it."""
        self._first, *self._parts = html.split(mark)

    def of(self, visit: Visit, *, status: int = 200) -> HTMLResponse:
        """Return the page of this visitor. Each form gets its own idempotency key."""
        until = visit.token.expires_at if visit.token else None
        own: dict[str, Callable[[], str]] = {
            "form_token": cache(visit.form_token),
            "new_key": lambda: secrets.token_urlsafe(16),
            "signed_in_until": lambda: _signed_in_until(visit, until) if until else "",
        }
        filled = [self._first]
        for part in self._parts:
            name, _, rest = part.partition(";")
            filled += [own[name](), rest]
        response = HTMLResponse("".join(filled), status)
        if not visit.signed_in and visit.request.cookies.get(SESSION) != visit.secret:
            keep(response, visit, SESSION, visit.secret)  # the visit has no session; the secret signs its forms
        return response


def _signed_in_until(visit: Visit, until: datetime) -> str:
    return str(escape(say(visit.language, "base.signed_in_until", at=dates.moment(until, visit.language, visit.place))))


def shared_page(visit: Visit, template: str, /, **values: Any) -> SharedPage:
    """Return the page for all visits with the same `Visit.reader`."""
    mark = secrets.token_hex(16)
    blanks = {
        "form_token": lambda: f"{mark}form_token;",
        "new_key": lambda: f"{mark}new_key;",
        "signed_in_until": f"{mark}signed_in_until;",
    }
    made = environment().get_template(template)
    return SharedPage(made.render(**words(visit.language), **_of(visit), **blanks, **values), mark)


def page(visit: Visit, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page of this visitor. With a `problem` in `values`, the status is 409 or 422."""
    if (problem := values.get("problem")) is not None:
        status = 409 if isinstance(problem, Refused) else 422
    return shared_page(visit, template, visit=visit, **values).of(visit, status=status)


def words(language: Language) -> dict[str, Any]:
    """Return the values for texts in templates: `t('page.key')`, `known('page.key')`, the `gap` between two sentences,
    and the `language` of the document."""
    return {"t": partial(say, language), "known": known, "gap": "" if language == "zh" else " ", "language": language}


def _of(visit: Visit) -> dict[str, Any]:
    def with_date(made: Callable[..., str]) -> Callable[[datetime | str], str]:
        return lambda at: made(at, visit.language, visit.place)

    return {
        "signed_in": visit.signed_in,
        "operator": visit.caller.operator,
        "delegates": visit.context.delegates,
        "answerer": visit.caller.role is Role.ANSWERER,
        "moment": with_date(dates.moment),
        "day": with_date(dates.day),
        "duration": lambda seconds: dates.duration(seconds, visit.language),
        "path": visit.request.url.path,
    }


def told(problem: Problem, language: Language) -> str:
    """Return the message of a problem: the console's text for its code, otherwise the message of the problem itself."""
    if known(f"problem.{problem.code}"):
        return say(language, f"problem.{problem.code}")
    chinese = problem.details.get("zh")
    return str(chinese) if language == "zh" and chinese else str(problem)


def go_to(path: str) -> RedirectResponse:
    """Redirect to a page after a form. `path` is below the console's base and begins with a slash."""
    return RedirectResponse(BASE + path, 303)


def in_temporal(ui: str, process: str, run: str = "") -> str:
    """Return the address of a workflow in Temporal's Web UI. Empty if the address of the UI is not set."""
    if not ui:
        return ""
    return f"{ui}/{quote(process, safe='')}" + (f"/{quote(run, safe='')}/history" if run else "")
