"""What the resources share: who asks, under which key, and which action of the table an operation is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request

from tongyao.gateway.auth import Caller, authenticate
from tongyao.gateway.gateway import Gateway
from tongyao.gateway.limiting import Limits
from tongyao.gateway.permissions import Action
from tongyao.gateway.problems import Unauthenticated


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
    gateway = gateway_of(request)
    caller = await authenticate(gateway.library, secret_of(authorization))
    limits: Limits = request.app.state.limits
    await limits.request(caller, address_of(request))
    return caller


def address_of(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def action(action: Action) -> dict[str, Any]:
    """Marks an operation in the OpenAPI document with its action: the tests hold the two tables together."""
    return {"x-tongyao-action": action.value}


Here = Annotated[Gateway, Depends(gateway_of)]
Who = Annotated[Caller, Depends(caller_of)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", max_length=200, description="Of your own making: the same key is the same request."
    ),
]
