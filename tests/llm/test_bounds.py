"""What a call may cost, what a scene tells its models, what an answer to another input is worth, and an expired key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from activities.llm.model_calls import ModelCalls, Question, Settled
from tests.llm import requests
from tests.llm.test_anthropic_process import INTENT, PEOPLE
from tests.support.messages_api.fixtures import Engines, Serve
from tests.support.messages_api.responder import Responder
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tongyao.llm import prompts
from tongyao.llm.engine import CallKey, Usage
from tongyao.protocol.model import steps
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.records.budgets import DayBudgets
from tongyao.records.model_calls import CallClaim
from tongyao.records.process.process_rows import NewProcess


async def three(stack: Stack, **wish: Any) -> str:
    return await stack.start(await stack.people(PEOPLE), intent=INTENT, auto_confirm=True, **wish)


async def test_at_the_limit_the_demander_decides_before_a_call_is_made_that_could_break_it(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines
) -> None:
    engine = engine_at(serve(respond=Responder(rounds=6, exhausted_from=3)))
    async with open_stack(temporal, database_url, engine) as stack:
        process = await three(stack, cost_budget="0.80")
        await stack.until(process, "deciding")
        budget = await stack.repositories.budgets.get(process)
        assert (await stack.repositories.processes.get(process)).phase == "deciding"
        assert 0 < budget.settled_cost + budget.reserved_cost < Decimal("0.80")
        assert "decision_needed" in await stack.kinds(process)
        seen = (await stack.repositories.record(process)).observations
        assert seen and not (seen[-1].statements or seen[-1].words), "the catalyst could not be paid"

        accepted = await stack.say(process, "decide", decision="raise_budget", cost="20")
        record = await stack.end(process)
        raised = await stack.repositories.budgets.get(process)
        spent = await stack.repositories.ledger.usage(process)

    assert accepted.accepted
    assert record.phase is Phase.COMPLETED
    assert not record.plans[-1].reduced
    assert raised.limit_cost == Decimal(20)
    assert (raised.settled_cost, raised.reserved_cost, raised.reserved_tokens) == (spent.cost, Decimal(0), 0)
    assert raised.settled_tokens == spent.tokens


async def test_a_budget_that_is_set_late_counts_what_was_used_before(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines
) -> None:
    engine = engine_at(serve(respond=Responder(rounds=6)))
    async with open_stack(temporal, database_url, engine) as stack:
        process = await three(stack, max_rounds=2)
        await stack.until(process, "deciding")
        before = await stack.repositories.ledger.usage(process)
        limit = round(before.cost, 6) + Decimal("0.01")
        await stack.say(process, "decide", decision="raise_budget", cost=str(limit))
        await stack.say(process, "decide", decision="extend")
        await stack.until_round(process, "deciding", 3)
        budget = await stack.repositories.budgets.get(process)
        after = await stack.repositories.ledger.usage(process)

    assert before.cost > 0
    assert (budget.settled_tokens, budget.settled_cost) == (after.tokens, after.cost)
    assert budget.limit_cost == limit
    assert after.cost <= limit


async def test_when_the_budget_ends_and_the_demander_accepts_there_was_room_kept_for_a_plan(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines
) -> None:
    engine = engine_at(serve(respond=Responder(rounds=6)))
    async with open_stack(temporal, database_url, engine) as stack:
        process = await three(stack, cost_budget="0.80")
        await stack.until(process, "deciding")
        await stack.say(process, "decide", decision="accept_as_is")
        record = await stack.end(process)
        cost = (await stack.repositories.ledger.usage(process)).cost
    assert not record.plans[-1].reduced
    assert cost < Decimal("0.80")


async def test_a_scene_has_prompts_of_its_own_frozen_at_the_start_and_none_of_the_frame(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines
) -> None:
    server = serve()
    own = "# 修船厂的催化\n\n只看谁的工具能给谁用。"
    async with open_stack(temporal, database_url, engine_at(server)) as stack:
        scene = f"yard-{hashlib.sha256(database_url.encode()).hexdigest()[:6]}"
        people = await stack.people(PEOPLE, scene=scene)
        await stack.repositories.scenes.put(scene, "yard", {"prompts": {"observe": {"zh": own}}})
        process = await stack.start(people, scene=scene, intent=INTENT, auto_confirm=True)
        await stack.end(process)
        manifest = await stack.repositories.seats.manifest(process)

    told = [served.request["system"][0]["text"] for served in server.served]
    observing = [text for text in told if text.startswith(own)]
    assert observing
    assert all("材料" in text and "编号" in text for text in observing), "what is data and what an id is stays"
    assert not [text for text in told if "催化观察" in text]
    frozen = prompts.load("observe", "zh", own)
    assert frozen.text in observing
    assert manifest["prompts"]["observe"]["sha256"] == frozen.sha256


async def test_a_settled_answer_to_another_input_is_asked_anew(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines
) -> None:
    server = serve()
    engine = engine_at(server)
    async with open_stack(temporal, database_url, engine, workers_run=False) as stack:
        await stack.repositories.scenes.put("stale", "stale")
        process = await three(stack)
        calls = ModelCalls({"*": engine}, stack.repositories.ledger, worker="test")
        key = CallKey(process, "project", round=1, alias="P01")

        async def ask(request: EndpointRequest) -> Settled[ProjectionDraft]:
            return await calls.call(Question(steps.PROJECT, key, request, owner="owner", seconds=30))

        first = await ActivityEnvironment().run(ask, requests.endpoint())
        again = await ActivityEnvironment().run(ask, requests.endpoint())
        assert (again, len(server.served)) == (first, 1)
        other = requests.endpoint().model_copy(update={"round": 1, "alias": "P02"})
        await ActivityEnvironment().run(ask, other)
        await ActivityEnvironment().run(ask, other)
        assert len(server.served) == 2
        await stack.handle(process).terminate()  # else the worker of the next stack takes it up


async def test_a_key_that_expires_suspends_with_its_reason_and_a_mended_one_goes_on(
    temporal: Client, database_url: str, serve: Serve, engine_at: Engines
) -> None:
    answers = Responder()
    server = serve(keys=frozenset({"test-key"}))

    def expire(request: Mapping[str, Any]) -> str:
        said = answers(request)
        if '"verdict"' in said and not refused:
            refused.append(len(server.served))
            server.keys = frozenset()
        return said

    refused: list[int] = []
    server.respond = expire
    async with open_stack(temporal, database_url, engine_at(server)) as stack:
        process = await three(stack)
        await stack.until_suspended(process)
        row = await stack.repositories.processes.get(process)
        shown = await stack.handle(process).query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
        before = await stack.repositories.record(process)
        failed = [call for call in await stack.repositories.ledger.calls(process) if call.state == "failed"]

        assert "ANTHROPIC_API_KEY), then resume" in row.suspended_reason
        assert list(row.suspended) == ["unauthorized"], "operators resume by this code"
        assert row.suspended_reason in shown.current_details
        assert {call.error_reason for call in failed} == {"unauthorized"}
        assert len(failed) <= 6, "each that spoke at once, then each alone, none a third time"

        server.keys = frozenset({"test-key"})
        await stack.say(process, "resume", role="operator")
        record = await stack.end(process)
    assert record.phase is Phase.COMPLETED
    assert record.projections[: len(before.projections)] == before.projections, "nothing was lost"


async def test_a_process_beyond_the_day_budget_is_suspended_and_needs_no_operator(
    temporal: Client, fresh_database_url: str
) -> None:
    day = DayBudgets(tokens=1)
    async with open_stack(temporal, fresh_database_url, ScriptedEngine(Script()), day=day) as stack:
        ledger = stack.repositories.ledger
        earlier = NewProcess(id="earlier", demander="somebody", language="en", intent_text_id=None)
        await stack.repositories.processes.create(earlier)
        key = CallKey("earlier", "observe", round=1)
        attempt = await ledger.claim(key, input_hash="-", engine="test", model="", worker="test")
        assert isinstance(attempt, CallClaim)
        await ledger.fail(key, attempt, "cut", usage=Usage(input_tokens=1))
        pid = await three(stack)
        await stack.until_suspended(pid)
        suspended = (await stack.repositories.processes.get(pid)).suspended
        asks = await stack.repositories.inbox.of_process(pid, open_only=True)
        await stack.handle(pid).cancel()
    assert tuple(suspended) == ("day_budget",)
    assert "resume" not in [one.ask for one in asks]
