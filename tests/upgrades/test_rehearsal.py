"""Two builds over the same open processes: people who wait in between notice nothing (docs/operations.md §5)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.scripted import Script
from tests.support.stack import Stack
from tests.support.until import until
from tests.upgrades.second_build import SEND_NUDGE, make_second_build
from tests.workflows.conftest import TEXTS
from tongyao.protocol.contracts.process import STATE_QUERY
from tongyao.protocol.life.state import State
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.migrate import migrate
from tongyao.runtime import installation
from tongyao.runtime.local.service import LocalService
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.connection import connect
from tongyao.runtime.temporal.namespaces import register_search_attributes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

HOUR = 3600


@dataclass
class Rehearsal:
    """An installation whose workers are of two builds. `old` is this tree, `new` the changed copy."""

    stack: Stack
    home: Path
    database_url: str
    tree: Path
    environment: dict[str, str]
    old: WorkerProcess
    new: WorkerProcess

    async def by_new(self, *words: str, code: str = "") -> subprocess.CompletedProcess[str]:
        """A command, or a program, of the second build."""
        program = ["-c", code] if code else ["-m", "tongyao.cli"]
        return await asyncio.to_thread(
            subprocess.run,
            [sys.executable, *program, *words],
            cwd=self.tree,
            env={**os.environ, **self.environment, "PYTHONPATH": str(self.tree), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    async def versions(self) -> dict[str, Any]:
        done = await self.by_new("versions", "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    async def logic(self, process: str) -> int:
        state: State = await self.stack.handle(process).query(STATE_QUERY, result_type=State)
        return state.logic

    async def due(self, process: str, alias: str) -> datetime:
        asks = await self.stack.repositories.inbox.of_process(process, open_only=True)
        [due] = [ask.due_at for ask in asks if ask.alias == alias]
        assert due is not None
        return due

    async def extends(self, process: str, alias: str) -> float:
        """By how many seconds an extension of one hour moves the deadline that the person sees."""
        before = await self.due(process, alias)
        verdict = await self.stack.say(process, "extend_deadline", whom=alias, role="operator", alias="", seconds=HOUR)
        assert verdict.accepted
        await until(lambda: self._moved(process, alias, before), f"{alias} has continued")
        return (await self.due(process, alias) - before).total_seconds()

    async def _moved(self, process: str, alias: str, before: datetime) -> bool:
        return await self.due(process, alias) != before

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(query.encode()).fetchall()


@asynccontextmanager
async def rehearsal(home: Path) -> AsyncIterator[Rehearsal]:
    script = home / "script.json"
    script.write_text(Script(verdicts=["more", "more", "exhausted"]).model_dump_json())
    settings = Settings(home=home)
    async with LocalService(settings) as addresses:
        migrate(addresses.database_url)
        client = await connect(settings, address=addresses.temporal_address)
        await register_search_attributes(client)
        environment = {
            **addresses.environment(),
            "TONGYAO_HOME": str(home),
            "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
            "TONGYAO_ENGINE_FILE": str(script),
        }
        tree = make_second_build(home / "second")
        shutil.copytree(Path(__file__).parents[1] / "support", tree / "tests/support")
        (tree / "tests/__init__.py").touch()
        old = WorkerProcess(environment, log=home / "old.log")
        new = WorkerProcess(environment, log=home / "new.log", file=tree / "worker.py")
        stop = asyncio.Event()
        async with installation.running(settings) as installed:
            relaying = asyncio.create_task(installed.context.relay.run(stop))
            try:
                yield Rehearsal(Stack(installed.context), home, addresses.database_url, tree, environment, old, new)
            finally:
                stop.set()
                await relaying
                await old.stop()
                await new.stop()


async def test_open_processes_go_on_under_a_build_with_a_migration_a_new_message_and_new_rules(home: Path) -> None:
    async with rehearsal(home) as here:
        stack = here.stack
        await here.old.start()
        people = await stack.people({name: TEXTS[name] for name in ("ada", "bo")})
        choices = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in people]
        spoken_half = await stack.start(choices, auto_confirm=True)
        unconfirmed = await stack.start(choices, auto_confirm=False, confirm_seconds=HOUR)
        deciding = await stack.start(choices, auto_confirm=True, max_rounds=2)
        answering = await stack.start(choices, auto_confirm=True)
        for process in (spoken_half, deciding, answering):
            for alias in ("P01", "P02"):
                await stack.asked(process, alias, 1)
        await stack.until(unconfirmed, "confirming")
        for number in (1, 2):
            for alias in ("P01", "P02"):
                await stack.asked(deciding, alias, number)
                await stack.speak(deciding, alias, number, f"{alias} offers {number} more readings of the gauge.")
        await stack.until(deciding, "deciding")
        await stack.speak(spoken_half, "P01", 1, "I can offer the slipway.")
        await _say_nothing_new(stack, answering)
        every = {spoken_half, unconfirmed, deciding, answering}

        # The migration comes before the workers; the old ones go on with it.
        prepared = await here.by_new("prepare")
        assert "0099_nudges" in prepared.stdout, prepared.stderr
        assert await here.extends(spoken_half, "P02") == HOUR

        replayed = await here.by_new("replay")
        assert replayed.returncode == 0, replayed.stdout + replayed.stderr
        assert "4 histories replayed" in replayed.stdout

        await here.new.start()
        found = await until(partial(_both_poll_every_queue, here), "both builds poll every queue", seconds=120)
        assert found["rules"] == [
            {"logic": 1, "processes": len(every), "carried": True},
            {"logic": 2, "processes": 0, "carried": True},
        ]
        await here.old.stop()

        # Under the new build and the old rules.
        assert await here.extends(spoken_half, "P02") == HOUR
        assert await here.logic(spoken_half) == 1
        refused = await here.by_new(spoken_half, code=SEND_NUDGE)
        assert refused.stdout.strip() == "not_now", refused.stderr

        runs = {process: await _run_of(stack, process) for process in every}
        upgraded = await here.by_new("upgrade", "--all")
        assert upgraded.returncode == 0, upgraded.stderr
        assert upgraded.stdout.count("applied") == len(every), upgraded.stdout
        for process, run in runs.items():
            await until(partial(_is_another_run, stack, process, run), "another run")
            assert await here.logic(process) == 2
        await until(lambda: _all_follow_newest(here, len(every)), "all follow the newest rules")

        # Under the new rules.
        assert await here.extends(spoken_half, "P02") == 2 * HOUR
        accepted = await here.by_new(spoken_half, code=SEND_NUDGE)
        assert accepted.stdout.strip() == "accepted", accepted.stderr

        # An old worker that comes back harms nothing: it cannot read what goes by newer rules, and the new one goes on.
        await here.old.start()
        await _confirm(stack, unconfirmed)
        for process in every:
            await stack.answer_all(process, seconds=240)

        assert here.rows(f"SELECT nudges FROM processes WHERE id = '{spoken_half}'") == [(1,)]
        assert here.rows("SELECT count(*) FROM messages WHERE verdict IS NULL") == [(0,)]
        assert here.rows("SELECT count(*) FROM events WHERE superseded") == [(0,)]
        assert set(here.rows("SELECT phase FROM processes")) == {("completed",)}


async def _both_poll_every_queue(here: Rehearsal) -> dict[str, Any]:
    """The versions; empty before Temporal lists both builds, a moment after their workers say that they poll."""
    found = await here.versions()
    both = {build_id(), found["this_build"]}
    return found if all(set(role["workers"]) == both for role in found["roles"]) else {}


async def _say_nothing_new(stack: Stack, process: str) -> None:
    """People say nothing new until they are asked for their answers to the plan."""

    async def answering() -> bool:
        for ask in await stack.repositories.inbox.of_process(process, open_only=True):
            if ask.ask == "projection":
                words = f"I can offer a slipway, {ask.alias}." if ask.round == 1 else None
                await stack.speak(process, ask.alias, ask.round, words)
        return (await stack.repositories.processes.get(process)).phase == "answering"

    await until(answering)


async def _confirm(stack: Stack, process: str) -> None:
    stored = await stack.say(process, "confirm_tension")
    assert stored.accepted


async def _run_of(stack: Stack, process: str) -> str:
    return (await stack.handle(process).describe()).run_id or ""


async def _is_another_run(stack: Stack, process: str, run: str) -> bool:
    return await _run_of(stack, process) != run


async def _all_follow_newest(here: Rehearsal, count: int) -> bool:
    """What Temporal lists follows a moment later than what it did."""
    return {"logic": 2, "processes": count, "carried": True} in (await here.versions())["rules"]
