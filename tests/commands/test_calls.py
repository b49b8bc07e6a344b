"""Model calls answered on the command line, and by the client of the README (docs/models.md §7)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.commands.command_line import tongyao
from tests.commands.conftest import MASTER_KEY, encrypting
from tests.commands.test_documented_scripts import gateway, ran
from tests.support.answering import answer_to
from tests.support.stack import Stack, open_stack
from tongyao.llm.delegated import DelegatedAnswers, DelegatedEngine
from tongyao.records.privacy.keys import Keyring

README = Path(__file__).parents[2] / "README.md"
PEOPLE = {
    name: f"I live by the harbour. I can offer ten years of readings of {name}. I will not travel."
    for name in ("ada", "bo", "cy", "di", "ed")
}


@pytest.fixture
async def delegating(temporal: Client, named_database: str) -> AsyncIterator[Stack]:
    keys = Keyring.read(MASTER_KEY)
    async with open_stack(await encrypting(temporal), named_database, DelegatedEngine(), keys=keys) as here:
        yield Stack(replace(here.context, call_answers=DelegatedAnswers()))


@pytest.mark.timeout(400)
async def test_five_people_are_answered_on_the_command_line(delegating: Stack, tmp_path: Path) -> None:
    pid = await delegating.start(await delegating.people(PEOPLE), auto_confirm=True)
    first = await tongyao("calls", "next", "--process", pid, "--wait", "60", "--as", "ann")
    assert (
        first.exit_code == 0
        and "===== instructions =====" in first.output
        and "JSON schema of the answer" in first.output
    )
    call = re.search(r"call-[0-9a-f]{10}", first.output)
    assert call is not None
    (wrong := tmp_path / "wrong.json").write_text("I would say yes.")
    refused = await tongyao("calls", "answer", call.group(), "--file", str(wrong), "--as", "ann")
    assert refused.exit_code != 0 and "contains no JSON object" in str(refused.exception)
    listed = await tongyao("calls", "list", "--process", pid, "--as", "ann")
    assert call.group() in listed.output and "taken by you" in listed.output
    shown = await tongyao("why", pid)
    assert "the model calls that wait (1)" in " ".join(shown.output.split())
    answered = 0
    while (await delegating.repositories.processes.get(pid)).ended_at is None:
        found = await tongyao("calls", "next", "--process", pid, "--wait", "3", "--as", "ann", "--json")
        if (one := json.loads(found.stdout)["call"]) is None:
            assert found.exit_code == 1
            continue
        (file := tmp_path / "answer.json").write_text(answer_to(one["step"], one["input"], round=one["round"]))
        sent = await tongyao("calls", "answer", one["id"], "--file", str(file), "--as", "ann")
        assert sent.exit_code == 0, sent.output
        answered += 1
    assert answered == 20
    assert (await delegating.repositories.record(pid)).plans


@pytest.mark.timeout(300)
async def test_the_client_of_the_readme_answers_until_nothing_is_left(delegating: Stack, tmp_path: Path) -> None:
    pid = await delegating.start(await delegating.people(dict(list(PEOPLE.items())[:2])), auto_confirm=True)
    connected = await tongyao("calls", "connect", "program", "--json")
    token = json.loads(connected.stdout)["token"]
    [code] = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert code in README.with_name("README.zh-CN.md").read_text(encoding="utf-8")
    (script := tmp_path / "answer.py").write_text(code, encoding="utf-8")
    async with gateway(delegating) as url:
        said = await ran(
            sys.executable, str(script), MCP_URL=f"{url}/mcp", TY_TOKEN=token,
            ANSWER_WITH=f"{sys.executable} -m tests.support.answering",
        )  # fmt: skip
    assert "plan answered" in said and "refused" not in said, said
    assert (await delegating.repositories.processes.get(pid)).phase == "completed"
