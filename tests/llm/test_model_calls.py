"""A model call is repeated by another worker: what was settled before is found, whatever it answered (docs/protocol.md §8.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from temporalio.testing import ActivityEnvironment

from activities.llm.model_calls import ModelCalls, Question, Settled
from tests.llm import requests
from tests.support.scripted import Rule, Script, ScriptedEngine
from tongyao.llm.engine import CallKey
from tongyao.protocol.model import steps
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.records.database import Pool, open_pool
from tongyao.records.process.processes import NewProcess, Processes
from tongyao.records.repositories import Repositories


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, max_size=2, application_name="tests")
    yield pool
    await pool.close()


@pytest.fixture
async def question(pool: Pool) -> Question[EndpointRequest, ProjectionDraft]:
    process = f"process-{uuid4().hex[:12]}"
    await Processes(pool).create(NewProcess(id=process, demander="d", language="en", intent_text_id=None))
    key = CallKey(process, "project", round=1, alias="P01")
    return Question(steps.PROJECT, key, requests.endpoint(), owner="owner", seconds=30)


async def test_the_repair_of_an_unreadable_answer_is_found_by_the_next_worker(
    pool: Pool, question: Question[EndpointRequest, ProjectionDraft]
) -> None:
    ledger = Repositories(pool).ledger
    first_answer = Rule(step="project", reask=0, attempt=1, do="unreadable", text="no JSON at all")
    engine = ScriptedEngine(Script(rules=[first_answer]))

    async def ask(worker: str) -> tuple[Settled[ProjectionDraft], bool]:
        return await ModelCalls({"*": engine}, ledger, worker=worker).ask(question)

    given = await ActivityEnvironment().run(ask, "that dies after this")
    again = await ActivityEnvironment().run(ask, "that takes over")

    assert again == given
    assert given[1], "the one repair is used up"
    assert [one.key.reask for one in engine.received] == [0, 1]
    settled = Counter(call.reask for call in await ledger.calls(question.key.process) if call.state == "settled")
    assert settled == {1: 1}
