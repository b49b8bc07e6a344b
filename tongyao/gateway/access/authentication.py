"""Authentication: the caller of a token or a session."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ANONYMOUS, Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import Unauthenticated
from tongyao.app.people.sessions import find_session
from tongyao.app.writing import check_token
from tongyao.records.people.tokens import Token
from tongyao.records.repositories import Repositories

SESSION: Final = "tongyao_session"
"""Name of the cookie with the secret of a console session."""
_PREFIX: Final = b"tongyao_"
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./+:-]{1,200}")


def bearer_token(authorization: str | None) -> str | None:
    """Return the token of an Authorization header (None without one). Raises `Unauthenticated` for other schemes."""
    if authorization is None:
        return None
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("token_unreadable", "send `Authorization: Bearer <token>`")
    return secret.strip()


async def authenticate(repositories: Repositories, secret: str | None) -> Caller:
    """Return the caller of this token (anonymous without a token). Raises `Unauthenticated` for an invalid token."""
    if not secret:
        return ANONYMOUS
    return caller_of(await repositories.tokens.find(secret))


async def session_of(context: AppContext, request: HTTPConnection) -> tuple[Caller, Token | None]:
    """Return the caller and the token of a request's session; the anonymous caller and None without a valid session."""
    secret = request.cookies.get(SESSION, "")
    if secret:
        token = await find_session(context, secret, place=place_of(request))
        with suppress(Unauthenticated):
            return caller_of(token), token
    return ANONYMOUS, None


def place_of(request: HTTPConnection) -> str:
    """Return the address that the browser uses for this installation: scheme and host."""
    return f"{request.scope['scheme']}://{request.headers.get('host', '')}"


def caller_of(token: Token | None) -> Caller:
    """Return the caller of this token. Raises `Unauthenticated` for None, and for an expired or revoked token."""
    token = check_token(token)
    return Caller(
        role=Role(token.role),
        person=token.person or "",
        process_id=token.process_id or "",
        alias=token.alias or "",
        id=token.id,
        login=token.name or token.id,
        step=token.step or "",
    )


def keep_own_cookies(scope: Scope) -> None:
    """Remove from the head of a request every cookie that the console does not set.

    The standard library unquotes a cookie's value. Before Python 3.11.10 and 3.12.6 this takes quadratic time
    (CVE-2024-7592), half a minute for 60 KB. The console's own values contain no quotation marks and no backslashes.
    """
    headers = scope["headers"]
    sent = b";".join(value for name, value in headers if name == b"cookie")
    if not sent:
        return
    kept = []
    for part in sent.split(b";"):
        name, _, value = part.strip().partition(b"=")
        if name.startswith(_PREFIX) and _PLAIN.fullmatch(name) and _PLAIN.fullmatch(value):
            kept.append(name + b"=" + value)
    rest = [(name, value) for name, value in headers if name != b"cookie"]
    scope["headers"] = [*rest, (b"cookie", b"; ".join(kept))] if kept else rest
