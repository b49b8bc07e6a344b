"""Through MCP alone: where one is told, and the agent one has elsewhere."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, said_by, text_of
from tests.gateway.outbound.test_notifying import Kept
from tests.gateway.outbound.test_sources import SECRETS, platform
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.outbound.http_agent import HttpProfileSource


async def test_channels_are_set_confirmed_and_removed(gateway: GatewayHarness) -> None:
    mail, web = Kept(), Kept()
    gateway = gateway.also(notifiers={"mail": mail, "webhook": web})
    token = (await gateway.join(await gateway.scene()))["token"]
    async with McpClient(make_server(gateway.context, token=token)) as client:

        async def call(tool: str, **arguments: Any) -> Any:
            return said_by(await client.call_tool(tool, arguments))

        hook = await call("set_channel", kind="webhook", to="https://example.org/hook")
        assert hook["confirmed"] is False and hook["secret"].startswith("whsec_")
        proven = await call("confirm_channel", kind="webhook", code=web.sent[0].data["code"])
        assert proven["confirmed"] is True
        asked = await call("set_channel", kind="mail", to="ida@example.org", language="zh")
        assert asked == {"kind": "mail", "address": "ida@example.org", "confirmed": False}
        wrong = await client.call_tool("confirm_channel", {"code": "guess"})
        assert wrong.is_error and "wrong_code: " in text_of(wrong)
        code = mail.sent[0].text.split("：")[1].split()[0]
        assert (await call("confirm_channel", code=code))["confirmed"] is True
        listed = (await call("channels"))["channels"]
        assert [(one["kind"], one["confirmed"], "secret" in one) for one in listed] == [
            ("mail", True, False), ("webhook", True, False),
        ]  # fmt: skip
        await call("remove_channel", kind="mail")
        assert [one["kind"] for one in (await call("channels"))["channels"]] == ["webhook"]
        plain = await client.call_tool("set_channel", {"kind": "webhook", "to": "http://example.org/hook"})
        assert plain.is_error and "not_https: " in text_of(plain)


async def test_ones_agent_is_named_asked_for_the_profile_and_taken_back(gateway: GatewayHarness) -> None:
    gateway = gateway.also(profile_sources={"http": partial(HttpProfileSource, private_allowed=True)})
    joined = await gateway.join(await gateway.scene())
    async with platform() as (_, config), McpClient(make_server(gateway.context, token=joined["token"])) as client:
        none = await client.call_tool("source", {})
        assert none.is_error and "no_such_source: " in text_of(none)
        strange = await client.call_tool("set_source", {"kind": "magic", "config": {}})
        assert strange.is_error and "unknown_kind: " in text_of(strange) and "http" in text_of(strange)
        named = await client.call_tool("set_source", {"config": config, "credentials": SECRETS})
        assert said_by(named)["config"]["chat_url"] == config["chat_url"]
        assert not any(secret in text_of(named) for secret in SECRETS.values())
        assert said_by(await client.call_tool("fetch_profile", {}))["version"] == 2
        assert said_by(await client.call_tool("source", {}))["kind"] == "http"
        said_by(await client.call_tool("remove_source", {}))
        assert (await client.call_tool("source", {})).is_error
    profile = await gateway.ask("GET", f"/profiles/{joined['profile_id']}", joined["token"])
    assert "I splice rope" in profile.json()["text"]
