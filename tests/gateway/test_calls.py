"""Model calls answered from outside, through every door: a real MCP client, the API, the console; and who may see what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from mcp.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from temporalio.client import Client

from tests.gateway.conftest import UNLIMITED, GatewayHarness, said_by, text_of, until_served
from tests.support.answering import answer_to
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tests.support.until import until
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.server import application, listen, serve, url_of
from tongyao.llm.delegated import DelegatedAnswers, DelegatedEngine

PEOPLE = {
    name: f"I live by the harbour. I can offer ten years of readings of {name}. I will not travel."
    for name in ("ada", "bo", "cy", "di", "ed")
}


@pytest.fixture
async def delegating(temporal: Client, database_url: str) -> AsyncIterator[GatewayHarness]:
    """A gateway of a stack whose model calls wait for answers."""
    async with open_stack(temporal, database_url, DelegatedEngine()) as stack:
        context = replace(stack.context, options=GatewayOptions(**UNLIMITED), call_answers=DelegatedAnswers())
        yield GatewayHarness(stack, context, application(context), ScriptedEngine(Script()))


async def token_of(gateway: GatewayHarness, name: str, **limits: Any) -> str:
    issued = await gateway.context.repositories.tokens.issue("calls", label=name, **limits)
    return issued.secret


@asynccontextmanager
async def assistant(gateway: GatewayHarness, token: str) -> AsyncIterator[McpClient]:
    """A real client over streamable HTTP, configured as `tongyao calls connect` says."""
    stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
    server = asyncio.create_task(serve(gateway.context, stop, bound))
    try:
        await until_served(url_of(bound))
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
            McpClient(streamable_http_client(f"{url_of(bound)}/mcp", http_client=http)) as client,
        ):
            yield client
    finally:
        stop.set()
        await server


@pytest.mark.timeout(300)
async def test_an_assistant_over_mcp_answers_every_call_of_five_people(delegating: GatewayHarness) -> None:
    stack = delegating.stack
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    asked: list[str] = []
    async with assistant(delegating, await token_of(delegating, "claude")) as client:
        prompts = await client.list_prompts()
        assert [prompt.name for prompt in prompts.prompts] == ["answer_calls"]
        told = await client.get_prompt("answer_calls", {})
        assert "`next_call`" in str(told.messages[0].content) and "`answer_call`" in str(told.messages[0].content)
        while True:
            found = said_by(await client.call_tool("next_call", {"process_id": pid, "wait_seconds": 5}))
            if (call := found.get("call")) is None:
                if not found["open_processes"]:
                    break
                continue
            asked.append(call["step"])
            assert call["answer_schema"]["required"] and "<data" in call["input"]
            if len(asked) == 1:
                refused = await client.call_tool("answer_call", {"call": call["id"], "answer": "I cannot say."})
                assert refused.is_error and "contains no JSON object" in text_of(refused)
                again = said_by(await client.call_tool("next_call", {"process_id": pid}))
                assert again["call"]["id"] == call["id"], "a refused answer leaves the call with who has it"
            text = answer_to(call["step"], call["input"], round=call["round"])
            said_by(await client.call_tool("answer_call", {"call": call["id"], "answer": text}))
        assert "Nothing is left" in found["then"]
    record = await stack.repositories.record(pid)
    assert record.plans and len(record.deliveries) == 5
    assert {step: asked.count(step) for step in ("observe", "plan", "deliver")} == {
        "observe": 2,
        "plan": 1,
        "deliver": 5,
    }
    assert asked.count("project") == 10


@pytest.mark.timeout(300)
async def test_the_same_over_the_api(delegating: GatewayHarness) -> None:
    stack, token = delegating.stack, await token_of(delegating, "program")
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    while (await stack.repositories.processes.get(pid)).ended_at is None:
        body = {"process_id": pid, "wait_seconds": 2}
        found = (await delegating.ask("POST", "/calls/next", token, json=body)).json()
        if (call := found.get("call")) is None:
            continue
        listed = (await delegating.ask("GET", f"/calls?process_id={pid}", token)).json()
        assert call["id"] in {one["id"] for one in listed if one["yours"]}
        text = answer_to(call["step"], call["input"], round=call["round"])
        path = f"/calls/{call['id']}/answer"
        assert (await delegating.ask("POST", path, token, json={"text": text})).status_code == 200
        again = await delegating.ask("POST", path, token, json={"text": text})
        assert again.status_code == 200 and again.json()["repeated"]
        other = await delegating.ask("POST", path, token, json={"text": text + " "})
        assert (other.status_code, other.json()["code"]) == (409, "call_over")
    assert (await stack.repositories.record(pid)).plans


async def test_a_token_for_calls_sees_calls_and_nothing_else(delegating: GatewayHarness) -> None:
    stack, token = delegating.stack, await token_of(delegating, "ann")
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    for path in (
        "/inbox",
        "/processes",
        f"/processes/{pid}",
        f"/processes/{pid}/plan",
        "/profiles/x",
        "/tokens",
        "/scenes",
    ):
        answer = await delegating.ask("GET", path, token)
        assert answer.status_code in (403, 404), (path, answer.text)
    assert (await delegating.ask("GET", "/me", token)).json()["role"] == "calls"
    row = await stack.repositories.processes.get(pid)
    for other in (await delegating.operator(), await delegating.person(row.demander)):
        assert (await delegating.ask("GET", "/calls", other)).status_code == 403
    await stack.say(pid, "cancel")


async def waiting(gateway: GatewayHarness, token: str, pid: str, number: int) -> list[Any]:
    """The calls that wait, once there are so many."""

    async def there() -> Any:
        found = (await gateway.ask("GET", f"/calls?process_id={pid}", token)).json()
        return found if len(found) == number else None

    return list(await until(there, f"{number} calls of {pid}"))


async def formulated(gateway: GatewayHarness, token: str, pid: str) -> None:
    """Answer the formulation, and its repair."""
    for _ in range(2):
        await waiting(gateway, token, pid, 1)
        await answer(gateway, token, (await take(gateway, token, process_id=pid))["call"])


async def take(gateway: GatewayHarness, token: str, **body: Any) -> Any:
    return (await gateway.ask("POST", "/calls/next", token, json=body)).json()


async def answer(gateway: GatewayHarness, token: str, call: Any) -> None:
    text = answer_to(call["step"], call["input"], round=call["round"])
    sent = await gateway.ask("POST", f"/calls/{call['id']}/answer", token, json={"text": text})
    assert sent.status_code == 200, sent.text


async def test_nobody_is_shown_two_peoples_profiles_nor_a_profile_and_the_table(delegating: GatewayHarness) -> None:
    """People who joined by themselves. One of them lets the answerer `bob` read beside others."""
    stack, scene = delegating.stack, await delegating.scene()
    joined = [await delegating.join(scene, text) for text in list(PEOPLE.values())[:3]]
    allowed = {"may_speak": True, "answerers": ["bob"]}
    put = await delegating.ask("PUT", f"/profiles/{joined[0]['profile_id']}/mandate", joined[0]["token"], json=allowed)
    assert put.status_code == 200 and put.json()["answerers"] == ["bob"], put.text
    tokens = {name: await token_of(delegating, name) for name in ("ann", "bob", "cas", "dan", "eve")}
    pid = await stack.start([one["profile_id"] for one in joined], auto_confirm=True, residuals="off")
    await formulated(delegating, tokens["eve"], pid)  # the demander has no profile: it shows nobody's

    found = {one["alias"]: one for one in await waiting(delegating, tokens["ann"], pid, 3)}
    seats = {seat.person: seat.alias for seat in await stack.repositories.seats.seats(pid)}
    open_to_bob, second, third = (seats[one["profile_id"]] for one in joined)
    first = (await take(delegating, tokens["ann"], process_id=pid, alias=second))["call"]
    assert (first["alias"], first["yours"]) == (second, True)
    await answer(delegating, tokens["ann"], first)
    refused = await take(delegating, tokens["ann"], process_id=pid)
    assert refused.get("call") is None and refused["withheld"] == 2
    unseen = found[third]["id"]
    blind = await delegating.ask("POST", f"/calls/{unseen}/answer", tokens["ann"], json={"text": "{}"})
    assert (blind.status_code, blind.json()["code"]) == (404, "no_such_call")

    for alias in (open_to_bob, third):
        call = (await take(delegating, tokens["bob"], process_id=pid, alias=alias))["call"]
        assert call["alias"] == alias, "a mandate lets bob read this profile beside another"
        await answer(delegating, tokens["bob"], call)
    await waiting(delegating, tokens["eve"], pid, 1)
    for name in ("ann", "bob"):
        table = await take(delegating, tokens[name], process_id=pid, step="observe")
        assert table.get("call") is None and table["withheld"] == 1, f"{name} has read a profile"
    observed = (await take(delegating, tokens["cas"], process_id=pid, step="observe"))["call"]
    await answer(delegating, tokens["cas"], observed)
    later = await waiting(delegating, tokens["cas"], pid, 3)
    assert all(one["withheld"] for one in later), "who read the table reads no profile"
    manifest = await stack.repositories.seats.manifest(pid)
    assert set(manifest["answerers"]) == {"ann", "bob", "cas", "eve"}
    async with McpClient(make_server(delegating.context)) as client:
        told = said_by(await client.call_tool("status", {"process_id": pid, "token": joined[0]["token"]}))
    assert told["process"]["answered_by"] == ["ann", "bob", "cas", "eve"], "those concerned are told who answered"
    view = await delegating.ask("GET", f"/processes/{pid}", joined[0]["token"])
    assert view.json()["answered_by"] == ["ann", "bob", "cas", "eve"]
    async with delegating.visitor(joined[0]["token"]) as visitor:
        page = await visitor.get(f"/processes/{pid}")
    assert "ann, bob, cas, eve answered in place of a language model" in page.main.text
    await stack.say(pid, "cancel")


async def test_a_lease_expires_and_a_token_may_be_limited_to_a_participant(delegating: GatewayHarness) -> None:
    stack = delegating.stack
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    ann, bob = await token_of(delegating, "ann"), await token_of(delegating, "bob")
    await formulated(delegating, ann, pid)
    await waiting(delegating, ann, pid, 5)
    only = await token_of(delegating, "reader", process_id=pid, alias="P02", step="project")
    call = (await take(delegating, only, lease_seconds=3600))["call"]
    assert (call["alias"], call["step"]) == ("P02", "project")
    assert [one["alias"] for one in (await delegating.ask("GET", "/calls", only)).json()] == ["P02"]
    assert (await delegating.ask("GET", "/calls?alias=P01", only)).status_code == 404
    taken = await take(delegating, bob, process_id=pid, alias="P02")
    assert taken.get("call") is None and taken["on_lease"] == 1
    async with stack.repositories.pool.connection() as connection:
        await connection.execute("UPDATE model_calls SET leased_until = now() WHERE call_id = %s", [call["id"]])
    again = (await take(delegating, bob, process_id=pid, alias="P02"))["call"]
    assert again["id"] == call["id"], "a lease that is over lets it be offered again"
    late = await delegating.ask(
        "POST", f"/calls/{call['id']}/answer", only, json={"text": answer_to("project", call["input"])}
    )
    assert (late.status_code, late.json()["code"]) == (409, "call_on_lease")
    await answer(delegating, bob, again)
    await stack.say(pid, "cancel")


async def test_an_operator_sees_that_a_call_waits_and_how_it_is_answered(delegating: GatewayHarness) -> None:
    stack = delegating.stack
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    await waiting(delegating, await token_of(delegating, "Fay"), pid, 1)
    operator = (await stack.repositories.tokens.issue("operator", label="ops")).secret
    async with delegating.visitor(operator) as visitor:
        for path in ("/", f"/processes/{pid}", f"/asks/{pid}/calls"):
            assert "odel calls wait" in (await visitor.get(path)).main.text, path
        shown = (await visitor.get("/operators")).main.text
        assert "One model call waits for an assistant or a person, since " in shown
        assert "All processes continue by themselves" not in shown
        shown = (await visitor.get("/operators/waiting")).main.text
        assert "Waits for an assistant or a person who answers model calls" in shown
    await stack.say(pid, "cancel")


async def test_a_facilitator_answers_by_hand_in_the_console(delegating: GatewayHarness) -> None:
    stack, token = delegating.stack, await token_of(delegating, "Fay")
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    [first] = await waiting(delegating, token, pid, 1)
    async with delegating.visitor() as visitor:
        assert (await visitor.sign_in(token)).headers["location"] == "/console/calls"
        listed = (await visitor.get("/calls")).main.text
        assert first["id"] in listed and "You answer as Fay" in listed
        page = await visitor.get(f"/calls/{first['id']}")
        assert "ferry timetable" in page.main.text
        page = await visitor.submit("Send", {"[name=text]": "not JSON"}, code=422)
        assert "contains no JSON object" in page.main.text and page.field("[name=text]").value == "not JSON"
        page = await visitor.submit("Send", {"[name=text]": answer_to("formulate", "")})
        assert page.place == f"/calls?answered={first['id']}"
        await visitor.get("/processes", code=403)
    [repair] = await waiting(delegating, token, pid, 1)
    assert repair["repair"] and repair["id"] != first["id"]
    await stack.say(pid, "cancel")


async def test_the_page_for_a_new_process_names_the_assistant_that_reads_the_request(
    delegating: GatewayHarness,
) -> None:
    delegating = delegating.also(delegates=True, models_cost=False)
    token = (await delegating.join(await delegating.scene()))["token"]
    async with delegating.visitor(token) as visitor:
        shown = (await visitor.get("/start")).main.text
    assert "An assistant answers in place of a model" in shown
    assert "Only you and the assistant that writes your intent in four parts" in shown
    assert "nobody judges" not in shown and "No model is set" not in shown


async def test_a_long_answer_with_many_quotation_marks_is_taken(delegating: GatewayHarness) -> None:
    stack, token = delegating.stack, await token_of(delegating, "ann")
    pid = await stack.start(await stack.people(PEOPLE), auto_confirm=True)
    await waiting(delegating, token, pid, 1)
    draft = json.loads(answer_to("formulate", ""))
    draft["ignored"] = [{"a": "b"}] * 3_000
    async with assistant(delegating, token) as client:
        call = said_by(await client.call_tool("next_call", {"process_id": pid}))["call"]
        assert (
            said_by(await client.call_tool("answer_call", {"call": call["id"], "answer": json.dumps(draft)}))["step"]
            == "formulate"
        )
    await stack.say(pid, "cancel")
