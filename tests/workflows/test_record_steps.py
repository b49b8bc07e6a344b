"""Steps that ask no model: checking somebody's time, consents, and a cancelled branch."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.dependencies import Deps
from activities.record_steps import RecordSteps
from tests.support.kept import pending_messages
from tests.workflows.conftest import Opened
from tests.workflows.test_restoring import selecting
from tongyao.protocol.contracts.process import (
    CancelChildrenInput,
    CheckDeadlineInput,
    CheckDeadlineOutput,
    ConsentInput,
    ConsentOutput,
)
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.messages import Author, ConfirmTension
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.consent import Consent, Origin
from tongyao.protocol.rules.refusals import ACCEPTED
from tongyao.records.database import open_pool, session
from tongyao.records.process.process_rows import NewProcess
from tongyao.records.repositories import Repositories

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
async def repositories(fresh_database_url: str) -> AsyncIterator[Repositories]:
    pool = await open_pool(fresh_database_url)
    yield Repositories(pool)
    await pool.close()


def steps(repositories: Repositories) -> RecordSteps:
    nobody: Any = None  # no model, memory or field is asked
    return RecordSteps(Deps(repositories=repositories, model_calls=nobody, retriever=nobody, field=nobody))


async def announced(repositories: Repositories, *, parent: str | None = None) -> str:
    new = NewProcess(id=f"p-{uuid.uuid4().hex[:8]}", demander="d", language="en", intent_text_id=None, parent_id=parent)
    return (await repositories.processes.create(new)).id


def started(process: str) -> Outbox:
    event = Event(seq=1, kind=EventKind.PROCESS_STARTED, at=NOW)
    snapshot = Snapshot(process_id=process, seq=1, phase=Phase.CONFIRMING, round=0, waiting=True)
    return Outbox(snapshot=snapshot, events=(event,))


async def test_the_check_of_a_deadline_finds_what_was_handed_in_and_has_not_arrived(repositories: Repositories) -> None:
    process = await announced(repositories)
    message = ConfirmTension(key="k", author=Author(role="demander", alias=DEMANDER))
    stored = await repositories.messages.put(process, message, author_id="d", via="api")

    async def check(*lanes: str) -> bool:
        what = CheckDeadlineInput(process_id=process, lanes=lanes, since=NOW, outbox=started(process))
        output: CheckDeadlineOutput = await ActivityEnvironment().run(steps(repositories).check_deadline, what)
        return output.undelivered

    assert await check("P00", "P00/agent") and not await check("P01", "P00/control")
    assert (await repositories.processes.get(process)).phase == "confirming", "the outbox is written first"
    await repositories.messages.postpone(stored.id, 0, trouble="ValueError", failed=True, set_aside=True)
    assert not await check("P00"), "what was set aside is not waited for"
    await repositories.messages.verdict(stored, ACCEPTED)
    assert not await check("P00")


async def test_the_check_of_a_deadline_says_for_how_long_nothing_could_be_handed_in(repositories: Repositories) -> None:
    process = await announced(repositories)
    async with session(repositories.pool) as connection:
        await connection.execute(
            "INSERT INTO door_outages (shut_at, opened_at) VALUES (%s, %s)", [NOW - 3 * HOUR, NOW - 2 * HOUR]
        )

    async def shut(since: datetime) -> float:
        what = CheckDeadlineInput(process_id=process, lanes=("P00",), since=since)
        output: CheckDeadlineOutput = await ActivityEnvironment().run(steps(repositories).check_deadline, what)
        return output.shut_seconds

    assert await shut(NOW - 4 * HOUR) == 3600
    assert await shut(NOW - 2.5 * HOUR) == 1800
    assert await shut(NOW - HOUR) == 0


async def test_who_joined_is_asked_and_who_was_brought_by_the_machine_or_has_allowed_it_is_not(
    repositories: Repositories,
) -> None:
    process = await announced(repositories)
    await repositories.scenes.put("s", "s")
    for origin in Origin:
        await repositories.profiles.save(
            origin.value, scene_id="s", display_name="", text="x", grade="C", language="en", origin=origin
        )
    people = [*(one.value for one in Origin), "unknown"]

    async def asked(others_expected: int = 6, endpoint: EndpointKind = EndpointKind.PROXY) -> ConsentOutput:
        choices = tuple(Choice(profile_id=one, endpoint=endpoint) for one in people)
        what = ConsentInput(process_id=process, choices=choices, others_expected=others_expected)
        output: ConsentOutput = await ActivityEnvironment().run(steps(repositories).consent, what)
        return output

    assert await asked() == ConsentOutput(ask=("api", "mcp"), refused=("unknown",))
    assert (await asked(others_expected=1)).ask == ("api", "mcp", "import"), "asked as the only participant"
    by_hand = ConsentOutput(refused=("unknown",), without_proxy=("api", "mcp"))
    assert await asked(endpoint=EndpointKind.HUMAN) == by_hand
    await repositories.consents.put("api", "s", Consent.ALLOW)
    await repositories.consents.put("mcp", "s", Consent.NEVER)
    await repositories.consents.put("file", "s", Consent.ASK)
    assert await asked() == ConsentOutput(ask=("file",), refused=("mcp", "unknown"))


async def test_what_somebody_allowed_in_one_scene_holds_in_no_other(repositories: Repositories) -> None:
    for scene in ("s", "elsewhere"):
        await repositories.scenes.put(scene, scene)
    await repositories.profiles.save(
        "ada", scene_id="s", display_name="", text="x", grade="C", language="en", origin=Origin.IMPORT
    )
    holds = [(await repositories.consents.standing(["ada"], scene))["ada"].consent for scene in ("", "s", "elsewhere")]
    assert holds == [Consent.ALLOW, Consent.ALLOW, Consent.ASK]


async def test_cancelling_a_branch_sends_its_children_the_message(repositories: Repositories) -> None:
    parent = await announced(repositories)
    child = await announced(repositories, parent=parent)
    what = CancelChildrenInput(process_id=parent)
    for _ in range(2):
        await ActivityEnvironment().run(steps(repositories).cancel_children, what)
    assert [one.kind for one in await pending_messages(repositories.pool, child)] == ["cancel"]


async def test_a_step_of_a_run_that_the_records_do_not_know_has_them_follow_it_first(stack: Opened) -> None:
    """The workflow was reset: what stands in the records is ahead of it, and it has nothing to tell."""
    async with stack() as (here, _):
        pid = await selecting(here)
        run_id = (await here.handle(pid).describe()).run_id
        async with session(here.repositories.pool) as connection:
            await connection.execute("UPDATE epochs SET run_id = 'before' WHERE process_id = %s", [pid])
            await connection.execute(
                "UPDATE processes SET run_id = 'before', phase = 'planning', round = 4, seq = 99 WHERE id = %s", [pid]
            )
        environment = ActivityEnvironment(client=here.client)
        what = CheckDeadlineInput(process_id=pid, lanes=("P00",), since=NOW)
        environment.info = replace(environment.info, workflow_id=pid, workflow_run_id="a run that is over")
        await environment.run(steps(here.repositories).check_deadline, what)
        assert (await here.repositories.processes.get(pid)).phase == "planning", (
            "a step that comes too late changes nothing"
        )
        environment.info = replace(environment.info, workflow_run_id=run_id)
        await environment.run(steps(here.repositories).check_deadline, what)
        row = await here.repositories.processes.get(pid)
        await here.handle(pid).terminate()
    assert (row.phase, row.round, row.run_id, row.epoch) == ("selecting", 0, run_id, 2)
