"""Who goes first where tasks wait: what people wait for, and nobody's many processes before another's one (docs/operations.md §8)."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority
from temporalio.worker import Worker

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.errors import Unavailable
from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.quotas import check_backlog, oldest_model_step
from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind


async def priorities(here: Stack, process: str) -> list[tuple[str, int]]:
    """Every step of a process with its priority, in order."""
    history = await here.handle(process).fetch_history()
    scheduled = [event.activity_task_scheduled_event_attributes for event in history.events]
    return [(one.activity_type.name, one.priority.priority_key) for one in scheduled if one.activity_type.name]


async def key_of(here: Stack, process: str) -> str:
    history = await here.handle(process).fetch_history()
    return history.events[0].workflow_execution_started_event_attributes.priority.fairness_key


async def test_what_people_wait_for_goes_before_rounds_and_rounds_before_proxies(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        choices = [Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN), Choice(profile_id=people[1])]
        process = await here.start(choices, auto_confirm=True, aliases_as_named=True)
        await here.asked(process, "P01", 1)
        await here.speak(process, "P01", 1, "I can offer the slipway.")
        await here.finish(process, "P01")
        seen: dict[str, set[int]] = {}
        for step, priority in await priorities(here, process):
            seen.setdefault(step, set()).add(priority)
    assert seen["formulate"] == {2}
    assert seen["deliver"] == {2}
    assert seen["project"] == {2, 4}, "words taken down, and calls of proxies"
    assert seen["observe"] == seen["plan"] == {3}


async def test_processes_of_one_demander_share_a_key_that_names_nobody(stack: Opened) -> None:
    async with stack() as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        one, two = [await here.start(people, demander="di", auto_confirm=False) for _ in range(2)]
        other = await here.start(people, demander="em", auto_confirm=False)
        keys = [await key_of(here, process) for process in (one, two, other)]
    assert keys[0] == keys[1] != keys[2]
    assert len(keys[0]) == 16
    assert keys[0] != "di"


@pytest.mark.parametrize(("by", "same"), [("demander", False), ("scene", True)])
def test_fairness_is_by_demander_or_by_scene(by: Any, same: bool) -> None:
    one, other = (
        ProcessInput(process_id="c-1", scene="harbour", demander=name, intent_text_id="t") for name in ("di", "em")
    )
    assert (one.fairness_key(by, b"salt") == other.fairness_key(by, b"salt")) is same
    assert one.fairness_key(by, b"salt") != one.fairness_key(by, b"other"), "nobody computes it without the salt"


async def test_a_new_process_is_refused_while_model_steps_have_waited_too_long(
    temporal: Client, fresh_database_url: str
) -> None:
    async with open_stack(temporal, fresh_database_url, ScriptedEngine(Script()), role="process") as here:
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        waits = await here.start(people, auto_confirm=False)  # nobody polls the queue of its formulation

        async def some_wait() -> bool:
            return await oldest_model_step(here.client) > 0

        await until(some_wait)
        person = Caller(Role.PERSON, "di")
        await check_backlog(here.context, person)
        strict = replace(here.context, options=GatewayOptions(most_backlog_seconds=0.000_1))
        with pytest.raises(Unavailable, match="nothing was started or stored"):
            await check_backlog(strict, person)
        await here.handle(waits).terminate()


@activity.defn(name="fairness-step")
async def _step(_: str) -> None: ...


@workflow.defn(name="fairness-probe", sandboxed=False)
class _Probe:
    @workflow.run
    async def run(self, queue: str) -> None:
        await workflow.execute_activity(
            "fairness-step", "", task_queue=queue, start_to_close_timeout=timedelta(seconds=60)
        )


async def test_the_server_gives_one_of_another_its_turn_before_the_many_are_done(temporal: Client) -> None:
    """What the keys are for: of 60 tasks of one key and 3 of another that came last, the last of all is not of the three."""
    steps, processes = f"steps-{uuid.uuid4().hex}", f"processes-{uuid.uuid4().hex}"

    async def begin(key: str) -> WorkflowHandle[Any, Any]:
        id = f"{key}-{uuid.uuid4().hex}"
        return await temporal.start_workflow(
            "fairness-probe", steps, id=id, task_queue=processes, priority=Priority(fairness_key=key)
        )

    async def waiting() -> int:
        described = await temporal.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace="default",
                task_queue=TaskQueue(name=steps),
                task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
                report_stats=True,
            )
        )
        return described.stats.approximate_backlog_count

    async def end(handle: WorkflowHandle[Any, Any]) -> None:
        await handle.result()
        ended.append(handle.id.split("-")[0])

    ended: list[str] = []
    async with Worker(temporal, task_queue=processes, workflows=[_Probe]):
        handles = [await begin("many") for _ in range(60)] + [await begin("single") for _ in range(3)]

        async def all_wait() -> bool:
            return await waiting() >= len(handles)

        await until(all_wait)
        ending = [asyncio.create_task(end(handle)) for handle in handles]
        async with Worker(temporal, task_queue=steps, activities=[_step], max_concurrent_activities=1):
            await asyncio.gather(*ending)
    assert "many" in ended[ended.index("single") :]
    assert ended.index("single") < 50
