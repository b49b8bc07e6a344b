"""The MCP server: plain tools with explicit handles and keys. Nothing blocks, and repeating a call is safe (docs/mcp.md)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Annotated, Any, Final, Literal, ParamSpec, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field, ValidationError

from tongyao.app import messages, processes, profiles
from tongyao.app import search as search_people
from tongyao.app.authorization import Caller, in_process, permit
from tongyao.app.context import Gateway
from tongyao.app.permissions import Action
from tongyao.app.problems import Problem, problem_of, why
from tongyao.app.wire import INCOMING
from tongyao.gateway.access.rate_limits import Limits
from tongyao.gateway.api.common import secret_of
from tongyao.gateway.mcp import account
from tongyao.gateway.mcp.common import Key, ProcessId, Token, address, plain

P = ParamSpec("P")
T = TypeVar("T")

ACTIONS: Final[dict[str, Action]] = {
    "scenes": Action.LIST_SCENES,
    "agents": Action.LIST_PEOPLE,
    "search": Action.SEARCH_PEOPLE,
    "join": Action.JOIN,
    "demand": Action.START_PROCESS,
    "status": Action.READ_PROCESS,
    "pending": Action.READ_INBOX,
    "respond": Action.SEND_MESSAGE,
    "decide": Action.SEND_MESSAGE,
    "plan": Action.READ_PLAN,
    "switch": Action.SEND_MESSAGE,
    "leave": Action.SEND_MESSAGE,
    **account.ACTIONS,
}
"""Each tool's action in the table of permissions."""

INSTRUCTIONS: Final = (
    "Tongyao turns a raw intent into a plan with other people. `join` a scene with a self-introduction to get a token; "
    "`demand` starts a process; `pending` lists what waits for you, `respond` answers a turn, `decide` a decision. "
    "Nothing blocks: look again with `status`."
)


def make_server(gateway: Gateway, *, token: str = "") -> MCPServer:
    """The server. `token`: whose it is when a call names none and no Authorization header came (stdio)."""
    server = MCPServer("tongyao", title="Tongyao", instructions=INSTRUCTIONS, log_level="WARNING")
    limits = Limits(gateway.options)

    async def who(given: str, context: Context) -> Caller:
        header = (context.headers or {}).get("authorization")
        return await limits.identify(gateway.library, given or secret_of(header) or token, address(context))

    async def send(given: str, context: Context, process: str, key: str, **message: Any) -> dict[str, Any]:
        incoming = INCOMING.validate_python({name: one for name, one in message.items() if one is not None})
        caller = await who(given, context)
        return plain(await messages.send(gateway, caller, process, incoming, key=key, via="mcp"))

    def tool(function: Callable[P, Coroutine[Any, Any, Any]]) -> None:
        server.add_tool(_readable(function), structured_output=False)

    async def scenes(ctx: Context, token: Token = "") -> Any:
        """The scenes there are: places in which people can be found."""
        permit(await who(token, ctx), Action.LIST_SCENES)
        return {"scenes": await profiles.scenes(gateway)}

    async def agents(ctx: Context, scene: str, limit: int = 50, after: str = "", token: Token = "") -> Any:
        """Who is in a scene. Public are an id, language and grade; names only where the scene says so."""
        found = await search_people.cards(
            gateway, await who(token, ctx), scene, limit=max(1, min(limit, 200)), after=after
        )
        return {"people": [plain(one) for one in found]}

    async def search(
        ctx: Context,
        scene: str,
        text: Annotated[str, Field(description="A need in plain words.")] = "",
        tension: Annotated[
            dict[str, Any] | None,
            Field(description="Formulated instead: {transition, initial_state, barriers, exchange}."),
        ] = None,
        profile_id: Annotated[str | None, Field(description="Or your own profile's id: who is near you.")] = None,
        limit: int = 20,
        token: Token = "",
    ) -> Any:
        """Who is near a text, a tension or your profile, and why."""
        sought = search_people.Sought.model_validate(
            {"text": text, "tension": tension, "profile_id": profile_id, "limit": limit}
        )
        found = await search_people.search(gateway, await who(token, ctx), scene, sought)
        return {"people": [plain(one) for one in found]}

    async def join(ctx: Context, key: Key, scene: str, name: str, text: str, email: str | None = None) -> Any:
        """Introduce yourself, in your own words. You get an id and a token, which is shown this once: keep it."""
        await limits.join(caller := await who("", ctx), address(ctx))
        said = profiles.Introduction(scene=scene, name=name, text=text, email=email)
        return plain(await profiles.join(gateway, caller, said, key=key))

    async def demand(
        ctx: Context,
        key: Key,
        intent: Annotated[str, Field(description="What you want, in a sentence or a few.")],
        scene: str | None = None,
        participants: Annotated[
            list[str | dict[str, Any]] | None, Field(description="Ids, or {profile_id, endpoint, fallback}.")
        ] = None,
        tension: Annotated[
            dict[str, Any] | None,
            Field(description="Formulated by you: {transition, initial_state, barriers, exchange}; only T is needed."),
        ] = None,
        settings: dict[str, Any] | None = None,
        token: Token = "",
    ) -> Any:
        """Start a process, with the people named or with those found in the scene. Returns its id at once."""
        wish = processes.Demand.model_validate(
            {
                "intent": intent,
                "scene": scene,
                "participants": participants or (),
                "tension": tension,
                "settings": settings or {},
            }
        )
        return {"process": await processes.start(gateway, await who(token, ctx), wish, key=key)}

    async def status(ctx: Context, process: ProcessId, token: Token = "") -> Any:
        """How far a process is, and everything you may see of it now."""
        caller = await who(token, ctx)
        standing = await in_process(gateway.library, caller, process, Action.READ_PROCESS)
        view = await messages.view_of(gateway, standing)
        return {"process": plain(await processes.summary(gateway, standing)), "view": plain(view)}

    async def pending(ctx: Context, view: bool = True, token: Token = "") -> Any:
        """What waits for you in all processes, the most urgent first; with what you may see, to answer it."""
        found = await messages.pending(gateway, await who(token, ctx), with_view=view)
        return {"pending": [plain(one) for one in found]}

    async def respond(
        ctx: Context,
        process: ProcessId,
        round: Annotated[int, Field(description="The round you answer, as `pending` says it.")],
        key: Key,
        text: str = "",
        parts: dict[str, str] | None = None,
        nothing_new: bool = False,
        token: Token = "",
    ) -> Any:
        """Speak in a turn: a text, or `parts` {capability, direction, boundary}, or that there is nothing new."""
        return await send(
            token, ctx, process, key,
            kind="submit_projection", round=round, text=text, parts=parts, nothing_new=nothing_new,
        )  # fmt: skip

    async def decide(
        ctx: Context,
        process: ProcessId,
        message: Annotated[
            dict[str, Any],
            Field(
                description="What you decide, as a message with its `kind`: confirm_tension, revise_tension {tension}, "
                "select_participants {participants}, decide {decision}, conclude, answer_plan {revision, answer, text}, "
                "approve_residual {residual, approve}, replan {without}, resume, cancel."
            ),
        ],
        key: Key,
        token: Token = "",
    ) -> Any:
        """Decide what waits for you."""
        return await send(token, ctx, process, key, **message)

    async def plan(ctx: Context, process: ProcessId, token: Token = "") -> Any:
        """The plan, every claim with its source; and your own part of it."""
        caller = await who(token, ctx)
        made = await processes.plan(gateway, caller, process)
        view = await processes.read(gateway, caller, process)
        return {"plan": plain(made), "delivery": plain(view.delivery) if view.delivery else None}

    async def switch(
        ctx: Context,
        process: ProcessId,
        endpoint: Literal["proxy", "agent", "human"],
        key: Key,
        fallback: Literal["lapse", "proxy", "leave"] | None = None,
        token: Token = "",
    ) -> Any:
        """Change what speaks for you: your proxy, your own agent, or yourself; and what happens at a deadline."""
        return await send(token, ctx, process, key, kind="switch_endpoint", endpoint=endpoint, fallback=fallback)

    async def leave(ctx: Context, process: ProcessId, key: Key, token: Token = "") -> Any:
        """Leave a process. What you said stays."""
        return await send(token, ctx, process, key, kind="leave")

    for function in (scenes, agents, search, join, demand, status, pending, respond, decide, plan, switch, leave):
        tool(function)
    for own in account.own_tools(gateway, who, limits):
        tool(own)
    return server


def _readable(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Errors on purpose as text that says what to do."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {why(one)}" for one in error.errors()[:3])
            raise ToolError(f"not_valid: {wrong}".encode("utf-8", "replace").decode()) from None
        except Exception as error:
            if (problem := problem_of(error)) is None:
                raise
            raise ToolError(_text(problem)) from None

    return call


def _text(problem: Problem) -> str:
    zh = problem.more.get("zh")
    return f"{problem.code}: {problem.detail}" + (f" ({zh})" if zh else "")
