"""The engine, against a real HTTP server that speaks the Messages API."""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.llm import requests
from tests.support.messages_api.faults import Fault, always, planned
from tests.support.messages_api.fixtures import Engines, Serve
from tests.support.messages_api.responder import Responder
from tongyao.llm.anthropic.engine import Parameters
from tongyao.llm.anthropic.step_settings import DEFAULTS, MIDDLE, STRONG, StepSettings
from tongyao.llm.dialogue import ModelPrompt
from tongyao.llm.engine import Answer, Reask
from tongyao.llm.errors import Cut, Failure, ModelRefused, OperatorNeeded, Unreadable
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.plan import DeliveryDraft


async def test_every_step_is_answered_in_its_own_shape(serve: Serve, engine_at: Engines) -> None:
    engine = engine_at(serve())
    tension = await engine.answer(steps.FORMULATE, requests.formulation(), requests.call("formulate"))
    projection = await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    observation = await engine.answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))
    plan = await engine.answer(steps.PLAN, requests.planner(), requests.call("plan"))
    delivery = await engine.answer(steps.DELIVER, requests.delivery(), requests.call("deliver"))

    assert tension.draft.transition
    assert projection.draft.items
    assert all(quote in requests.PROFILE for item in projection.draft.items for quote in item.quotes)
    looked_at = [*(relation.between for relation in observation.draft.relations), *observation.draft.none]
    pairs = [between for between in looked_at if between[1].startswith("P")]
    assert sorted(pairs) == [["P01", "P02"], ["P01", "P03"], ["P02", "P03"]]
    assert {role.alias for role in plan.draft.roles} == {"P01", "P02", "P03"}
    assert delivery.draft.asked


async def test_the_strong_model_observes_and_plans_the_middle_one_does_the_rest(
    serve: Serve, engine_at: Engines
) -> None:
    server = serve()
    engine = engine_at(server, models={"deliver": "claude-haiku-5-5"})
    await engine.answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))
    await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    await engine.answer(steps.DELIVER, requests.delivery(), requests.call("deliver"))

    assert [served.request["model"] for served in server.served] == [STRONG, MIDDLE, "claude-haiku-5-5"]
    assert engine.model_for("plan") == STRONG


async def test_an_answer_carries_what_it_used_and_cost(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    answer = await engine_at(server).answer(steps.PROJECT, requests.endpoint(), requests.call("project"))

    count = server.served[0].count
    assert count is not None
    used = answer.usage
    assert (used.input_tokens, used.cache_write_tokens, used.cache_read_tokens) == (
        count.fresh,
        count.written,
        count.read,
    )
    assert used.output_tokens == server.served[0].output_tokens > 0
    assert used.requests == 1
    rate = Decimal(2) * used.input_tokens + Decimal("2.5") * used.cache_write_tokens + Decimal(10) * used.output_tokens
    assert answer.cost == rate / 1_000_000
    assert answer.model == MIDDLE


async def test_a_model_without_a_price_is_labelled_not_free(serve: Serve, engine_at: Engines) -> None:
    engine = engine_at(serve(), models={"project": "somebody-elses-model"})
    answer = await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert "price_unknown" in answer.labels


async def test_the_schema_is_sent_and_the_verdict_stands_first_in_it(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    await engine_at(server).answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))
    output = server.served[0].request["output_config"]["format"]
    assert output["type"] == "json_schema"
    assert next(iter(output["schema"]["properties"])) == "verdict"
    assert set(output["schema"]["required"]) == set(output["schema"]["properties"])


@pytest.mark.parametrize("wrap", ["```json\n{}\n```", "Here it is:\n\n```\n{}\n```\nThat is all.", "Well. {} Done."])
async def test_a_server_without_schemas_is_understood(serve: Serve, engine_at: Engines, wrap: str) -> None:
    responder = Responder()
    server = serve(knows=frozenset(), respond=lambda request: wrap.replace("{}", responder(request)))
    engine = engine_at(server)
    first = await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    await engine.answer(steps.PROJECT, requests.endpoint(alias="P02"), requests.call("project", alias="P02"))

    assert first.draft.items
    assert server.served[0].status == 400, "the first request learns what the server does not know"
    assert first.usage.requests == server.calls - 1
    last = server.served[-1]
    assert last.status == 200
    assert "output_config" not in last.request
    assert "cache_control" not in json.dumps(last.request)


async def test_a_model_with_short_answers_is_asked_for_no_more_than_it_can(serve: Serve, engine_at: Engines) -> None:
    server = serve(longest=8_192)
    engine = engine_at(server)
    for _ in range(2):
        assert (await engine.answer(steps.PLAN, requests.planner(), requests.call("plan"))).draft.roles
    assert [served.status for served in server.served] == [400, 200, 200]
    assert server.served[-1].request["max_tokens"] == 8_192


async def test_a_cut_answer_is_asked_for_again_with_more_room(serve: Serve, engine_at: Engines) -> None:
    server = serve(faults=planned([Fault.TRUNCATION]))
    answer = await engine_at(server).answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))

    assert answer.draft.relations or answer.draft.none
    assert answer.labels == ("limit_doubled",)
    assert answer.usage.requests == 2
    assert answer.usage.output_tokens == sum(served.output_tokens for served in server.served)
    first, second = (served.request["max_tokens"] for served in server.served)
    assert second == 2 * first


async def test_an_answer_cut_twice_is_never_taken_for_whole(serve: Serve, engine_at: Engines) -> None:
    server = serve(faults=always(Fault.TRUNCATION))
    with pytest.raises(Cut) as caught:
        await engine_at(server).answer(steps.PLAN, requests.planner(), requests.call("plan"))
    assert server.calls == caught.value.usage.requests == 2
    assert caught.value.cost > 0, "what was cut is paid for"


async def test_limits_grow_with_the_participants(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    engine = engine_at(server, steps={"observe": StepSettings("m", 1_000, 100)})
    await engine.answer(steps.OBSERVE, requests.catalyst(), requests.call("observe"))
    five = ("P01", "P02", "P03", "P04", "P05")
    await engine.answer(steps.OBSERVE, requests.catalyst(aliases=five), requests.call("observe"))
    assert [served.request["max_tokens"] for served in server.served] == [1_300, 2_000]
    assert engine.limit_for("observe", 10) == 2_000


async def test_a_refusal_has_a_name_and_is_not_repeated(serve: Serve, engine_at: Engines) -> None:
    server = serve(faults=always(Fault.REFUSAL))
    with pytest.raises(ModelRefused, match="declined to answer project") as caught:
        await engine_at(server).answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    assert caught.value.reason == "refused"
    assert server.calls == 1


@pytest.mark.parametrize("fault", [Fault.INVALID_JSON, Fault.WRONG_SCHEMA])
async def test_another_shape_is_unreadable_and_keeps_its_text(serve: Serve, engine_at: Engines, fault: Fault) -> None:
    with pytest.raises(Unreadable) as caught:
        await engine_at(serve(faults=always(fault))).answer(steps.PLAN, requests.planner(), requests.call("plan"))
    assert caught.value.text
    assert caught.value.usage.output_tokens > 0


async def test_a_reask_goes_on_with_the_conversation(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    complaint = "items.0: the quote is not in the profile\nignore this"
    reask = Reask(previous='{"nothing_new": false, "items": []}', complaints=(complaint,))
    await engine_at(server).answer(steps.PROJECT, requests.endpoint(), requests.call("project", reask=reask))

    first, previous, asked = server.served[0].request["messages"]
    assert (first["role"], previous["role"], asked["role"]) == ("user", "assistant", "user")
    assert previous["content"] == reask.previous
    assert asked["content"].endswith("- items.0: the quote is not in the profile ignore this")


async def test_a_reask_about_nothing_at_all_needs_no_previous_answer(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    reask = Reask(previous="", complaints=("the answer was empty",))
    await engine_at(server).answer(steps.PROJECT, requests.endpoint(), requests.call("project", reask=reask))
    (only,) = server.served[0].request["messages"]
    assert "the answer was empty" in only["content"][-1]["text"]


async def test_on_a_reask_what_is_readable_is_kept(serve: Serve, engine_at: Engines) -> None:
    item = {"kind": "capability", "text": "c", "about": ["B1"], "quotes": ["q"], "inferred": True, "replaces": []}
    text = json.dumps({"items": [item, {**item, "kind": "vibes"}]})
    engine = engine_at(serve(respond=lambda request: text))

    with pytest.raises(Unreadable, match=r"items\.1\.kind"):
        await engine.answer(steps.PROJECT, requests.endpoint(), requests.call("project"))
    again = await engine.answer(
        steps.PROJECT,
        requests.endpoint(),
        requests.call("project", reask=Reask(previous=text, complaints=("wrong shape",))),
    )
    assert len(again.draft.items) == 1
    assert again.labels == ("unreadable_elements:1",)


async def test_a_scene_may_override_the_prompt_but_not_the_frame(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    override = "---\nversion: club-3\n---\nProject what this person plants."
    await engine_at(server).answer(
        steps.PROJECT, requests.endpoint(), requests.call("project", prompt_override=override)
    )
    (system,) = server.served[0].request["system"]
    assert system["text"].startswith("Project what this person plants.")
    assert "<data …>" in system["text"]


async def test_a_catalyst_that_says_exhausted_is_read_so(serve: Serve, engine_at: Engines) -> None:
    engine = engine_at(serve(respond=Responder(exhausted_from=3)))
    second = await engine.answer(steps.OBSERVE, requests.catalyst(round=2), requests.call("observe", round=2))
    third = await engine.answer(steps.OBSERVE, requests.catalyst(round=3), requests.call("observe", round=3))
    assert (second.draft.verdict, third.draft.verdict) == (Verdict.MORE, Verdict.EXHAUSTED)


async def test_a_wrong_key_needs_an_operator(serve: Serve, engine_at: Engines) -> None:
    with pytest.raises(OperatorNeeded, match="ANTHROPIC_API_KEY"):
        await engine_at(serve(keys=frozenset({"another"}))).answer(
            steps.PROJECT, requests.endpoint(), requests.call("project")
        )


def test_every_step_has_settings() -> None:
    assert set(DEFAULTS) == {"formulate", "project", "observe", "plan", "deliver"}


async def test_a_server_that_looks_for_the_key_in_the_other_header_finds_it_there(
    serve: Serve, engine_at: Engines
) -> None:
    server = serve(keys=frozenset({"test-key"}), old_header=True)
    engine = engine_at(server)
    for _ in range(2):
        await engine.answer(steps.DELIVER, requests.delivery(), requests.call("deliver"))
    assert [served.status for served in server.served] == [401, 200, 200]


@pytest.mark.parametrize("key", ["test-key", "another"])
async def test_calls_at_once_each_try_the_other_header_once(serve: Serve, engine_at: Engines, key: str) -> None:
    server = serve(keys=frozenset({key}), old_header=True)
    engine = engine_at(server)
    asked = (engine.answer(steps.DELIVER, requests.delivery(), requests.call("deliver")) for _ in range(3))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    if key == "test-key":
        assert [isinstance(answer, Answer) for answer in answers] == [True] * 3
        assert sorted(served.status for served in server.served) == [200] * 3 + [401] * 3
    else:
        assert [type(answer) for answer in answers] == [OperatorNeeded] * 3
        assert len(server.served) <= 6


def test_what_a_refusal_named_stays_left_out_when_a_trial_without_more_is_undone() -> None:
    parameters = Parameters()

    def sent() -> dict[str, Any]:
        said = [{"role": "user", "content": "?"}]
        return parameters.body(ModelPrompt("deliver", "m", "low", "s", said, DeliveryDraft), 1_000)

    assert parameters.learn(sent(), Failure(400, message="effort: unknown"))
    body = sent()
    assert parameters.try_without(body, Failure(400, message="bad request"))
    assert "output_config" not in sent()
    parameters.restore(body)
    assert set(sent()["output_config"]) == {"format"}


async def test_who_wants_to_hear_an_answer_hears_it_grow(serve: Serve, engine_at: Engines) -> None:
    heard: list[str] = []
    call = replace(requests.call("formulate"), hear=heard.append)
    answer = await engine_at(serve(deltas=5)).answer(steps.FORMULATE, requests.formulation(), call)
    assert len(heard) > 1
    assert all(after.startswith(before) for before, after in itertools.pairwise(heard))
    assert heard[-1] == answer.text
