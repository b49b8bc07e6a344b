"""Common parts of the MCP tools: types of arguments, authentication, and conversion of answers to JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from tongyao.app.authorization import ANONYMOUS, Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import Unauthenticated
from tongyao.gateway.access.authentication import authenticate, bearer_token
from tongyao.gateway.access.rate_limits import RateLimits

Token = Annotated[
    str, Field(description="Your token, as `join` gave it; leave it out when the client is configured with one.")
]
Key = Annotated[
    str, Field(description="A key of your own making; the same key again is the same request, so repeating is safe.")
]
Scene = Annotated[str, Field(description="The id of a scene, as `scenes` lists it.")]
ProcessId = Annotated[str, Field(description="The id of the process.")]


class Callers:
    """Authenticates the callers of tools. `default_token`: the token of calls that contain none (stdio)."""

    def __init__(self, context: AppContext, *, default_token: str = "", limits: RateLimits | None = None) -> None:
        self._library, self._default_token = context.repositories, default_token
        self._limits = limits or RateLimits(context.options)

    async def authenticate(self, token: str, ctx: Context) -> Caller:
        """Return the caller of the call's token, else of its header, else of the default token. Raises `Problem`."""
        admitted = getattr(_state(ctx), "caller", None)  # over HTTP, `Admission` has counted the request by its header
        if not token and isinstance(admitted, Caller) and not admitted.anonymous:
            return admitted
        secret = token or bearer_token((ctx.headers or {}).get("authorization")) or self._default_token
        try:
            caller = await authenticate(self._library, secret)
        except Unauthenticated:
            await self._limits.count_request(ANONYMOUS, address_of(ctx))
            raise
        await self._limits.count_request(caller, address_of(ctx))
        return caller

    async def count_registration(self, caller: Caller, ctx: Context) -> None:
        """Raises `Problem` above the limit."""
        await self._limits.count_registration(caller, address_of(ctx))

    async def count_search(self, caller: Caller) -> None:
        """Raises `Problem` above the limit."""
        await self._limits.count_search(caller)


def as_json(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)


def all_as_json(models: Iterable[BaseModel]) -> list[dict[str, Any]]:
    return [as_json(model) for model in models]


def address_of(ctx: Context) -> str:
    """Return the key of the client (`ClientAddresses.of`); `stdio` without HTTP."""
    return str(getattr(_state(ctx), "address", "stdio"))


def _state(ctx: Context) -> Any:
    return getattr(ctx.request_context.request, "state", None)
