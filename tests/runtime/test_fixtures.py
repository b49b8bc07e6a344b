"""What the other tests stand on: servers are real, and empty where they say so; who waits in vain says for what."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.support.until import until
from tongyao.runtime.temporal.namespaces import missing_search_attributes

WEEK = timedelta(days=7)


@workflow.defn
class WaitsAWeek:
    @workflow.run
    async def run(self) -> str:
        await workflow.sleep(WEEK)
        return workflow.now().isoformat()


def test_a_fresh_database_has_the_schema_and_belongs_to_one_test(fresh_database_url: str, database_url: str) -> None:
    assert fresh_database_url != database_url
    with psycopg.connect(fresh_database_url) as connection:
        version = connection.execute("SHOW server_version_num").fetchone()
        assert version is not None
        assert int(version[0]) >= 180000
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


async def test_the_temporal_server_knows_the_search_attributes(temporal: Client) -> None:
    assert await missing_search_attributes(temporal) == []


async def test_who_waits_in_vain_says_for_what() -> None:
    async def the_ferry_is_here() -> bool:
        return False

    with pytest.raises(AssertionError, match=r"^not within 0\.05 s: the ferry is here$"):
        await until(the_ferry_is_here, seconds=0.05)
    assert await until(iter(["", "here"]).__next__, "an answer") == "here"


async def test_a_week_passes_at_once_where_time_is_skipped(time_skipping: WorkflowEnvironment) -> None:
    client = time_skipping.client
    before = await time_skipping.get_current_time()
    async with Worker(client, task_queue="weeks", workflows=[WaitsAWeek]):
        await client.execute_workflow(WaitsAWeek.run, id="a-week", task_queue="weeks")
    assert await time_skipping.get_current_time() - before >= WEEK
