"""What all tools of the MCP server share: their arguments' words, who calls, and how a model becomes an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from tongyao.app.authorization import Caller

Token = Annotated[
    str, Field(description="Your token, as `join` gave it; leave it out when the client is configured with one.")
]
Key = Annotated[
    str, Field(description="Of your own making; the same key again is the same request, so repeating is safe.")
]
ProcessId = Annotated[str, Field(description="The id of the process.")]
Who = Callable[[str, Context], Awaitable[Caller]]
"""From a call's own token and its context to the caller. Raises `Problem`."""


def plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)


def address(context: Context) -> str:
    """Where a call comes from, for counting."""
    client = getattr(context.request_context.request, "client", None)
    return client.host if client else "stdio"
