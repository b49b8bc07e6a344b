"""Dependencies of the routes: the context, the caller, the idempotency key; and the mark of an operation's action."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request

from tongyao.app import authorization
from tongyao.app.action_permissions import Action
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.gateway.access.rate_limits import RateLimits


def _context_of(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


async def _caller_of(
    request: Request, _: Annotated[str | None, Header(alias="Authorization")] = None
) -> authorization.Caller:
    """As `Admission` found them, before the body was read."""
    caller: authorization.Caller | Problem = request.state.caller
    if isinstance(caller, Problem):
        raise caller
    return caller


def rate_limits_of(request: Request) -> RateLimits:
    limits: RateLimits = request.app.state.rate_limits
    return limits


def address_of(request: Request) -> str:
    """The network address of the client, as it is counted."""
    return str(request.state.address)


def action(action: Action) -> dict[str, Any]:
    """Marks an operation in the OpenAPI document with its action: tests compare it with the table of permissions."""
    return {"x-tongyao-action": action.value}


Context = Annotated[AppContext, Depends(_context_of)]
Caller = Annotated[authorization.Caller, Depends(_caller_of)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", max_length=200, description="Of your own making: the same key is the same request."
    ),
]
