"""A model call is repeated by another worker: what was settled before is found, whatever it answered (docs/protocol.md §8.1)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import uuid4

import pytest
from temporalio.testing import ActivityEnvironment

from activities.llm.model_calls import SLOT_SECONDS, ModelCalls, Question, Settled
from tests.llm import requests
from tests.support.scripted import Do, Rule, Script, ScriptedEngine
from tongyao.llm.engine import Bound, CallKey
from tongyao.llm.errors import ModelRefused, OutOfBudget
from tongyao.protocol.model import steps
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.records.budgets import BudgetExceeded, Reservation
from tongyao.records.call_slots import CallSlots
from tongyao.records.database import Pool, open_pool
from tongyao.records.model_calls import CallClaim, Ledger, RepliedCall, SettledCall, WaitingCall
from tongyao.records.process.processes import NewProcess, Processes
from tongyao.records.repositories import Repositories

MOST: Final = 10


ANOTHER = partial(CallKey, step="project", round=1, alias="P02")


async def claimed(records: Repositories, process: str) -> None:
    """Another call of the process holds the whole budget."""
    most = Reservation(tokens=MOST)
    await records.ledger.claim(ANOTHER(process), input_hash="h", engine="e", model="m", worker="w", reserve=most)


class Costly(ScriptedEngine):
    """A call can use all of `MOST` tokens."""

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        return Bound(tokens=MOST if step == steps.PROJECT.name else 0)


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


@pytest.mark.parametrize("do", ["answer", "refused"])
async def test_whatever_ends_a_call_is_stored_with_what_it_used_of_the_budget(
    pool: Pool, question: Question[EndpointRequest, ProjectionDraft], do: Do
) -> None:
    records, process = Repositories(pool), question.key.process
    await records.budgets.open(process, cost=Decimal(5))
    engine = ScriptedEngine(Script(rules=[Rule(step="project", do=do, cost=Decimal("0.2"))]))
    calls = ModelCalls({"*": engine}, records.ledger, worker="w")

    with suppress(ModelRefused):
        await ActivityEnvironment().run(calls.ask, question)

    budget = await records.budgets.get(process)
    assert [call.cost for call in await records.ledger.calls(process)] == [Decimal("0.2")]
    assert (budget.reserved_cost, budget.settled_cost) == (Decimal(0), Decimal("0.2"))


async def test_a_call_that_others_leave_no_room_for_is_out_of_budget_once_its_time_is_over(
    pool: Pool, question: Question[EndpointRequest, ProjectionDraft]
) -> None:
    records, process = Repositories(pool), question.key.process
    await records.budgets.open(process, tokens=MOST)
    await claimed(records, process)
    calls = ModelCalls({"*": Costly(Script())}, records.ledger, worker="w")
    with pytest.raises(OutOfBudget):
        await ActivityEnvironment().run(calls.ask, replace(question, seconds=0))
    assert [call.alias for call in await records.ledger.calls(process)] == ["P02"], "what has no room is not claimed"


async def test_a_call_that_waits_for_its_budget_holds_no_slot(
    pool: Pool, question: Question[EndpointRequest, ProjectionDraft]
) -> None:
    records, process = Repositories(pool), question.key.process
    await records.budgets.open(process, tokens=MOST)
    await claimed(records, process)
    waiting = asyncio.Event()

    class Waits(Ledger):
        async def claim(self, *values: Any, **named: Any) -> CallClaim | SettledCall | WaitingCall | RepliedCall:
            try:
                return await super().claim(*values, **named)
            except BudgetExceeded:
                waiting.set()
                raise

    slots = CallSlots(pool, 1)
    calls = ModelCalls({"*": Costly(Script())}, Waits(pool), worker="w", slots=slots)
    asking = asyncio.ensure_future(ActivityEnvironment().run(calls.ask, question))
    await waiting.wait()
    async with slots.taken(wait=SLOT_SECONDS):
        await records.ledger.release(ANOTHER(process))
    await asking
    await slots.aclose()
