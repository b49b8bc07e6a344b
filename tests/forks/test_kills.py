"""A fork whose worker is killed ten times is the same fork (docs/forks.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from tests.forks.test_forks import said_in
from tests.support.scripted import Script
from tests.support.stack import OPERATOR, Stack
from tests.workflows.conftest import TEXTS
from tongyao.app.forks import ForkBody, LocalChanges, fork_process
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.runtime import installation
from tongyao.runtime.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

KILLS = 10
SAID = "I can drive on Tuesdays, but not before nine."


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose worker follows a script in which every answer takes a moment."""
    script = home / "script.json"
    script.write_text(Script(seconds=1.5, verdicts=["more", "more", "more", "exhausted"]).model_dump_json())
    monkeypatch.setenv("TONGYAO_ENGINE", "tests.support.scripted:from_settings")
    monkeypatch.setenv("TONGYAO_ENGINE_FILE", str(script))
    return home


async def test_a_fork_with_a_person_is_the_same_whether_its_worker_is_killed_or_not(home: Path) -> None:
    async with installation.brought_up(Settings(home=home)) as installed:
        here = Stack(installed.context)
        await here.repositories.scenes.put("harbour", "Harbour")
        for name, text in TEXTS.items():
            await here.register(name, scene="harbour", name=f"{name.title()} Example", text=text)
        people: list[str | Choice] = ["ada", Choice(profile_id="bo", endpoint=EndpointKind.HUMAN), "cy"]
        origin = await here.start(people, demander="di", auto_confirm=True, correcting_seconds=0)
        await here.until_round(origin, "crystallizing", 1)
        bo = next(one.alias for one in await here.repositories.seats.seats(origin) if one.person == "bo")
        await here.asked(origin, bo, 1)
        await here.speak(origin, bo, 1, SAID)
        await here.answer_all(origin, bo, seconds=200)

        again = LocalChanges(again="observe")
        left_alone = await fork_process(here.context, OPERATOR, origin, ForkBody(round=2), key=uuid4().hex, local=again)
        await here.until_ended(left_alone.id, seconds=120)
        assert installed.worker is not None
        shot_at = await fork_process(here.context, OPERATOR, origin, ForkBody(round=2), key=uuid4().hex, local=again)
        killed = 0
        while killed < KILLS and (await here.repositories.processes.get(shot_at.id)).ended_at is None:
            await asyncio.sleep(1.0)
            installed.worker.kill()
            killed += 1
        await here.until_ended(shot_at.id, seconds=200)
        records = [await here.repositories.record(fork.id) for fork in (left_alone, shot_at)]
        calls = await here.repositories.ledger.calls(shot_at.id)

    assert killed == KILLS
    assert [record.phase for record in records] == [Phase.COMPLETED, Phase.COMPLETED]
    assert said_in(records[0]) == said_in(records[1])
    assert [one.text for one in records[1].projections if (one.alias, one.round) == (bo, 1)] == [SAID]
    keys = [(call.step, call.round, call.alias, call.revision, call.reask) for call in calls if call.state == "settled"]
    assert len(keys) == len(set(keys)), "at most one settled answer for each key"
