"""A process that lives through 5,000 messages on a real server: how long each run's history and its state become."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import WorkflowHistory

from tests.kills.checker import Acknowledged, Checker
from tests.support.stack import Stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

PEOPLE = 8
EACH = 90
"""Messages of each of them in each run at least: 5,040 together."""

RUNS = 7
"""Six times an operator has it continue as new; it does so by itself as well when a history becomes long."""

MAX_EVENTS = 10_000
MAX_STATE_BYTES = 64 * 1024


async def histories(here: Stack, pid: str) -> list[WorkflowHistory]:
    """Of all runs, the first one first."""
    found: list[WorkflowHistory] = []
    run_id: str | None = None
    while run_id != "":
        found.append(await here.client.get_workflow_handle(pid, run_id=run_id).fetch_history())
        run_id = found[-1].events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return found[::-1]


async def next_run(here: Stack, pid: str) -> None:
    """Have it continue as new, and return when it has."""
    before = (await here.handle(pid).describe()).run_id
    assert (await here.say(pid, "upgrade", role="operator")).accepted

    async def another() -> bool:
        return (await here.handle(pid).describe()).run_id != before

    await until(another)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
async def test_five_thousand_messages_and_six_runs_on_a_server_end_well(stack: Opened, database_url: str) -> None:
    async with stack(verdicts=["more", "more", "exhausted"]) as (here, _):
        people = await here.people({f"n{n}": TEXTS["ada"] for n in range(PEOPLE)})
        pid = await here.start(
            [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in people],
            auto_confirm=True,
            max_participants=PEOPLE,
        )
        aliases = [f"P{number:02d}" for number in range(1, PEOPLE + 1)]
        for alias in aliases:
            await here.asked(pid, alias, 1)
        told: list[Acknowledged] = []

        async def one_person(alias: str, run: int) -> None:
            """Switches to and fro."""
            for number in range(EACH):
                key = f"{alias}-{run}-{number}"
                endpoint = "agent" if number % 2 == 0 else "human"
                verdict = await here.say(pid, "switch_endpoint", alias=alias, key=key, endpoint=endpoint)
                assert verdict.accepted, verdict
                told.append(Acknowledged(pid, key, "applied"))

        for run in range(RUNS):
            await asyncio.gather(*(one_person(alias, run) for alias in aliases))
            if run < RUNS - 1:
                await next_run(here, pid)
        await here.finish(pid, *aliases)
        runs = await histories(here, pid)
        wrong = await Checker(database_url, here.client).examine(pid, told)

    assert not wrong
    assert len(told) == PEOPLE * EACH * RUNS
    assert len(runs) >= RUNS
    assert max(len(run.events) for run in runs) < MAX_EVENTS
    states = [run.events[0].workflow_execution_started_event_attributes.input.payloads[0].data for run in runs[1:]]
    assert max(map(len, states)) < MAX_STATE_BYTES
