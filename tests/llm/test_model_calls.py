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

from activities.llm import model_calls
from activities.llm.model_calls import ModelCalls, Question, Settled
from tests.llm import requests
from tests.support.scripted import Do, Rule, Script, ScriptedEngine
from tongyao.llm.engine import Bound, CallKey
from tongyao.llm.errors import ModelRefused, OutOfBudget, Transient
from tongyao.protocol.model import steps
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.records.budgets import BudgetExceeded, Reservation
from tongyao.records.database import Pool, open_pool
from tongyao.records.model_calls import CallClaim, Ledger, RepliedCall, SettledCall, WaitingCall
from tongyao.records.process.process_rows import NewProcess, Processes
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

    calls = ModelCalls({"*": Costly(Script())}, Waits(pool), worker="w", most_at_once=1)
    asking = asyncio.ensure_future(ActivityEnvironment().run(calls.ask, question))
    await waiting.wait()
    third = replace(ANOTHER(process), alias="P03")
    claim = await records.ledger.claim(third, input_hash="h", engine="e", model="m", worker="w", seconds=60, most=1)
    assert isinstance(claim, CallClaim)
    await records.ledger.fail(third, claim, "overloaded")
    await records.ledger.release(ANOTHER(process), worker="w")
    await asking


class Busy(ScriptedEngine):
    """Counts the calls under way. With `never`, no call ends."""

    under_way = most = 0
    never = False

    async def answer(self, *asked: Any, **named: Any) -> Any:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self.never:
                await asyncio.Event().wait()
            return await super().answer(*asked, **named)
        finally:
            self.under_way -= 1


def other(
    question: Question[EndpointRequest, ProjectionDraft], alias: str
) -> Question[EndpointRequest, ProjectionDraft]:
    return replace(question, key=replace(question.key, alias=alias))


async def test_whoever_waits_for_a_slot_goes_on_when_a_call_ends(
    pool: Pool, question: Question[EndpointRequest, ProjectionDraft]
) -> None:
    engine = Busy(Script())
    workers = [ModelCalls({"*": engine}, Ledger(pool), worker=worker, most_at_once=1) for worker in ("w1", "w2")]
    asked = [(workers[n % 2], other(question, f"P{n:02}")) for n in range(1, 6)]
    await asyncio.gather(*(ActivityEnvironment().run(calls.ask, one) for calls, one in asked))
    assert (engine.most, len(engine.received)) == (1, 5)


@pytest.mark.parametrize("end", ["cancelled", "out of time", "failed"])
async def test_a_call_that_ends_without_an_answer_holds_no_slot(
    pool: Pool, question: Question[EndpointRequest, ProjectionDraft], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(model_calls, "SLOT_SECONDS", 0)
    engine = Busy(Script(rules=[Rule(step="project", alias="P01", do="refused")] if end == "failed" else []))
    engine.never = end != "failed"
    calls = ModelCalls({"*": engine}, Ledger(pool), worker="w", most_at_once=1)
    first = replace(question, seconds=0.01) if end == "out of time" else question
    asking = asyncio.ensure_future(ActivityEnvironment().run(calls.ask, first))
    if end == "cancelled":
        while not engine.under_way:
            await asyncio.sleep(0)
        with pytest.raises(Transient) as full:
            await ActivityEnvironment().run(calls.ask, other(question, "P02"))
        assert full.value.reason == "no_slot"
        asking.cancel()
    with pytest.raises((asyncio.CancelledError, Transient, ModelRefused)):
        await asking
    engine.never = False
    await ActivityEnvironment().run(calls.ask, other(question, "P03"))
