"""`tongyao resume --all`: suspended processes go on together once the cause that they share is mended (docs/operations.md §4)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from temporalio.client import Client

from tests.commands.command_line import TEXTS, tongyao
from tests.commands.conftest import working
from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.app.start import process_id_of

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
        assert f"{len(rows)} suspended process" in done.stdout
        return {process: (causes, result.strip()) for process, causes, result in rows}

    async def waits(self, process: str) -> bool:
        return bool(await self.causes(process))


@pytest.fixture
async def suspended(temporal: Client, named_database: str) -> AsyncIterator[Suspended]:
    run = uuid.uuid4().hex  # the Temporal server is shared by all tests, and refuses the id of an earlier process
    ids = {name: process_id_of(DEMANDER, f"{name}-{run}") for name in ("harbour", "hill", "other-key")}
    rules = [
        Rule(step="formulate", process=ids["other-key"], do="operator_needed", message="bad key", until="key"),
        Rule(step="formulate", do="operator_needed", message="no credit", until="paid"),
    ]
    engine = ScriptedEngine(Script(rules=rules))
    async with working(temporal, named_database, engine) as stack:
        await stack.people(TEXTS, scene="harbour")
        await stack.people(TEXTS, scene="hill")
        for name, scene in (("harbour", "harbour"), ("hill", "hill"), ("other-key", "harbour")):
            process = await stack.start([], demander=DEMANDER, key=f"{name}-{run}", scene=scene, auto_confirm=False)
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


async def test_only_processes_with_the_cause_and_of_the_scene_go_on(suspended: Suspended) -> None:
    [code] = await suspended.causes(suspended.harbour)
    assert await suspended.listed("--reason", "no_such_cause") == {}
    suspended.engine.mend("paid")

    resumed = await suspended.listed("--reason", code, "--scene", "hill")

    assert resumed == {suspended.hill: (code, "applied")}
    await suspended.stack.until(suspended.hill, "confirming")
    assert await suspended.waits(suspended.harbour)
    assert await suspended.waits(suspended.other_key)


async def test_all_go_on_and_one_that_is_not_mended_is_suspended_again(suspended: Suspended) -> None:
    suspended.engine.mend("paid")

    resumed = await suspended.listed()

    assert {result for _, result in resumed.values()} == {"applied"}
    for process in (suspended.harbour, suspended.hill):
        await suspended.stack.until(process, "confirming")
    events = suspended.stack.repositories.events

    async def twice() -> bool:
        kinds = [event.kind.value for event in await events.events(suspended.other_key, limit=100)]
        return kinds.count("suspended") == 2

    await until(twice)


async def test_one_process_or_all_must_be_named() -> None:
    assert (await tongyao("resume")).exit_code != 0
    assert (await tongyao("resume", "c-1", "--all")).exit_code != 0
