"""`tongyao up` serves people and agents: over HTTP, MCP over streamable HTTP, and MCP over standard input and output."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.actions import TOOLS
from tests.gateway.conftest import said_by, text_of
from tests.support.until import until

REPOSITORY = Path(__file__).parents[2]
CLI = [sys.executable, "-m", "tongyao.cli"]


@asynccontextmanager
async def up(home: Path, log: Path) -> AsyncIterator[str]:
    """A whole installation in `home`; yields the address of its gateway."""
    with log.open("wb") as out:
        started = await asyncio.create_subprocess_exec(*CLI, "up", cwd=REPOSITORY, env=_environment(home), stdout=out)
    try:

        def running() -> re.Match[str] | None:
            assert started.returncode is None, log.read_text()
            said = log.read_text()
            return re.search(r"API\s+(http://\S+)", said) if "Running" in said else None

        said = await until(running, "it says that it runs", seconds=240)
        assert said is not None
        yield said.group(1)
    finally:
        started.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(started.wait(), 90) == 0


def _environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TONGYAO_HOME": str(home), "TONGYAO_GATEWAY_PORT": "0", "COLUMNS": "200", **more}


async def command(home: Path, *words: str) -> str:
    running = await asyncio.create_subprocess_exec(
        *CLI, *words, cwd=REPOSITORY, env=_environment(home), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await running.communicate()
    assert running.returncode == 0
    return out.decode().strip()


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_one_installation_answers_at_every_door(home: Path, tmp_path: Path) -> None:
    async with up(home, tmp_path / "log") as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        operator = await command(home, "token", "create", "--operator")
        scene = await http.put(
            "/scenes/valley", json={"title": "The valley"}, headers={"Authorization": f"Bearer {operator}"}
        )
        assert scene.status_code == 200, scene.text
        assert (await http.get("/openapi.json")).json()["info"]["title"] == "Tongyao"
        async with McpClient(f"{url}/mcp") as agent:
            joined = said_by(
                await agent.call_tool(
                    "join", {"key": "1", "scene": "valley", "name": "Ida", "text": "I grind rye in a water mill."}
                )
            )
        here = StdioServerParameters(
            command=sys.executable, args=["-m", "tongyao.cli", "mcp"], cwd=REPOSITORY,
            env=_environment(home, TY_TOKEN=joined["token"]),
        )  # fmt: skip
        async with McpClient(stdio_client(here)) as agent:
            people = said_by(await agent.call_tool("search", {"scene": "valley", "text": "rye flour"}))["people"]
            assert people == [], "oneself is left out"
            assert said_by(await agent.call_tool("pending", {})) == {"pending": []}


TEXTS = {
    "ida": "I run a mill that stands still. I can give the building and forty years of ledgers. I will not sell it.",
    "jo": "I restore water wheels. I can offer two hands and a lathe from April on. I will not work on Sundays.",
    "kim": "I bake bread. I need four tonnes of rye flour a year and can pay for it in advance. I have no car.",
}


@asynccontextmanager
async def agent_of(url: str, token: str, mode: str) -> AsyncIterator[McpClient]:
    """An MCP client as people configure it: the address, and the token in a header."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        McpClient(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def waits(agent: McpClient, ask: str) -> Any:
    """What waits for this agent's person, once it does."""

    async def found() -> Any:
        return [one for one in said_by(await agent.call_tool("pending", {}))["pending"] if one["ask"] == ask]

    return (await until(found, f"{ask} waits", seconds=90))[0]


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_two_agents_live_through_a_process_over_streamable_http(home: Path, tmp_path: Path) -> None:
    """One with the handshake of earlier revisions, one without; everything between intent and plan by tools alone."""
    async with up(home, tmp_path / "log") as url:
        operator = await command(home, "token", "create", "--operator")
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {operator}"}) as http:
            await http.put("/scenes/valley", json={"title": "The valley"})
        joined = {}
        async with McpClient(f"{url}/mcp") as nobody:
            for name, text in TEXTS.items():
                said = {"key": name, "scene": "valley", "name": name.title(), "text": text}
                joined[name] = said_by(await nobody.call_tool("join", said))
            allows = {"scene": "valley", "consent": "allow", "token": joined["kim"]["token"]}
            assert said_by(await nobody.call_tool("set_consent", allows))["own"]
            refused = await nobody.call_tool("pending", {})
            assert refused.is_error and "token_missing: " in text_of(refused)
        async with (
            agent_of(url, joined["ida"]["token"], "legacy") as ida,
            agent_of(url, joined["jo"]["token"], "auto") as jo,
        ):
            for agent in (ida, jo):
                assert {tool.name for tool in (await agent.list_tools()).tools} == set(TOOLS)
            people = [{"profile_id": joined["jo"]["profile_id"], "endpoint": "agent"}, joined["kim"]["profile_id"]]
            demand = {
                "key": "demand-1", "intent": "I want the mill wheel to turn again, and to grind for the village.",
                "participants": people,
            }  # fmt: skip
            process = said_by(await ida.call_tool("demand", demand))["process_id"]
            assert said_by(await ida.call_tool("demand", demand))["process_id"] == process, "the same key"
            await waits(ida, "confirm_tension")
            confirm = {"process_id": process, "message": {"kind": "confirm_tension"}, "key": "yes"}
            assert said_by(await ida.call_tool("decide", confirm))["state"] == "applied"
            ask = await waits(jo, "projection")
            assert ask["round"] == 1 and ask["view"]["tension"]["transition"]
            standing = said_by(await jo.call_tool("status", {"process_id": process}))
            assert standing["process"]["role"] == "participant" and "intent" not in standing["view"]
            early = await ida.call_tool("plan", {"process_id": process})
            assert early.is_error and "no_plan_yet: " in text_of(early)
            conclude = {"process_id": process, "message": {"kind": "conclude"}, "key": "enough"}
            assert said_by(await ida.call_tool("decide", conclude))["state"] == "applied"
            told = {"process_id": process, "round": 1, "key": "r1", "text": "I can have the wheel turning by June."}
            first, again = [said_by(await jo.call_tool("respond", told)) for _ in range(2)]
            assert first["state"] == "applied" and again["id"] == first["id"]
            ask = await waits(jo, "answer")
            said = said_by(await jo.call_tool("status", {"process_id": process}))["view"]["own"]
            assert [item["text"] for one in said for item in one["items"]] == ["I can have the wheel turning by June."]
            commit = {"kind": "answer_plan", "revision": ask["round"], "answer": "commit"}
            answered = await jo.call_tool("decide", {"process_id": process, "message": commit, "key": "commit"})
            assert said_by(answered)["state"] == "applied"
            whole, mine = [said_by(await agent.call_tool("plan", {"process_id": process})) for agent in (ida, jo)]
            assert whole["plan"]["possible"] and mine["delivery"]["alias"] == ask["alias"]
