"""Tools for the caller's own account: consents, standing tensions, notification channels, the caller's own agent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from tongyao.app import standing as standing_tensions
from tongyao.app.context import AppContext
from tongyao.app.notifications import channels as notification_channels
from tongyao.app.people import agents
from tongyao.app.people import consents as own_consents
from tongyao.gateway.mcp.common import Callers, ProcessId, Scene, Token, all_as_json, as_json, takes
from tongyao.records.process.standing import DAYS, PER_WEEK

Kind = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]{0,39}$", description="mail, webhook, or a kind that was added to this installation."
    ),
]


def own_tools(context: AppContext, callers: Callers) -> list[Callable[..., Coroutine[Any, Any, Any]]]:
    """Return the tools. They need no key, because a repeated call leaves the same state."""

    async def consents(ctx: Context, token: Token = "") -> Any:
        """Your consent to a proxy, scene by scene."""
        caller = await callers.authenticate(token, ctx)
        return {"consents": all_as_json(await own_consents.read_consents(context, caller, caller.person))}

    @takes(
        own_consents.SceneConsentBody,
        consent="ask: you are asked each time. allow: your proxy may speak in this scene. never: it may not, and you are not asked.",
    )
    async def set_consent(ctx: Context, scene: Scene, token: Token = "", **given: Any) -> Any:
        """Decide whether a proxy may speak for you in a scene."""
        caller = await callers.authenticate(token, ctx)
        body = own_consents.SceneConsentBody.model_validate(given)
        return as_json(await own_consents.set_consent(context, caller, caller.person, scene, body))

    async def standing(ctx: Context, token: Token = "") -> Any:
        """What you asked for that still waits for somebody; and what others of your scene wait for that you might answer, with your own sentence."""
        caller = await callers.authenticate(token, ctx)
        await callers.count_search(caller)
        return as_json(await standing_tensions.read_standing(context, caller))

    @takes(
        standing_tensions.KeepLookingBody,
        residual="Id of an open point of the plan, or `tension` for the whole request.",
        visible="The people of the scene may read it, without your name. Left out: as it is; at first not.",
        days=f"It waits for so many days from now. Left out: as it is; at first {DAYS}.",
        per_week=f"You are told of at most so many people in seven days. Left out: as it is; at first {PER_WEEK}.",
        tension="In your own words: {transition, …}.",
    )
    async def keep_looking(ctx: Context, process_id: ProcessId, token: Token = "", **given: Any) -> Any:
        """Have what stayed open in your process wait in its scene until somebody comes for it."""
        body = standing_tensions.KeepLookingBody.model_validate(given)
        caller = await callers.authenticate(token, ctx)
        return as_json(await standing_tensions.keep_looking(context, caller, process_id, body))

    async def step_forward(
        ctx: Context, standing_id: Annotated[str, Field(description="The id that `standing` lists.")], token: Token = ""
    ) -> Any:
        """Step forward for a standing tension: whoever asked learns that you came."""
        caller = await callers.authenticate(token, ctx)
        await callers.count_search(caller)
        await standing_tensions.step_forward(context, caller, standing_id)
        return {"stepped_forward": standing_id}

    async def channels(ctx: Context, token: Token = "") -> Any:
        """Your channels of notifications."""
        caller = await callers.authenticate(token, ctx)
        return {"channels": all_as_json(await notification_channels.list_channels(context, caller, caller.person))}

    async def set_channel(
        ctx: Context,
        kind: Kind,
        to: Annotated[str, Field(description="A mail address, for a webhook an https:// address.")],
        language: Annotated[Literal["en", "zh"], Field(description="Language of the mail with the code.")] = "en",
        token: Token = "",
    ) -> Any:
        """Have notifications sent to this address. A code is sent there, for `confirm_channel`; of a webhook you get the secret, shown this once."""
        caller = await callers.authenticate(token, ctx)
        await callers.count_registration(caller, ctx)
        return as_json(
            await notification_channels.set_channel(context, caller, caller.person, kind, to, language=language)
        )

    async def confirm_channel(
        ctx: Context,
        code: Annotated[str, Field(description="The code from the mail or the webhook.")],
        kind: Kind = "mail",
        token: Token = "",
    ) -> Any:
        """Confirm that the address is yours, with the code that was sent there."""
        caller = await callers.authenticate(token, ctx)
        body = notification_channels.CodeBody(code=code)
        return as_json(await notification_channels.confirm(context, caller, caller.person, kind, body))

    async def remove_channel(ctx: Context, kind: Kind, token: Token = "") -> Any:
        """Send no more notifications to this address."""
        caller = await callers.authenticate(token, ctx)
        await notification_channels.remove_channel(context, caller, caller.person, kind)
        return {"removed": kind}

    async def source(ctx: Context, token: Token = "") -> Any:
        """The agent of yours that speaks for you where your endpoint is `agent`, and how it did."""
        caller = await callers.authenticate(token, ctx)
        return as_json(await agents.read_source(context, caller, caller.person))

    async def set_source(
        ctx: Context,
        config: Annotated[
            dict[str, Any], Field(description="Address and options of the agent; of `http`: docs/extending.md.")
        ],
        credentials: Annotated[dict[str, str] | None, Field(description="Stored encrypted, shown to nobody.")] = None,
        kind: Annotated[str, Field(description="The kind of platform.")] = "http",
        token: Token = "",
    ) -> Any:
        """Name the agent that you have elsewhere: it is asked whenever a turn of yours waits and your endpoint is `agent`."""
        caller = await callers.authenticate(token, ctx)
        body = agents.SourceBody.model_validate({"kind": kind, "config": config, "credentials": credentials or {}})
        return as_json(await agents.set_source(context, caller, caller.person, body))

    async def remove_source(ctx: Context, token: Token = "") -> Any:
        """Have that agent asked no more. Those processes wait for you then, or you switch them to your proxy."""
        caller = await callers.authenticate(token, ctx)
        await agents.remove_source(context, caller, caller.person)
        return {"removed": True}

    async def fetch_profile(ctx: Context, token: Token = "") -> Any:
        """Fetch your profile from your agent: a new version of it, unless it is the same."""
        caller = await callers.authenticate(token, ctx)
        await callers.count_registration(caller, ctx)
        return as_json(await agents.fetch_profile(context, caller, caller.person))

    return [
        consents, set_consent, standing, keep_looking, step_forward, channels, set_channel, confirm_channel, remove_channel, source, set_source, remove_source,
        fetch_profile,
    ]  # fmt: skip
