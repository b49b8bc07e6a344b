"""Model calls that are answered from outside: a whole process, leases, repairs, time-outs and kills (docs/models.md, "Delegated")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from temporalio.client import Client

from tests.support.answering import answer_to
from tests.support.stack import Stack, open_stack
from tongyao.app import calls
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.calls import AnswerCallBody, CallRequest, NextCallBody
from tongyao.llm.delegated import CallAnswers, DelegatedEngine

NAMES = ("ada", "bo", "cy", "di", "ed")
PEOPLE = {
    name: f"I live by the harbour. I can offer ten years of readings of {name}. I will not travel." for name in NAMES
}


def answerer(name: str) -> Caller:
    return Caller(Role.ANSWERER, id="test", login=name, on_the_machine=True)


Opened = Callable[[], AbstractAsyncContextManager[Stack]]


@pytest.fixture
def opened(temporal: Client, database_url: str) -> Opened:
    @asynccontextmanager
    async def stack() -> AsyncIterator[Stack]:
        async with open_stack(temporal, database_url, DelegatedEngine()) as here:
            yield Stack(replace(here.context, call_answers=CallAnswers()))

    return stack


async def taken(here: Stack, pid: str, name: str = "ann", **which: Any) -> CallRequest:
    """The next call of the process, once there is one."""
    body = NextCallBody.model_validate({"process_id": pid, "wait_seconds": 30, **which})
    found = await calls.next_call(here.context, answerer(name), body)
    assert found.call is not None
    return found.call


async def answered(here: Stack, call: CallRequest, text: str = "", name: str = "ann") -> None:
    text = text or answer_to(call.step, call.input, round=call.round)
    await calls.answer_call(here.context, answerer(name), call.id, AnswerCallBody(text=text))


async def answer_all(here: Stack, pid: str, see: Callable[[CallRequest], Awaitable[None]] | None = None) -> list[str]:
    """Answer every call until the process has ended; returns `step/round/alias` of each, in order."""
    asked: list[str] = []
    while (await here.repositories.processes.get(pid)).ended_at is None:
        body = NextCallBody(process_id=pid, wait_seconds=2)
        if (call := (await calls.next_call(here.context, answerer("ann"), body)).call) is None:
            continue
        asked.append(f"{call.step}/{call.round}/{call.alias}" + "/repair" * call.repair)
        if see is not None:
            await see(call)
        await answered(here, call)
    return asked


async def test_five_people_and_an_assistant_that_answers_every_call(opened: Opened) -> None:
    async with opened() as here:
        people = await here.people(PEOPLE)
        pid = await here.start(people, auto_confirm=True)
        asked = await answer_all(here, pid)
        record = await here.repositories.record(pid)
        rows = await here.repositories.ledger.calls(pid)
        manifest = await here.repositories.seats.manifest(pid)

    assert record.plans and len(record.deliveries) == 5
    assert asked[0] == "formulate/0/"
    assert {one for one in asked if one.startswith("project/1")} == {f"project/1/P0{number}" for number in range(1, 6)}
    assert asked.count("observe/1/") == 1
    assert len(set(asked)) == len(asked), "no call was asked twice"
    assert {row.state for row in rows} == {"settled"}
    assert {row.model for row in rows} == {"ann"}
    assert all(row.tokens and row.prompt_hash and "tokens_estimated" in row.labels for row in rows)
    assert manifest["answerers"] == {"ann": dict.fromkeys(("formulate", "project", "observe", "plan", "deliver"), True)}


async def test_a_worker_that_dies_between_answer_and_settling_loses_nothing(
    temporal: Client, database_url: str, opened: Opened
) -> None:
    """The answer is stored while no worker runs; another worker reads it, and nobody is asked twice."""
    async with opened() as here:
        pid = await here.start(await here.people(PEOPLE), auto_confirm=True)
        first = await taken(here, pid)
    async with open_stack(temporal, database_url, DelegatedEngine(), workers_run=False) as bare:
        alone = Stack(replace(bare.context, call_answers=CallAnswers()))
        await answered(alone, first)
        [row] = await alone.repositories.ledger.calls(pid)
        assert row.state == "answered"
    async with opened() as here:
        asked = await answer_all(here, pid)
        rows = await here.repositories.ledger.calls(pid)
    assert "formulate/0/" not in asked and asked[0] == "formulate/0//repair"
    assert [row.state for row in rows if row.step == "formulate"] == ["settled", "settled"]
    assert {row.attempt for row in rows} == {1}, "no call was made twice"
