"""`tongyao up` serves people and agents: over HTTP, MCP over streamable HTTP, and MCP over standard input and output."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from mcp.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.gateway.conftest import said_by

REPOSITORY = Path(__file__).parents[2]
CLI = [sys.executable, "-m", "tongyao.cli"]


@asynccontextmanager
async def up(home: Path, log: Path) -> AsyncIterator[str]:
    """A whole installation in `home`; yields the address of its gateway."""
    with log.open("wb") as out:
        started = await asyncio.create_subprocess_exec(*CLI, "up", cwd=REPOSITORY, env=_environment(home), stdout=out)
    try:
        async with asyncio.timeout(240):
            while not (said := re.search(r"API\s+(http://\S+)", log.read_text())) or "Running" not in log.read_text():
                assert started.returncode is None, log.read_text()
                await asyncio.sleep(0.1)
        yield said.group(1)
    finally:
        started.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(started.wait(), 90) == 0


def _environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TONGYAO_", "ANTHROPIC_"))}
    return {**kept, "TONGYAO_HOME": str(home), "TONGYAO_GATEWAY_PORT": "0", "COLUMNS": "200", **more}


async def command(home: Path, *words: str) -> str:
    running = await asyncio.create_subprocess_exec(
        *CLI, *words, cwd=REPOSITORY, env=_environment(home), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await running.communicate()
    assert running.returncode == 0
    return out.decode().strip()


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_one_installation_answers_at_every_door(tmp_path: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix="tongyao-up-"))
    try:
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
    finally:
        shutil.rmtree(home, ignore_errors=True)
