"""Dependencies of the routes: the context, the caller, the idempotency key, the check of query parameters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.dependencies.models import Dependant

from tongyao.app import authorization
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.problems import HttpProblem


def _context_of(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


async def _caller_of(
    request: Request, _: Annotated[str | None, Header(alias="Authorization")] = None
) -> authorization.Caller:
    """Return the caller that `Admission` found. Raises the problem of an invalid token."""
    caller: authorization.Caller | Problem = request.state.caller
    if isinstance(caller, Problem):
        raise caller
    return caller


def rate_limits_of(request: Request) -> RateLimits:
    limits: RateLimits = request.app.state.rate_limits
    return limits


def address_of(request: Request) -> str:
    """Return the key of the client (`ClientAddresses.of`)."""
    return str(request.state.address)


Context = Annotated[AppContext, Depends(_context_of)]
Caller = Annotated[authorization.Caller, Depends(_caller_of)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="A key that you choose. Requests with the same key count as one request.",
    ),
]


async def known_query(request: Request, _: Caller) -> None:
    """Raise `HttpProblem` (422) for unknown query parameters, after the problem of an invalid token was raised."""
    known = _query_of(request.scope["route"].dependant)
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if unknown:
        there_are = f"unknown parameter; the parameters are: {', '.join(sorted(known))}"
        why = there_are if known else "this operation takes no query parameters"
        wrong = [{"where": f"query.{name[:100]}", "why": why} for name in unknown[:20]]
        raise HttpProblem(422, "not_valid", f"{wrong[0]['where']}: {why}", errors=wrong)


def _query_of(dependant: Dependant) -> set[str]:
    own = {field.alias for field in dependant.query_params}
    return own.union(*(_query_of(dependency) for dependency in dependant.dependencies))
