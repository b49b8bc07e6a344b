"""Whatever is killed in the middle of a round, the same process goes on and ends well (docs/protocol.md §8.1)."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from tests.support.scripted import Rule, Script
from tests.support.stack import Stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS
from tongyao.app.start import process_id_of
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase
from tongyao.records.database import RecordsError
from tongyao.runtime import installation
from tongyao.runtime.installation import Installation
from tongyao.runtime.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE = 240
TREE = process_id_of("somebody", "tree")
CRANE = {
    "transition": "From lifting by hand to lifting with a machine that somebody here understands.",
    "initial_state": "Two jetties, a hand winch from 1961, and crates of ninety kilograms.",
    "barriers": ["No one in the room has a licence for a crane."],
}
LEDGER = {
    "transition": "From receipts in a biscuit tin to figures that the members' meeting can argue about.",
    "initial_state": "Forty receipts of last summer; the meeting is in March.",
    "barriers": ["The treasurer left and took the habit with her."],
}


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose worker follows a script in which every answer takes a moment."""
    script = home / "script.json"
    twice_the_same = Rule(step="plan", process="c-*.*", revision=1, draft={"residuals": [CRANE]})
    leaves_two = Rule(step="plan", process=TREE, revision=1, draft={"residuals": [CRANE, LEDGER]})
    rules = [twice_the_same, leaves_two]
    script.write_text(Script(seconds=0.4, cost=Decimal("0.013"), rules=rules).model_dump_json())
    monkeypatch.setenv("TONGYAO_ENGINE", "tests.support.scripted:from_settings")
    monkeypatch.setenv("TONGYAO_ENGINE_FILE", str(script))
    return home


@pytest.mark.parametrize("victim", ["worker", "temporal", "postgres"])
async def test_a_kill_in_the_middle_of_a_round_loses_nothing_and_settles_nothing_twice(home: Path, victim: str) -> None:
    async with installation.brought_up(Settings(home=home)) as installed:
        here = Stack(installed.context)
        await here.repositories.scenes.put("harbour", "Harbour")
        for name, text in TEXTS.items():
            await here.register(name, scene="harbour", name=name.title(), text=text)
        pid = await here.start(["ada", "bo", "cy"], demander="di", auto_confirm=True)
        await _in_the_middle_of_round(here, pid, 2)
        before = {event.seq: event for event in await here.repositories.events.events(pid, limit=1_000)}
        _kill(installed, victim)
        await _ended(here, pid)
        record = await here.repositories.record(pid)
        calls = await here.repositories.ledger.calls(pid)
        events = {event.seq: event for event in await here.repositories.events.events(pid, limit=1_000)}

    assert record.phase is Phase.COMPLETED
    assert record.plans
    assert len(record.deliveries) == 3
    keys = [(call.step, call.round, call.alias, call.revision, call.reask) for call in calls if call.state == "settled"]
    assert len(keys) == len(set(keys)), "at most one settled answer for each key"
    assert not [call for call in calls if call.state == "claimed"], "what was in flight is named as orphaned"
    assert sorted(events) == list(range(1, len(events) + 1)), "no transition is missing"
    assert before.items() <= events.items(), "what had been written stands"


async def test_a_tree_is_grown_once_and_keeps_to_its_budget_whatever_is_killed(home: Path) -> None:
    async with installation.brought_up(Settings(home=home)) as installed:
        here = Stack(installed.context)
        await here.repositories.scenes.put("harbour", "Harbour")
        for name, text in TEXTS.items():
            await here.register(name, scene="harbour", name=name.title(), text=text)
        pid = await here.start(
            [], key="tree", demander="somebody", scene="harbour", auto_confirm=True, auto_start=True, max_participants=3,
            residuals="auto", depth_limit=2, wait_for_children=True, cost_budget="4.00",
        )  # fmt: skip
        assert pid == TREE
        await until(lambda: here.repositories.lineage.children(pid), "a child", seconds=PATIENCE)
        for victim in ("worker", "temporal", "postgres"):
            _kill(installed, victim)
        await _ended(here, pid)
        tree = (await here.repositories.lineage.tree(pid)).all()
        spent = Decimal(0)
        for row in tree:
            spent += sum((call.cost for call in await here.repositories.ledger.calls(row.id)), Decimal(0))
        budget = await here.repositories.budgets.get(pid)
        refused = [
            event.data["reason"]
            for row in tree
            for event in await here.repositories.events.events(row.id, limit=1_000)
            if event.kind is EventKind.CHILD_REFUSED
        ]
        record = await here.repositories.record(pid)

    assert sorted(row.id for row in tree) == [pid, f"{pid}.1-1", f"{pid}.1-2"], "no child twice, and no grandchild"
    assert {row.phase for row in tree} == {"completed"}
    assert refused == ["duplicate", "duplicate"], "the same residual again is refused with the reason"
    assert len(record.plans) == 2
    assert budget.settled_cost == spent <= Decimal(4), "to the cent of the ledger"


async def _in_the_middle_of_round(here: Stack, pid: str, number: int) -> None:
    async def a_call_is_under_way() -> bool:
        calls = await here.repositories.ledger.calls(pid)
        return any(call.step == "project" and call.round == number and call.state == "claimed" for call in calls)

    await until(a_call_is_under_way, seconds=PATIENCE)


def _kill(installed: Installation, victim: str) -> None:
    if victim == "worker":
        assert installed.worker is not None
        installed.worker.kill()
        return
    pid = installed.addresses.temporal_pid if victim == "temporal" else installed.addresses.postgres_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def _ended(here: Stack, pid: str) -> None:
    """The records may be away for a moment: then the question is asked again."""

    async def ended() -> bool:
        with suppress(psycopg.Error, RecordsError, PoolTimeout):
            return (await here.repositories.processes.get(pid)).ended_at is not None
        return False

    await until(ended, f"the end of {pid}", seconds=PATIENCE)
