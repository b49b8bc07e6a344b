"""What the resources share: who asks, under which key, and which action of the table an operation is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.responses import JSONResponse

from tongyao.app.authorization import Caller
from tongyao.app.context import Gateway
from tongyao.app.permissions import Action
from tongyao.app.problems import Problem, Unauthenticated
from tongyao.gateway.access.rate_limits import Limits, TooOften


def gateway_of(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def secret_of(authorization: str | None) -> str | None:
    """The token in an Authorization header. Raises `Unauthenticated` for other schemes."""
    if authorization is None:
        return None
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("token_unreadable", "send `Authorization: Bearer <token>`")
    return secret.strip()


async def caller_of(request: Request, authorization: Annotated[str | None, Header()] = None) -> Caller:
    limits: Limits = request.app.state.limits
    return await limits.identify(gateway_of(request).library, secret_of(authorization), address_of(request))


def address_of(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def action(action: Action) -> dict[str, Any]:
    """Marks an operation in the OpenAPI document with its action: the tests hold the two tables together."""
    return {"x-tongyao-action": action.value}


def answer(problem: Problem) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    if isinstance(problem, TooOften):
        headers["Retry-After"] = str(problem.retry_after)
    return JSONResponse(problem.body(), problem.status, headers, media_type="application/problem+json")


Here = Annotated[Gateway, Depends(gateway_of)]
Who = Annotated[Caller, Depends(caller_of)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", max_length=200, description="Of your own making: the same key is the same request."
    ),
]
