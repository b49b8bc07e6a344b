"""A profile version is recited in the background: once, level by level, going on after a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.worker import Worker

from activities.maintain import Reciting
from crystalline_highway.highway import Highway, Progress
from tongyao.protocol.contracts.maintenance import RECITATION_PROGRESS, RecitationInput, RecitationProgress
from tongyao.protocol.model.process import ProfileRef
from workflows.maintenance import Recitation

PROFILE = "我在城南管一片果园。\n去年学会了用无人机拍树冠，能看出哪几棵缺水。"


class Failing:
    """A highway whose first call for a level is lost on the way."""

    def __init__(self, highway: Highway) -> None:
        self.highway, self.calls = highway, 0
        self.levels: list[str] = []

    async def recite_level(self, owner: str, version: int, texts: list[str], passes: int) -> Progress:
        self.calls += 1
        if self.calls == 2:
            raise ConnectionError("the database is away")
        step = await self.highway.recite_level(owner, version, texts, passes)
        self.levels.append(step.level.name if step.level else "")
        return step


@pytest.fixture
async def highway(database_url: str) -> AsyncIterator[Highway]:
    async with AsyncConnectionPool[Any](database_url, min_size=1, max_size=2, open=False) as pool:
        yield Highway(pool)


async def test_it_recites_every_level_once_and_a_second_start_finds_the_first(
    temporal: Client, highway: Highway
) -> None:
    failing = Failing(highway)

    async def text(profile: ProfileRef) -> str:
        return PROFILE

    what = RecitationInput(profile_id="orchard", version=3)
    queue = "test-recitation"
    activities = [Reciting(text, failing.recite_level).recite_level]
    async with Worker(temporal, task_queue=queue, workflows=[Recitation], activities=activities):
        handles = [
            await temporal.start_workflow(
                Recitation.run,
                what,
                id=what.workflow_id,
                task_queue=queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            )
            for _ in range(2)
        ]
        assert handles[0].result_run_id == handles[1].result_run_id or handles[1].result_run_id is None
        assert (await handles[0].result()).done
        progress = await handles[0].query(RECITATION_PROGRESS, result_type=RecitationProgress)
    assert progress == RecitationProgress(level="TEXT", done=True)
    assert failing.levels == ["PHRASE", "SHORT", "LONG", "PARAGRAPH", "TEXT"]
    found, _ = await highway.seek("orchard", 3, [PROFILE], [("T", "谁会用无人机")])
    assert "无人机" in found.long[0].text
