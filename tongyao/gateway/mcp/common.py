"""Common parts of the MCP tools: types of arguments, authentication, conversion of answers to JSON,
and the server that refuses wrong arguments with a sentence: the argument, the fault and the remedy.

If an argument should be a list, a number or an object and is a string, the SDK parses the string as JSON. `BodyLimit`
counts such a string as one text, so its parts are counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from enum import Enum
from functools import reduce, wraps
from inspect import Parameter, Signature, signature
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from pydantic import BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo

from tongyao.app.authorization import ANONYMOUS, Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import Unauthenticated, location, reason
from tongyao.gateway.access.authentication import authenticate, bearer_token
from tongyao.gateway.access.body_limit import MOST_PARTS, Structure
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.problems import log_failure

Tool = Callable[..., Coroutine[Any, Any, Any]]
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


def takes(body: type[BaseModel], *, without: Collection[str] = (), **told: str) -> Callable[[Tool], Tool]:
    """Give a tool the fields of a request body as arguments, with the names, types and defaults of the body.

    The tool gets them as its `**` argument, without those that are null. `without`: fields that are no arguments. `told`:
    descriptions for readers of tools, in place of those of the body. Limits of values are checked with the body.
    """
    fields = [
        _argument(name, field, told) for name, field in body.model_fields.items() if name not in ("kind", *without)
    ]

    def add(tool: Tool) -> Tool:
        @wraps(tool)
        async def call(**given: Any) -> Any:
            return await tool(**{name: value for name, value in given.items() if value is not None})

        own = [one for one in signature(tool, eval_str=True).parameters.values() if one.kind is not one.VAR_KEYWORD]
        call.__signature__ = Signature([*own, *fields])  # type: ignore[attr-defined]  # a function has one
        return call

    return add


def _argument(name: str, field: FieldInfo, told: Mapping[str, str]) -> Parameter:
    kind, default = _shown(field.annotation), field.get_default(call_default_factory=True)
    if not field.is_required() and not default and default not in ("", False):
        kind, default = kind | None, None
    description = Field(description=told.get(name) or field.description)
    described: Any = Annotated[kind, description]
    given = Parameter.empty if field.is_required() else default.value if isinstance(default, Enum) else default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=given, annotation=described)


def _shown(kind: Any) -> Any:
    """Return the type of a field as tools show it: values in place of an enum, objects in place of models, no limits."""
    if get_origin(kind) is Annotated:
        return _shown(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(one.value for one in kind)]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return dict[str, Any]
    if get_origin(kind) is tuple:
        element: Any = _shown(get_args(kind)[0])
        return list[element]
    return reduce(or_, map(_shown, get_args(kind))) if get_origin(kind) in (Union, UnionType) else kind


def as_json(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)


def all_as_json(models: Iterable[BaseModel]) -> list[dict[str, Any]]:
    return [as_json(model) for model in models]


def address_of(ctx: Context) -> str:
    """Return the key of the client (`ClientAddresses.of`); `stdio` without HTTP."""
    return str(getattr(_state(ctx), "address", "stdio"))


def _state(ctx: Context) -> Any:
    return getattr(ctx.request_context.request, "state", None)


_SHOWN: Final = 3


class ToolServer(MCPServer):
    """An MCP server that describes the faults in the arguments of a call in sentences."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        known = {tool.name: tool.input_schema for tool in await self.list_tools()}
        takes: Mapping[str, Mapping[str, Any]] = known.get(name, {}).get("properties", {})
        if name in known and (strange := [argument for argument in arguments if argument not in takes]):
            raise ToolError(_refusal(name, [_unknown(argument, takes) for argument in strange[:_SHOWN]]))
        if long := [
            argument for argument, given in arguments.items() if _has_too_many_parts(given, takes.get(argument, {}))
        ]:
            raise ToolError(_refusal(name, [_too_long(argument) for argument in long[:_SHOWN]]))
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            said = log_failure("tool failed", error.__cause__ or error, tool=name)
            raise ToolError(f"Error executing tool {name}: failed: {said}") from None
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(_refusal(name, _wrong(error.__cause__, takes))) from error.__cause__


def _refusal(tool: str, sentences: list[str]) -> str:
    return f"Error executing tool {tool}: bad_arguments: {' '.join(sentences)}"


def _unknown(argument: str, takes: Mapping[str, object]) -> str:
    return f"`{argument[:40]}` is not an argument of this tool: leave it out, or use an argument of the tool ({', '.join(takes)})."


def _has_too_many_parts(given: object, takes: Mapping[str, Any]) -> bool:
    """Return whether the SDK would parse `given` as JSON with too many values. `takes`: the schema of the argument."""
    if not isinstance(given, str) or (takes.get("type") == "string" and not {"enum", "const"} & set(takes)):
        return False
    structure = Structure()
    structure.read(given.encode("utf-8", "replace"))
    return structure.parts > MOST_PARTS


def _too_long(argument: str) -> str:
    return f"`{argument}`: too many values; send at most {MOST_PARTS:,} characters outside of its texts."


def _wrong(error: ValidationError, takes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each of the first wrong arguments. The sentences do not repeat the given values."""
    sentences = []
    for fault in error.errors(include_url=False)[:_SHOWN]:
        where = location(fault)
        about = str(takes.get(where.partition(".")[0], {}).get("description", "")).rstrip(".")
        meaning = f" It is: {about}." if about else ""
        sentences.append(f"`{where}`: {reason(fault)}; correct this and send the call again.{meaning}")
    return sentences
