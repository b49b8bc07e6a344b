"""A real MCP client over streamable HTTP joins, is asked, and speaks; errors are text that says what to do."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client as McpClient
from structlog.testing import capture_logs

from tests.gateway.conftest import GatewayHarness, said_by, text_of, until_served
from tests.gateway.test_api import room
from tests.support.until import until
from tongyao.app.messaging.inbox import Ask
from tongyao.gateway.mcp.common import ToolServer
from tongyao.gateway.mcp.server import make_server, with_answers
from tongyao.gateway.server import listen, serve, url_of
from tongyao.protocol.life.asks import ASK_KINDS, answers
from tongyao.protocol.model.events import AskName
from tongyao.protocol.model.messages import MESSAGE_BODY


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    return said_by(await client.call_tool(tool, arguments))


async def speak(gateway: GatewayHarness, client: Any) -> None:
    pid, _, people = await room(gateway)
    token = people[1]["token"]

    async def pending() -> Any:
        return (await call(client, "pending", token=token))["pending"]

    waits = await until(pending)
    assert waits[0]["process_id"] == pid and waits[0]["view"]["tension"]
    assert "what you can give" in waits[0]["asked"] and "what you will not do" in waits[0]["asked"]
    assert {one["tool"] for one in waits[0]["answer_with"]} == {"respond"}
    usual = waits[0]["answer_with"][0]
    assert usual["arguments"] == {"process_id": pid, "key": "<key>", "round": 1, "text": "<text>"}
    said = {"process_id": pid, "round": 1, "key": "k1", "text": "I splice rope.", "token": token}
    first, again = await call(client, "respond", **said), await call(client, "respond", **said)
    assert first["state"] == "applied" and again["id"] == first["id"]
    wrong = await client.call_tool("respond", {**said, "round": 9, "key": "k2"})
    assert wrong.is_error and "wrong_round: " in wrong.content[0].text
    stranger = await client.call_tool("status", {"process_id": pid, "token": "ty_guess"})
    assert stranger.is_error and "token_unknown" in stranger.content[0].text
    left = await call(client, "leave", process_id=pid, key="k3", token=token)
    assert left["state"] == "applied"
    await gateway.stack.handle(pid).cancel()


async def test_a_turn_is_spoken_by_an_mcp_client(gateway: GatewayHarness) -> None:
    async with McpClient(make_server(gateway.context)) as client:
        await speak(gateway, client)


async def test_a_crash_in_a_tool_is_answered_with_the_id_of_its_line_in_the_log() -> None:
    server = ToolServer("broken")

    async def crash() -> Any:
        raise RuntimeError("the words of a person")

    server.add_tool(crash, structured_output=False)
    with capture_logs() as logs:
        async with McpClient(server) as client:
            result = await client.call_tool("crash", {})
    [line] = [line for line in logs if line["event"] == "tool failed"]
    assert result.is_error
    assert text_of(result) == (
        f"Error executing tool crash: failed: an internal error occurred. The log has the details (id {line['id']})"
    )
    assert line["error"] == "RuntimeError" and "the words of a person" not in str(logs)


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
    """`key`, `token` and `process_id` inside `message` are fields that no message has: refused, and not an error of the server."""
    pid, token, _ = await room(gateway)
    async with McpClient(make_server(gateway.context)) as client:
        for name in ("key", "token", "process_id", "ctx"):
            sent = {"process_id": pid, "key": "k1", "message": {"kind": "conclude", name: "x"}, "token": token}
            answer = await client.call_tool("decide", sent)
            words = str(answer.content)
            assert answer.is_error
            assert name in words
            assert "TypeError" not in words
    await gateway.stack.handle(pid).cancel()


async def test_a_wrong_argument_is_answered_with_a_sentence(gateway: GatewayHarness) -> None:
    """Which argument, what was wrong with it, and what it is; nothing of the library that checks it."""
    said: dict[tuple[str, str], str] = {}
    async with McpClient(make_server(gateway.context)) as client:
        for tool, given, wrong in (
            ("status", {}, "`process_id`: this is missing"),
            ("status", {"process": "c-1"}, "`process` is not an argument of this tool"),
            (
                "respond",
                {"process_id": "c-1", "round": "first", "key": "k"},
                "`round`: Input should be a valid integer",
            ),
            ("switch", {"process_id": "c-1", "endpoint": "robot", "key": "k"}, "`endpoint`: Input should be 'proxy'"),
            (
                "decide",
                {"process_id": "c-1", "message": {"kind": "answer_plan"}, "key": "k"},
                "revision: this is missing",
            ),
            ("demand", {"key": "k", "intent": "x", "participants": [{"endpoint": "human"}]}, "this is missing"),
        ):
            answer = await client.call_tool(tool, given)
            assert answer.is_error
            said[tool, wrong] = text_of(answer)
    assert [(tool, wrong) for (tool, wrong), text in said.items() if wrong not in text] == [], said
    for text in said.values():
        assert "pydantic" not in text and "validation error" not in text
        assert "not_valid: " in text or "bad_arguments: " in text
    assert "an argument of the tool (process_id, token)" in said["status", "`process` is not an argument of this tool"]
    assert "It is: The round you answer" in said["respond", "`round`: Input should be a valid integer"]


async def test_a_switch_before_the_rounds_says_where_the_process_is(gateway: GatewayHarness) -> None:
    """Somebody who was named has no seat yet. Whether the process exists is not told to them; the demander learns its phase."""
    scene = await gateway.scene()
    ann, bo, cy = [await gateway.join(scene, f"I am number {number} and keep bees on the hill.") for number in range(3)]
    named = [{"profile_id": one["profile_id"], "endpoint": "agent"} for one in (bo, cy)]
    settings = {"auto_confirm": False, "demander_takes_part": True}
    async with McpClient(make_server(gateway.context)) as client:
        demand = {"key": "d1", "intent": "A roof for the ferry pier.", "participants": named, "settings": settings}
        pid = (await call(client, "demand", **demand, token=ann["token"]))["process_id"]
        await gateway.stack.until(pid, "confirming")
        switch = {"process_id": pid, "endpoint": "human", "key": "s1"}
        early = text_of(await client.call_tool("switch", {**switch, "token": bo["token"]}))
        stranger = text_of(await client.call_tool("switch", {**switch, "process_id": "c-none", "token": bo["token"]}))
        assert early.replace(pid, "c-none") == stranger
        assert "no_such_process: " in early
        assert "after the tension is confirmed" in early
        own = text_of(await client.call_tool("switch", {**switch, "token": ann["token"]}))
        assert "no_seats_yet: " in own
        assert "the process is at `confirming`" in own
    await gateway.stack.handle(pid).cancel()


@pytest.mark.parametrize(
    "kind", [kind for kind in ASK_KINDS if kind is not AskName.CALLS]
)  # of answerers: test_calls.py
async def test_whatever_is_asked_is_answered_by_calls_that_the_tools_take(
    gateway: GatewayHarness, kind: AskName
) -> None:
    ask = Ask(
        process_id="c-1", id="x/1", ask=kind, alias="P01", en="say", zh="说", round=1, subject="plan/1/residual/1", due_at=None,
        opened_at="2026-01-01T00:00:00Z", answer_with="",
        messages=tuple(answers(kind, "x/1", number=1, subject="plan/1/residual/1")),
    )  # fmt: skip
    for message in ask.messages:
        MESSAGE_BODY.validate_python(message)
    shown = with_answers(ask)
    async with McpClient(make_server(gateway.context)) as client:
        takes = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert shown["asked"] and shown["answer_with"]
    for call_of in shown["answer_with"]:
        schema = takes[call_of["tool"]]
        assert set(schema["required"]) <= set(call_of["arguments"]) <= set(schema["properties"])
        if message := call_of["arguments"].get("message"):
            MESSAGE_BODY.validate_python(message)


async def test_lists_say_what_their_elements_are(gateway: GatewayHarness) -> None:
    async with McpClient(make_server(gateway.context)) as client:
        takes = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
    [items] = (one["items"] for one in takes["respond"]["items"]["anyOf"] if one["type"] == "array")
    assert items["type"] == "object"
    [people] = (one["items"] for one in takes["demand"]["participants"]["anyOf"] if one["type"] == "array")
    assert {one["type"] for one in people["anyOf"]} == {"object", "string"}


async def test_every_argument_of_every_tool_is_described(gateway: GatewayHarness) -> None:
    async with McpClient(make_server(gateway.context)) as client:
        tools = (await client.list_tools()).tools
    bare = [
        f"{tool.name}.{name}"
        for tool in tools
        for name, argument in tool.input_schema["properties"].items()
        if not argument.get("description")
    ]
    assert bare == []


async def test_the_page_lists_every_tool_with_its_arguments(gateway: GatewayHarness) -> None:
    page = (Path(__file__).parents[3] / "docs/mcp.md").read_text(encoding="utf-8")
    table = page.split("## Arguments")[1].split("## Clients")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    listed = {tool.strip("| `"): set(re.findall("`([a-z_]+)`", arguments)) for tool, arguments in rows}
    required = {tool.strip("| `"): set(re.findall(r"\*\*`([a-z_]+)`", arguments)) for tool, arguments in rows}
    async with McpClient(make_server(gateway.context)) as client:
        tools = (await client.list_tools()).tools
    assert listed == {tool.name: set(tool.input_schema["properties"]) - {"token"} for tool in tools}
    assert required == {tool.name: set(tool.input_schema.get("required", ())) for tool in tools}
