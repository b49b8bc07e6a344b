"""The scripts of docs/api.md and docs/mcp.md run as they stand."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.commands.command_line import room
from tests.gateway.conftest import until_served
from tests.support.stack import Stack
from tongyao.gateway.server import listen, serve, url_of
from tongyao.protocol.model.process import Phase

DOCS = Path(__file__).parents[2] / "docs"


def block(page: str, language: str, number: int = 0) -> str:
    """One of this language."""
    found = re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    return str(found[number])


@asynccontextmanager
async def gateway(stack: Stack) -> AsyncIterator[str]:
    """The API and MCP of a stack on a port of this machine; yields the address."""
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    serving = asyncio.create_task(serve(stack.context, stop, bound))
    try:
        await until_served(url_of(bound))
        yield url_of(bound)
    finally:
        stop.set()
        await serving


async def ran(*words: str, **environment: str) -> str:
    """Standard output and standard error of a program that ended well."""
    process = await asyncio.create_subprocess_exec(
        *words, env={**os.environ, **environment}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the script of the page calls curl")
@pytest.mark.timeout(300)
async def test_the_first_conversation_over_the_api_ends_in_a_plan_that_is_answered(
    stack: Stack, tmp_path: Path
) -> None:
    command = tmp_path / "bin" / "tongyao"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tongyao.cli "$@"\n')
    command.chmod(0o755)
    (script := tmp_path / "first.sh").write_text(block("api.md", "sh"), encoding="utf-8")
    path = f"{command.parent}:{os.environ['PATH']}"
    async with gateway(stack) as url:
        said = await ran("sh", str(script), PATH=path, API_URL=url)
    assert "'commit'" in said.splitlines()[-1], said
    [row] = (await stack.repositories.processes.list(limit=5)).rows
    await stack.end(row.id)
    assert (await stack.repositories.processes.get(row.id)).phase == Phase.COMPLETED


async def test_the_client_of_the_mcp_sdk_prints_what_waits(stack: Stack, tmp_path: Path) -> None:
    process, aliases = await room(stack)
    seats = {seat.alias: seat.person for seat in await stack.repositories.seats.seats(process)}
    token = await stack.repositories.tokens.issue("person", person=seats[aliases["ada"]])
    (script := tmp_path / "client.py").write_text(block("mcp.md", "python"), encoding="utf-8")
    async with gateway(stack) as url:
        said = await ran(sys.executable, str(script), MCP_URL=f"{url}/mcp", TY_TOKEN=token.secret)
    assert said.startswith(f"{process} projection "), said
    await stack.say(process, "cancel")


async def test_one_round_over_mcp_is_answered(stack: Stack, tmp_path: Path) -> None:
    process, aliases = await room(stack)
    seats = {seat.alias: seat.person for seat in await stack.repositories.seats.seats(process)}
    token = await stack.repositories.tokens.issue("person", person=seats[aliases["ada"]])
    (script := tmp_path / "round.py").write_text(block("mcp.md", "python", 1), encoding="utf-8")
    async with gateway(stack) as url:
        said = await ran(sys.executable, str(script), MCP_URL=f"{url}/mcp", TY_TOKEN=token.secret)
    lines = said.splitlines()
    assert lines[0].startswith(f"round 1 of {process} until ")
    assert any(line.startswith("respond: applied for round 1 - kept word for word") for line in lines), said
    assert lines[-1] == "pending: []"
    await stack.say(process, "cancel")
