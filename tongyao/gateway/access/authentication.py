"""From a token to a caller."""

from __future__ import annotations

from typing import Final

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ANONYMOUS, Caller
from tongyao.app.errors import Unauthenticated
from tongyao.records.people.tokens import Token
from tongyao.records.repositories import Repositories

_NEW_ONE: Final = "an operator makes a new one on the machine (`tongyao token create`)"
SESSION: Final = "tongyao_session"
"""The cookie of a session of the console."""


def bearer_token(authorization: str | None) -> str | None:
    """The token of an Authorization header; None without a header. Raises `Unauthenticated` for other schemes."""
    if authorization is None:
        return None
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("token_unreadable", "send `Authorization: Bearer <token>`")
    return secret.strip()


async def authenticate(repositories: Repositories, secret: str | None) -> Caller:
    """The caller with this token; without one, the anonymous caller. Raises `Unauthenticated` for an invalid token."""
    if not secret:
        return ANONYMOUS
    return caller_of(await repositories.tokens.find(secret))


def caller_of(token: Token | None) -> Caller:
    """The caller whom this token stands for. Raises `Unauthenticated` when there is none, or it is no longer good."""
    if token is None:
        raise Unauthenticated("token_unknown", "this token is not known here: check that it is whole")
    if token.revoked_at is not None:
        raise Unauthenticated("token_revoked", f"this token was revoked: {_NEW_ONE}")
    if token.expired:
        raise Unauthenticated("token_expired", f"this token has expired: {_NEW_ONE}")
    return Caller(
        role=Role(token.role),
        person=token.person or "",
        process_id=token.process_id or "",
        alias=token.alias or "",
        id=token.id,
        login=token.label or token.id,
    )
