"""One visit of a browser: caller, language, time zone; and the protection of forms against other sites (CSRF)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, Unauthenticated
from tongyao.gateway.access.authentication import SESSION
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.console.dates import zone
from tongyao.gateway.console.texts import Language, preferred
from tongyao.gateway.problems import HttpProblem
from tongyao.records.people.tokens import Token

BASE: Final = "/console"
LANGUAGE: Final = "tongyao_language"
ZONE: Final = "tongyao_zone"
_FORM_SECONDS: Final = 7 * 24 * 3600
_MOST_LINES: Final = 200
"""Limit of the values of a list field. Without it, half a million lines would be parsed before they are refused."""
_DOLLARS: Final = re.compile(r"\$? ?([0-9]{1,7}(?:[.,][0-9]{1,2})?)")
_FORM: Final = re.compile(r"(application/x-www-form-urlencoded(; ?charset=utf-8)?)?", re.IGNORECASE)
"""The type of every form of the console. A multipart form could name a codec whose decoder takes quadratic time."""


@dataclass
class Visit:
    """One request of a browser. `secret`: of the session, or random without a session. It signs the visit's forms."""

    request: Request
    context: AppContext
    caller: Caller
    token: Token | None
    secret: str
    language: Language
    place: tzinfo

    @property
    def signed_in(self) -> bool:
        return not self.caller.anonymous

    @property
    def reader(self) -> Hashable:
        """A key that is equal for visits with the same view: person, rights, language, zone, but not session."""
        caller = self.caller if self.caller.operator else replace(self.caller, id="", login="")
        return caller, self.language, self.place

    @property
    def limits(self) -> RateLimits:
        limits: RateLimits = self.request.app.state.rate_limits
        return limits

    async def count_registration(self) -> None:
        """Raises `HttpProblem` (429) above the limit of the visitor's address."""
        await self.limits.count_registration(self.caller, str(self.request.state.address))

    async def access(self, process_id: str, action: Action = Action.READ_PROCESS) -> ProcessAccess:
        """Call `authorize_in_process` for the visitor."""
        return await authorize_in_process(self.context.repositories, self.caller, process_id, action)

    def form_token(self) -> str:
        """Return the token of a form. Another site can neither read it nor make it."""
        return _signer(self.secret).dumps("form")


async def visit_of(request: Request) -> Visit:
    """Return the visit, and count the request. Raises `HttpProblem` (429) above the limit."""
    context: AppContext = request.app.state.context
    limits: RateLimits = request.app.state.rate_limits
    caller, token = request.state.session
    await limits.count_request(caller, str(request.state.address))
    return Visit(
        request=request,
        context=context,
        caller=caller,
        token=token,
        secret=request.cookies.get(SESSION, "") or secrets.token_urlsafe(24),
        language=preferred(request.cookies.get(LANGUAGE), request.headers.get("accept-language")),
        place=zone(request.cookies.get(ZONE)),
    )


async def signed_in(visit: Annotated[Visit, Depends(visit_of)]) -> Visit:
    """Return the visit of a visitor with a session. Raises `Unauthenticated`; then the sign-in page is shown."""
    if not visit.signed_in:
        raise Unauthenticated("session_over", "sign in with your personal link or a token")
    return visit


async def form_of(request: Request, visit: Annotated[Visit, Depends(visit_of)]) -> FormData:
    """Return the form of a request. Raises `HttpProblem` (403, 415) unless it comes from a page of the console."""
    if not _FORM.fullmatch(request.headers.get("content-type", "")):
        raise HttpProblem(415, "bad_request", "send a form as application/x-www-form-urlencoded, in UTF-8")
    form = await request.form()
    try:
        _signer(visit.secret).loads(_text(form, "form_token"), max_age=_FORM_SECONDS)
    except BadData:
        raise _foreign() from None
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise _foreign()
    return form


def keep(response: Response, visit: Visit, name: str, value: str, *, seconds: int | None = None) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=BASE,
        httponly=True,
        samesite="lax",
        secure=visit.request.url.scheme == "https" or visit.context.public_url.startswith("https:"),
    )


def text_in(form: FormData, name: str) -> str:
    """Return a field of a form, with `\\n` as line breaks. Empty if the field is missing."""
    return _text(form, name).replace("\r\n", "\n")


def dollars_in(form: FormData, name: str) -> str:
    """Return an amount in US dollars with a decimal point. Empty for an empty field. Raises `BadInput`."""
    written = text_in(form, name).strip()
    if not written:
        return ""
    if (amount := _DOLLARS.fullmatch(written)) is None:
        raise BadInput("no_amount", "write an amount in US dollars, like 5 or 2.50", field=name)
    return amount.group(1).replace(",", ".")


def lines_in(form: FormData, name: str) -> list[str]:
    """Return the lines of a field that are not blank. Raises `BadInput` if there are too many."""
    return _few(text_in(form, name).split("\n", _MOST_LINES), name)


def words_in(form: FormData, name: str) -> list[str]:
    """Return the words of a field, separated by spaces and commas. Raises `BadInput` if there are too many."""
    return _few(text_in(form, name).replace(",", " ").split(None, _MOST_LINES), name)


def _few(parts: list[str], name: str) -> list[str]:
    if len(parts) > _MOST_LINES:
        raise BadInput("too_many_lines", f"this has too many lines: at most {_MOST_LINES}", field=name)
    return [part for part in map(str.strip, parts) if part]


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _signer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt="tongyao.console.form")


def _foreign() -> HttpProblem:
    return HttpProblem(403, "form_expired", "this form is too old, or was not made here: load the page again")


AnyVisit = Annotated[Visit, Depends(visit_of)]
SignedIn = Annotated[Visit, Depends(signed_in)]
Form = Annotated[FormData, Depends(form_of)]
