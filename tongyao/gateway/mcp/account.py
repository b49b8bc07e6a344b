"""Tools for what is one's own: where one is told that something waits, and the agent one has elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from tongyao.app import agents, profiles
from tongyao.app import channels as telling
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import Gateway
from tongyao.app.permissions import Action, Role
from tongyao.gateway.access.rate_limits import Limits
from tongyao.gateway.mcp.common import Token, Who, address, plain

ACTIONS: Final[dict[str, Action]] = {
    "channels": Action.CHANNELS,
    "set_channel": Action.CHANNELS,
    "confirm_channel": Action.CHANNELS,
    "remove_channel": Action.CHANNELS,
    "source": Action.SOURCE,
    "set_source": Action.SOURCE,
    "remove_source": Action.SOURCE,
    "fetch_profile": Action.SOURCE,
}
"""Each tool's action in the table of permissions."""

Kind = Literal["mail", "webhook"]


def own_tools(gateway: Gateway, who: Who, limits: Limits) -> list[Callable[..., Coroutine[Any, Any, Any]]]:
    """They set what is there and need no key: the same again leaves the same behind."""

    async def owner(token: str, ctx: Context, action: Action) -> Caller:
        caller = await who(token, ctx)
        permit(caller, action, Role.OWNER if caller.role is Role.PERSON else None)
        return caller

    async def channels(ctx: Context, token: Token = "") -> Any:
        """Where you are told that something waits for you."""
        caller = await owner(token, ctx, Action.CHANNELS)
        return {"channels": [plain(one) for one in await telling.channels(gateway, caller, caller.person)]}

    async def set_channel(
        ctx: Context,
        kind: Kind,
        to: Annotated[str, Field(description="A mail address, or for a webhook an https:// address.")],
        language: Annotated[Literal["en", "zh"], Field(description="Of the mail with the code.")] = "en",
        token: Token = "",
    ) -> Any:
        """Be told there. A mail address gets a code, for `confirm_channel`; a webhook its secret, shown this once."""
        caller = await owner(token, ctx, Action.CHANNELS)
        if kind == "webhook":
            return plain(await telling.set_webhook(gateway, caller, caller.person, telling.WebhookGiven(url=to)))
        await limits.join(caller, address(ctx))
        mail = telling.MailGiven(address=to)
        return plain(await telling.set_mail(gateway, caller, caller.person, mail, language=language))

    async def confirm_channel(
        ctx: Context, code: Annotated[str, Field(description="As the mail says it.")], token: Token = ""
    ) -> Any:
        """Confirm that the mail address is yours, with the code that was sent there."""
        caller = await owner(token, ctx, Action.CHANNELS)
        return plain(await telling.confirm_mail(gateway, caller, caller.person, telling.Code(code=code)))

    async def remove_channel(ctx: Context, kind: Kind, token: Token = "") -> Any:
        """Be told there no more."""
        caller = await owner(token, ctx, Action.CHANNELS)
        await telling.remove(gateway, caller, caller.person, kind)
        return {"removed": kind}

    async def source(ctx: Context, token: Token = "") -> Any:
        """The agent of yours that is asked in seats whose endpoint is `agent`, and how it did."""
        caller = await owner(token, ctx, Action.SOURCE)
        return plain(await agents.read_source(gateway, caller, caller.person))

    async def set_source(
        ctx: Context,
        config: Annotated[dict[str, Any], Field(description="Where it is; of `http`: docs/extending.md.")],
        credentials: Annotated[dict[str, str] | None, Field(description="Kept sealed, shown to nobody.")] = None,
        kind: Annotated[str, Field(description="The kind of platform.")] = "http",
        token: Token = "",
    ) -> Any:
        """Name the agent that you have elsewhere: it is asked whenever a turn waits in a seat whose endpoint is `agent`."""
        caller = await owner(token, ctx, Action.SOURCE)
        given = agents.SourceGiven.model_validate({"kind": kind, "config": config, "credentials": credentials or {}})
        return plain(await agents.set_source(gateway, caller, caller.person, given))

    async def remove_source(ctx: Context, token: Token = "") -> Any:
        """Have that agent asked no more. Its seats wait for you then, or switch them to your proxy."""
        caller = await owner(token, ctx, Action.SOURCE)
        await agents.remove_source(gateway, caller, caller.person)
        return {"removed": True}

    async def fetch_profile(ctx: Context, token: Token = "") -> Any:
        """Fetch your profile from your agent: a new version of it, unless it is the same."""
        caller = await owner(token, ctx, Action.SOURCE)
        version = await agents.fetch_profile(gateway, caller, caller.person)
        return plain(profiles.version_view(version))

    return [channels, set_channel, confirm_channel, remove_channel, source, set_source, remove_source, fetch_profile]
