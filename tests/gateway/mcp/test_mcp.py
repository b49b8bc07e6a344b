"""A real MCP client over streamable HTTP joins, is asked, and speaks; errors are text that says what to do."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, said_by, until_served
from tests.gateway.test_api import room
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.server import listen, serve, url_of


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    return said_by(await client.call_tool(tool, arguments))


async def speak(gateway: GatewayHarness, client: Any) -> None:
    pid, _, people = await room(gateway)
    token = people[1]["token"]
    async with asyncio.timeout(30):
        while not (waits := (await call(client, "pending", token=token))["pending"]):
            await asyncio.sleep(0.05)
    assert waits[0]["process_id"] == pid and waits[0]["view"]["tension"]
    said = {"process": pid, "round": 1, "key": "k1", "parts": {"capability": "I splice rope."}, "token": token}
    first, again = await call(client, "respond", **said), await call(client, "respond", **said)
    assert first["state"] == "applied" and again["id"] == first["id"]
    wrong = await client.call_tool("respond", {**said, "round": 9, "key": "k2"})
    assert wrong.is_error and "wrong_round: " in wrong.content[0].text
    stranger = await client.call_tool("status", {"process": pid, "token": "ty_guess"})
    assert stranger.is_error and "token_unknown" in stranger.content[0].text
    left = await call(client, "leave", process=pid, key="k3", token=token)
    assert left["state"] == "applied"
    await gateway.stack.handle(pid).cancel()


async def test_a_turn_is_spoken_by_an_mcp_client(gateway: GatewayHarness) -> None:
    async with McpClient(make_server(gateway.context)) as client:
        await speak(gateway, client)


async def test_a_turn_is_spoken_over_streamable_http(gateway: GatewayHarness) -> None:
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    server = asyncio.create_task(serve(gateway.context, stop, bound))
    try:
        await until_served(url_of(bound))
        async with McpClient(f"{url_of(bound)}/mcp") as client:
            await speak(gateway, client)
    finally:
        stop.set()
        await server


async def test_a_field_of_a_message_never_becomes_an_argument_of_the_call(gateway: GatewayHarness) -> None:
    """`key`, `token` and `process` inside `message` are fields that no message has: refused, and not an error of the server."""
    pid, token, _ = await room(gateway)
    async with McpClient(make_server(gateway.context)) as client:
        for name in ("key", "token", "process", "ctx"):
            sent = {"process": pid, "key": "k1", "message": {"kind": "conclude", name: "x"}, "token": token}
            answer = await client.call_tool("decide", sent)
            words = str(answer.content)
            assert answer.is_error
            assert name in words
            assert "TypeError" not in words
    await gateway.stack.handle(pid).cancel()
