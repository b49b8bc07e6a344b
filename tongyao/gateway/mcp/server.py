"""The MCP server (docs/mcp.md). No tool blocks, and a call can safely be repeated."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field, ValidationError

from tongyao.app import processes
from tongyao.app.action_permissions import Action
from tongyao.app.authorization import authorize_in_process, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem, Refused, not_valid, problem_of
from tongyao.app.messaging import inbox, messages
from tongyao.app.people import profiles
from tongyao.app.people import search as people_search
from tongyao.app.people.scenes import list_scenes
from tongyao.app.start import StartProcessBody, start_process
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.mcp import account, calls
from tongyao.gateway.mcp.common import Callers, Key, ProcessId, Scene, Token, ToolServer, all_as_json, as_json, takes
from tongyao.protocol.life.asks import Body, helps
from tongyao.protocol.model.messages import MESSAGE_BODY, ConsentBody, SubmitProjectionBody, SwitchEndpointBody
from tongyao.protocol.rules.consent import Origin

P = ParamSpec("P")
T = TypeVar("T")

INSTRUCTIONS: Final = (
    "Tongyao turns a raw intent into a plan with other people. If your client has a token, begin with `pending`; if it has none, "
    "`join` a scene with a self-introduction to get one. `demand` starts a process; `pending` lists what waits for you; `respond`, "
    "`decide` and `consent` answer it. Nothing blocks: look again with `status`. If you are to answer model calls, begin with the "
    "prompt `answer_calls`."
)


_CONSENT_FIRST = (
    "First show your person `consent.invitation_en` or `_zh`: it states who asks, what this is and what each answer does. "
    "“I” in `consent.tension` means the person who asks. "
)


def make_server(context: AppContext, *, token: str = "", limits: RateLimits | None = None) -> ToolServer:
    """Return the server. `token`: for calls without a token or header (stdio). `limits`: shared with the gateway."""
    server = ToolServer("tongyao", title="Tongyao", instructions=INSTRUCTIONS, log_level="WARNING")
    callers = Callers(context, default_token=token, limits=limits)

    async def send(token: str, ctx: Context, process_id: str, key: str, fields: dict[str, Any]) -> dict[str, Any]:
        body = MESSAGE_BODY.validate_python({name: field for name, field in fields.items() if field is not None})
        caller = await callers.authenticate(token, ctx)
        return as_json(await messages.send_message(context, caller, process_id, body, key=key, via="mcp"))

    def tool(function: Callable[P, Coroutine[Any, Any, Any]]) -> None:
        server.add_tool(_with_readable_errors(function), structured_output=False)

    async def scenes(ctx: Context, token: Token = "") -> Any:
        """The scenes there are: places in which people can be found."""
        permit(await callers.authenticate(token, ctx), Action.LIST_SCENES)
        return {"scenes": all_as_json(await list_scenes(context))}

    async def agents(
        ctx: Context,
        scene: Scene,
        limit: Annotated[int, Field(description="At most so many people, 1 to 200.")] = 50,
        after: Annotated[
            str, Field(description="The id of the last person of the page before; empty for the first.")
        ] = "",
        token: Token = "",
    ) -> Any:
        """List the people of a scene: id, language and how complete the profile is (`grade`, A to C); names where the scene allows it."""
        found = await people_search.list_people(
            context, await callers.authenticate(token, ctx), scene, limit=max(1, min(limit, 200)), after=after
        )
        return {"people": all_as_json(found)}

    @takes(
        people_search.SearchBody,
        text="A need in plain words.",
        tension="In place of `text`, the need in four parts: {transition, initial_state, barriers, exchange}.",
        profile_id="In place of both: your own profile's id, to find people near you.",
        limit="At most so many people of each perspective, 1 to 100.",
    )
    async def search(ctx: Context, scene: Scene, token: Token = "", **query: Any) -> Any:
        """Search people near a text, a tension or your profile, with reasons."""
        body = people_search.SearchBody.model_validate(query)
        caller = await callers.authenticate(token, ctx)
        await callers.count_search(caller)
        found = await people_search.search_people(context, caller, scene, body)
        return {"people": all_as_json(found)}

    @takes(profiles.RegisterBody)
    async def join(ctx: Context, key: Key, **given: Any) -> Any:
        """Introduce yourself, in your own words. You get an id and a token, which is shown this once: keep it."""
        caller = await callers.authenticate("", ctx)
        await callers.count_registration(caller, ctx)
        body = profiles.RegisterBody.model_validate(given)
        return as_json(await profiles.register(context, caller, body, key=key, origin=Origin.MCP))

    @takes(
        StartProcessBody,
        without=("strategy", "demander"),
        intent="What you want, in a sentence or a few.",
        scene="The id of the scene to find people in; not needed with `participants`.",
        participants="Ids, or {profile_id, endpoint: proxy, agent or human, fallback}. `fallback`, at a missed deadline: lapse, proxy or leave.",
        tension="Formulated by you: {transition, initial_state, barriers, exchange}; only `transition` is needed.",
        settings="Settings of this process by name (docs/protocol.md); seldom needed.",
    )
    async def demand(ctx: Context, key: Key, token: Token = "", **given: Any) -> Any:
        """Start a process, with the people named or with those found in the scene. Returns its id at once."""
        body = StartProcessBody.model_validate(given)
        return {"process_id": await start_process(context, await callers.authenticate(token, ctx), body, key=key)}

    async def status(ctx: Context, process_id: ProcessId, token: Token = "") -> Any:
        """The state of a process, and everything you may see of it now."""
        caller = await callers.authenticate(token, ctx)
        access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_PROCESS)
        view = await processes.party_view(context.repositories, access)
        return {"process": as_json(await processes.summary(context.repositories, access)), "view": as_json(view)}

    async def pending(
        ctx: Context,
        view: Annotated[bool, Field(description="False: without what you may see of each process.")] = True,
        token: Token = "",
    ) -> Any:
        """All open asks to you, the most urgent first: each with its question, what you may see, and the calls that answer it."""
        found = await inbox.inbox(context, await callers.authenticate(token, ctx), with_view=view)
        return {"pending": [with_answers(ask) for ask in found]}

    @takes(
        SubmitProjectionBody,
        without=("names",),
        round="The round you answer, as `pending` says it.",
        text="Your answer in your own words.",
        items="In place of `text`, if you speak as somebody's own agent: {kind: capability, direction or boundary, text, "
        "quotes: verbatim passages of `shown`, inferred, about: lines (T, I, B1, E) or ids of relations and notes, "
        "replaces: ids of own items that no longer hold}.",
        shown="With `items`: the text that their quotes are taken from.",
        nothing_new="True in place of `text`: you have nothing to add.",
    )
    async def respond(ctx: Context, process_id: ProcessId, key: Key, token: Token = "", **said: Any) -> Any:
        """Speak in a turn, or answer a question that `pending` lists: a text, or items, or that there is nothing new."""
        return await send(token, ctx, process_id, key, {"kind": "submit_projection", **said})

    async def decide(
        ctx: Context,
        process_id: ProcessId,
        message: Annotated[
            dict[str, Any],
            Field(
                description="Your decision, as a message with its `kind`: confirm_tension {ask}, revise_tension {tension, ask}, "
                "select_participants {participants, ask}, decide {decision, ask}, conclude {ask}, answer_plan {revision, answer, text, contact}, "
                "approve_residual {residual, approve}, replan {without, proposals, ask}, resume, cancel. `ask` is the `id` in `pending`. It is best to copy its `answer_with`."
            ),
        ],
        key: Key,
        token: Token = "",
    ) -> Any:
        """Decide what waits for you."""
        return await send(token, ctx, process_id, key, message)

    async def plan(ctx: Context, process_id: ProcessId, token: Token = "") -> Any:
        """The plan, every claim with its source; and your own part of it."""
        caller = await callers.authenticate(token, ctx)
        plan = await processes.read_plan(context.repositories, caller, process_id)
        view = await processes.read_process(context.repositories, caller, process_id)
        return {"plan": as_json(plan), "delivery": as_json(view.delivery) if view.delivery else None}

    @takes(
        SwitchEndpointBody,
        without=("alias",),
        endpoint="What speaks for you: a proxy over your profile, your own agent, or you.",
        fallback="At a missed deadline: the turn lapses, the proxy speaks, or you leave.",
    )
    async def switch(ctx: Context, process_id: ProcessId, key: Key, token: Token = "", **given: Any) -> Any:
        """Change what speaks for you: your proxy, your own agent, or yourself; and what happens at a missed deadline (`fallback`)."""
        return await send(token, ctx, process_id, key, {"kind": "switch_endpoint", **given})

    async def leave(ctx: Context, process_id: ProcessId, key: Key, token: Token = "") -> Any:
        """Leave a process. What you said stays."""
        return await send(token, ctx, process_id, key, {"kind": "leave"})

    @takes(
        ConsentBody,
        allow="Whether you take part in this process.",
        endpoint="With `allow`: what speaks for you. With `agent` or `human` no proxy speaks for you.",
        invitation="The number of the question, as in `answer_with`. Default: the latest.",
    )
    async def consent(ctx: Context, process_id: ProcessId, key: Key, token: Token = "", **said: Any) -> Any:
        """Answer whether you take part, and whether your proxy may speak for you, as `pending` asks. No answer is no."""
        return await send(token, ctx, process_id, key, {"kind": "consent", **said})

    tools = (scenes, agents, search, join, demand, status, pending, respond, decide, plan, switch, leave, consent)
    for function in tools:
        tool(function)
    for function in (*account.own_tools(context, callers), *calls.call_tools(context, callers)):
        tool(function)
    server.add_prompt(calls.call_prompt())
    return server


def _with_readable_errors(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the tool with expected errors turned into `ToolError`s that state the fault and the remedy."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except ValidationError as error:
            raise ToolError(_text(not_valid(error))) from None
        except Exception as error:
            if (problem := problem_of(error)) is None:
                raise
            raise ToolError(_text(problem)) from None

    return call


def _text(problem: Problem) -> str:
    phase = problem.details.get("phase")
    said = problem.worded if isinstance(problem, Refused) else str(problem)
    stands = f"; the process is at `{phase}`" if phase else ""
    return f"{problem.code}: {said}{stands}"


def with_answers(ask: inbox.Ask) -> dict[str, Any]:
    """Return an ask as `pending` shows it. `asked`: its question. `answer_with`: calls that answer it, the usual first.

    Each call has `tool` and `arguments`, in which only texts in angle brackets are missing. `key` may be any new text.
    """
    shown = ask.model_dump(mode="json", exclude_none=True, exclude={"messages", "en", "zh"})
    shown["asked"] = f"{ask.en[:1].upper()}{ask.en[1:]}. {helps(ask, 'en')}"
    if ask.consent is not None:
        shown["asked"] = _CONSENT_FIRST + shown["asked"]
    shown["answer_with"] = []
    for message in ask.messages:
        tool, arguments = _call(message)
        call = {"process_id": ask.process_id, "key": "<key>", **arguments}
        shown["answer_with"].append({"tool": tool, "arguments": call})
    return shown


def _call(message: Body) -> tuple[str, dict[str, Any]]:
    """Return the tool that sends a message, and its arguments."""
    fields = {name: field for name, field in message.items() if name != "kind"}
    match message["kind"]:
        case "submit_projection":
            return "respond", fields
        case "consent":
            return "consent", fields
        case _:
            return "decide", {"message": message}
