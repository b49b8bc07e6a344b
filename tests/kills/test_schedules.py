"""Generated schedules through real servers, with a worker that is killed: what the records and Temporal hold afterwards is right.

`python -m tests.kills` runs twenty long ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.kills.house import opened
from tests.kills.player import run_seed
from tests.kills.schedules import LENGTH, SHORT, rules_of, start_of

IN_SHORT = range(1)
WITH_TIME_JUMPS = range(200, 203)


async def _run(
    database_url: str, home: Path, seeds: range, *, length: int = LENGTH, environment: WorkflowEnvironment | None = None
) -> None:
    rules = [rule for seed in seeds for rule in rules_of(start_of(seed))]
    async with opened(database_url, home, rules, environment=environment) as house:
        for seed in seeds:
            await run_seed(house, seed, length=length)


@pytest.mark.timeout(600)
async def test_schedules_with_kills_leave_what_they_must(fresh_database_url: str, home: Path) -> None:
    await _run(fresh_database_url, home, IN_SHORT, length=SHORT)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_schedules_with_kills_and_time_jumps_leave_what_they_must(
    time_skipping: WorkflowEnvironment, fresh_database_url: str, home: Path
) -> None:
    await _run(fresh_database_url, home, WITH_TIME_JUMPS, environment=time_skipping)
