"""Any model through pydantic-ai, against local servers that speak the APIs of OpenAI, Google, Bedrock and Ollama."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.llm import requests
from tests.support.messages_api.faults import Fault, always, planned
from tests.support.other_apis.server import CACHED, OtherApis
from tongyao.llm.engine import Reask
from tongyao.llm.errors import Cut, EngineError, ModelRefused, OperatorNeeded, StepFailed, Transient
from tongyao.llm.pydantic_ai_engine import PydanticAIEngine
from tongyao.protocol.model import steps
from tongyao.protocol.model.steps import STEPS

MODELS = {
    "responses": "openai:gpt-5-mini",
    "chat": "openai-chat:gpt-4.1",
    "google": "google:gemini-3-pro-preview",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "ollama": "ollama:qwen3",
}
PRICED = ("responses", "chat", "google", "bedrock")
Serve = Callable[..., OtherApis]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """`serve(faults=…, …)` starts a server of all APIs, and names it and a key in each provider's own variables."""
    with ExitStack() as stack:

        def start(**options: Any) -> OtherApis:
            server = stack.enter_context(OtherApis(**{"knows": frozenset({"schema"}), **options}))
            _point_at(monkeypatch, server.base_url)
            return server

        yield start


def _point_at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    variables = {
        "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "k", "OLLAMA_BASE_URL": f"{address}/v1",
        "GOOGLE_GEMINI_BASE_URL": address, "GOOGLE_API_KEY": "k", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": address,
        "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def _engine(api: str, **options: Any) -> PydanticAIEngine:
    return PydanticAIEngine(dict.fromkeys(STEPS, MODELS[api]), **options)


@pytest.mark.parametrize("api", MODELS)
async def test_every_step_is_answered_with_what_it_used_and_cost(serve: Serve, api: str) -> None:
    server = serve()
    engine = _engine(api)
    told: list[str] = []
    given = requests.call("formulate")
    tension = await engine.answer(steps.FORMULATE, requests.formulation(), replace(given, hear=told.append))
    projection = await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    observation = await engine.answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))
    plan = await engine.answer(steps.PLAN, requests.planner(), requests.call("plan"))
    delivery = await engine.answer(steps.DELIVER, requests.delivery(), requests.call("deliver"))

    assert tension.draft.transition and delivery.draft.asked and observation.draft.relations
    assert all(quote in requests.PROFILE for item in projection.draft.items for quote in item.quotes)
    assert {role.alias for role in plan.draft.roles} == {"P01", "P02", "P03"}
    assert told[-1] == tension.text, "the answer is heard while it comes"
    assert (projection.engine, projection.model) == ("models", MODELS[api])
    assert (projection.usage.cache_read_tokens, projection.usage.requests) == (CACHED, 1)
    assert projection.usage.output_tokens == server.served[1].output_tokens > 0
    assert projection.usage.input_tokens > 100
    if api in PRICED:
        assert projection.cost > 0 and "price_unknown" not in projection.labels
        assert engine.bound("plan", "x" * 3_000, 3).cost > plan.cost
    else:
        assert projection.cost == 0 and "price_unknown" in projection.labels
    assert all(served.request["schema"] for served in server.served), "each model is told the form of its answer"
    assert "project" in str(server.served[1].request["system"]).lower()


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        (Fault.BAD_REQUEST, StepFailed, "bad_request"),
        (Fault.TOO_LARGE, StepFailed, "too_large"),
        (Fault.REFUSAL, ModelRefused, "refused"),
        (Fault.UNAUTHORIZED, OperatorNeeded, "unauthorized"),
        (Fault.FORBIDDEN, OperatorNeeded, "forbidden"),
        (Fault.NO_CREDIT, OperatorNeeded, "no_credit"),
        (Fault.RATE_LIMITED, Transient, "rate_limited"),
        (Fault.SERVER_ERROR, Transient, "server_error"),
        (Fault.OVERLOADED, Transient, "overloaded"),
        (Fault.CUT_STREAM, Transient, "broken"),
        (Fault.STALLED_STREAM, Transient, "stalled"),
    ],
)
async def test_a_fault_leads_to_the_outcome_that_it_has_with_claude(
    serve: Serve, api: str, fault: Fault, kind: type[EngineError], reason: str
) -> None:
    server = serve(faults=always(fault))
    engine = _engine(api, idle=1.0 if fault is Fault.STALLED_STREAM else 60)
    with pytest.raises(EngineError) as caught:
        await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert (type(caught.value), caught.value.reason) == (kind, reason)
    assert caught.value.usage.requests == server.calls == 1, "nothing below the engine repeats a request"
    assert caught.value.model == MODELS[api]


async def test_the_wait_that_a_server_names_is_passed_on(serve: Serve) -> None:
    serve(faults=planned([Fault.RATE_LIMITED]), retry_after=7)
    engine = _engine("chat")
    with pytest.raises(Transient) as caught:
        await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert caught.value.retry_after == 7
    assert (await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))).draft.items


async def test_a_server_without_schemas_and_with_short_answers_is_asked_for_no_more(serve: Serve) -> None:
    server = serve(knows=frozenset(), longest=8_192)
    engine = _engine("ollama")
    first = await engine.answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))
    await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert first.draft.relations and first.usage.requests == 3
    assert [served.status for served in server.served] == [400, 400, 200, 200], "each refusal is learned from once"
    assert server.served[-1].request["schema"] is None and server.served[-1].request["max_tokens"] == 8_192


async def test_a_cut_answer_is_asked_for_once_more_and_never_used(serve: Serve) -> None:
    server = serve(faults=always(Fault.TRUNCATION))
    with pytest.raises(Cut) as caught:
        await _engine("chat").answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert [served.request["max_tokens"] for served in server.served] == [10_000, 20_000]
    assert caught.value.usage.requests == 2 and caught.value.cost > 0


async def test_a_repair_follows_the_first_answer(serve: Serve) -> None:
    server = serve()
    asked = requests.call("project", reask=Reask(previous='{"items": []}', complaints=("Say more.",)))
    await _engine("responses").answer(steps.PROJECT, requests.endpoint(), asked)
    said = server.served[0].request["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    assert "Say more." in str(said[2])


async def test_an_answer_that_takes_too_long_is_given_up(serve: Serve) -> None:
    serve(latency=30)
    asked = requests.call("project")
    with pytest.raises(Transient, match=r"no whole answer within 1\.2\d* s"):
        await _engine("chat").answer(steps.PROJECT, requests.endpoint(), replace(asked, seconds=1.3))


@pytest.mark.parametrize("api", MODELS)
async def test_no_server_needs_an_operator(monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        _point_at(monkeypatch, f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(OperatorNeeded, match="no server answers") as caught:
            await _engine(api).answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert caught.value.reason == "no_server"


async def test_no_words_of_a_profile_reach_the_operator(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(knows=frozenset())
    server.longest = 100
    engine = _engine("chat")
    echo = f"messages: cannot read {requests.PROFILE[:200]}"
    monkeypatch.setattr(server, "_refused", lambda request: echo)
    with pytest.raises(StepFailed) as caught:
        await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert "lighthouse" not in str(caught.value)


def test_a_model_that_cannot_be_made_is_said_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=r"openai:gpt-5.*OPENAI_API_KEY"):
        PydanticAIEngine({"plan": "openai:gpt-5"})
    with pytest.raises(ValueError, match="nobody:at-all"):
        PydanticAIEngine({"plan": "nobody:at-all"})


def test_a_price_table_of_ones_own_goes_first(serve: Serve) -> None:
    from tongyao.llm.prices import PriceTable

    serve()
    rates = {"input": "1", "output": "1", "cache_write": "1", "cache_read": "1"}
    table = PriceTable.model_validate_json(json.dumps({"as_of": "2026-11-01", "models": {"ollama:qwen3": rates}}))
    bound = _engine("ollama", prices=table).bound("deliver", "")
    assert bound.cost == Decimal(bound.tokens) / 1_000_000
