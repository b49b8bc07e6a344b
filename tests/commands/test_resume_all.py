"""`tongyao resume --all`: suspended processes go on together once the cause that they share is mended (docs/operations.md §4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from temporalio.client import Client

from tests.commands.test_messages import MASTER_KEY, TEXTS, tongyao
from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tongyao.app.start import process_id_of
from tongyao.records.privacy.keys import Keyring

DEMANDER = "di"


@dataclass
class Suspended:
    """Three suspended processes, two of them in one scene. The cause of the third is mended apart from the others."""

    stack: Stack
    engine: ScriptedEngine
    harbour: str
    hill: str
    other_key: str

    async def causes(self, process: str) -> tuple[str, ...]:
        return (await self.stack.repositories.processes.get(process)).suspended

    async def listed(self, *options: str) -> dict[str, tuple[str, str]]:
        """What the command prints: process → its causes, and the result."""
        done = await tongyao("resume", "--all", *options)
        assert done.exit_code == 0, done.output
        rows = [line.split("  ") for line in done.stdout.splitlines() if line.startswith("c-")]
        assert f"{len(rows)} suspended processes" in done.stdout
        return {process: (causes, result.strip()) for process, causes, result in rows}

    async def waits(self, process: str) -> bool:
        return bool(await self.causes(process))


@pytest.fixture
async def suspended(
    temporal: Client, fresh_database_url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Suspended]:
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal.service_client.config.target_host)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path))
    monkeypatch.setenv("TONGYAO_MASTER_KEY", MASTER_KEY)
    ids = {name: process_id_of(DEMANDER, name) for name in ("harbour", "hill", "other-key")}
    rules = [
        Rule(step="formulate", process=ids["other-key"], do="operator_needed", message="bad key", until="key"),
        Rule(step="formulate", do="operator_needed", message="no credit", until="paid"),
    ]
    engine = ScriptedEngine(Script(rules=rules))
    async with open_stack(temporal, fresh_database_url, engine, keys=Keyring.read(MASTER_KEY)) as stack:
        await stack.people(TEXTS, scene="harbour")
        await stack.people(TEXTS, scene="hill")
        for name, scene in (("harbour", "harbour"), ("hill", "hill"), ("other-key", "harbour")):
            process = await stack.start([], demander=DEMANDER, key=name, scene=scene, auto_confirm=False)
            assert process == ids[name]
            await stack.until_suspended(process)
        yield Suspended(stack, engine, ids["harbour"], ids["hill"], ids["other-key"])
        for process in ids.values():
            await stack.say(process, "cancel")


async def test_a_dry_run_lists_what_would_be_resumed_and_changes_nothing(suspended: Suspended) -> None:
    everybody = await suspended.listed("--dry-run")

    assert set(everybody) == {suspended.harbour, suspended.hill, suspended.other_key}
    assert {result for _, result in everybody.values()} == {"would be resumed"}
    assert all([await suspended.waits(process) for process in everybody])
