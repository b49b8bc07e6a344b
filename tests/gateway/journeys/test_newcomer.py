"""What somebody meets who has just read docs/api.md: each refusal says what to do, each ask how it is answered."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, text_of
from tests.gateway.test_api import asked, room
from tongyao.gateway.mcp.server import make_server

TENSION = {"transition": "From a mill that stands still to one that grinds."}


async def send(gateway: GatewayHarness, pid: str, token: str, **message: Any) -> Any:
    return await gateway.ask("POST", f"/processes/{pid}/messages", token, json=message)


async def test_whoever_has_no_token_yet_hears_where_one_comes_from(gateway: GatewayHarness) -> None:
    for method, path in (("GET", "/inbox"), ("POST", "/processes"), ("GET", "/processes/c-1")):
        answer = await gateway.ask(method, path, json={"intent": "x"})
        assert answer.status_code == 401 and "POST /profiles" in answer.json()["detail"], path


async def test_a_scene_that_is_not_there_is_refused_at_every_door_with_what_to_do(gateway: GatewayHarness) -> None:
    person = await gateway.join(await gateway.scene())
    said = {"scene": "nowhere", "name": "Ida", "text": "I grind rye in a water mill."}
    answers = [
        await gateway.ask("POST", "/profiles", json=said),
        await gateway.ask("GET", "/scenes/nowhere/people", person["token"]),
        await gateway.ask("POST", "/scenes/nowhere/search", person["token"], json={"text": "flour"}),
        await gateway.ask("POST", "/processes", person["token"], json={"intent": "I want flour.", "scene": "nowhere"}),
    ]
    for answer in answers:
        assert answer.status_code in (404, 422)
        assert answer.json()["detail"].startswith("there is no scene 'nowhere': `GET /scenes`")
    async with McpClient(make_server(gateway.context, token=person["token"])) as client:
        for tool, arguments in (
            ("agents", {"scene": "nowhere"}),
            ("search", {"scene": "nowhere", "text": "flour"}),
            ("demand", {"key": "d", "intent": "I want flour.", "scene": "nowhere"}),
        ):
            said_back = await client.call_tool(tool, arguments)
            assert said_back.is_error and "there is no scene 'nowhere': `GET /scenes`" in text_of(said_back), tool


@pytest.mark.parametrize("sought", [{"text": "flour"}, {"tension": TENSION}], ids=["text", "tension"])
async def test_nobody_is_looked_for_where_nobody_is(gateway: GatewayHarness, sought: dict[str, Any]) -> None:
    person, empty = await gateway.join(await gateway.scene()), await gateway.scene()
    answer = await gateway.ask("POST", f"/scenes/{empty}/search", person["token"], json=sought)
    assert (answer.status_code, answer.json()["code"]) == (422, "empty_scene")
    assert "POST /profiles" in answer.json()["detail"] and "`join`" in answer.json()["detail"]
    async with McpClient(make_server(gateway.context, token=person["token"])) as client:
        said_back = await client.call_tool("search", {"scene": empty, **sought})
        assert said_back.is_error and "empty_scene: nobody is in scene" in text_of(said_back)


async def test_a_process_is_not_started_where_nobody_else_could_be_found(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    person = await gateway.join(scene)
    demand = {"intent": "I want flour.", "scene": scene}
    alone = await gateway.ask("POST", "/processes", person["token"], json=demand)
    assert (alone.status_code, alone.json()["code"]) == (422, "empty_scene")
    assert "nobody but you" in alone.json()["detail"] and "name participants" in alone.json()["detail"]
    assert (await gateway.ask("GET", "/processes", person["token"])).json()["processes"] == []
    async with McpClient(make_server(gateway.context, token=person["token"])) as client:
        said_back = await client.call_tool("demand", {"key": "d", **demand})
        assert said_back.is_error and "empty_scene: nobody but you" in text_of(said_back)
    await gateway.join(scene, "I bake bread.")
    started = await gateway.ask("POST", "/processes", person["token"], json=demand)
    assert started.status_code == 201
    assert started.headers["Location"] == f"/processes/{started.json()['id']}"
    await gateway.stack.handle(started.json()["id"]).cancel()


async def test_what_is_not_valid_is_told_once_and_in_words(gateway: GatewayHarness) -> None:
    pid, demander, _ = await room(gateway)
    nothing = await send(gateway, pid, demander, type="confirm_tension")
    assert nothing.json()["detail"] == "body: the kind is missing: give 'kind'"
    wrong = await send(gateway, pid, demander, kind="confirm")
    assert wrong.json()["detail"].startswith(
        "body: 'confirm' is not a known kind: give one of 'revise_tension', 'confirm_tension'"
    )
    yes = await send(gateway, pid, demander, kind="answer_plan", revision=1, answer="yes")
    assert yes.json()["detail"] == "body.answer: Input should be 'commit', 'decline' or 'propose'"
    demand = {"intent": "x", "participants": [{"profile_id": "p-1", "endpoint": "person"}]}
    errors = (await gateway.ask("POST", "/processes", demander, json=demand)).json()["errors"]
    assert [(one["where"], one["why"]) for one in errors] == [
        ("body.participants.0.person.endpoint", "Input should be 'proxy', 'agent' or 'human'")
    ]
    near = {"intent": "x", "participants": ["a", "b"], "settings": {"rounds_max": 3, "max_round": 3}}
    assert "did you mean max_rounds?" in (await gateway.ask("POST", "/processes", demander, json=near)).json()["detail"]
    assert "/docs" in (await gateway.ask("GET", "/proceses", demander)).json()["detail"]
    await gateway.stack.handle(pid).cancel()


async def test_one_corrects_what_one_has_said_until_the_round_closes(gateway: GatewayHarness) -> None:
    """The only person among proxies speaks last: the gate stays open for them for as long as the demander set."""
    pid, demander, people = await room(gateway, correcting_seconds=12)
    token = people[1]["token"]
    ask = await asked(gateway, token, "projection", 1)
    assert '{"kind": "submit_projection", "text": "<text>", "round": 1}' in ask["answer_with"]
    assert ask["messages"][-1] == {"kind": "submit_projection", "round": 1, "nothing_new": True}
    first = await send(
        gateway, pid, token, kind="submit_projection", round=1, text="I can lend a slipway of five metres."
    )
    assert "Until then you can send a new text" in first.json()["en"]
    again = await send(
        gateway, pid, token, kind="submit_projection", round=1, text="The slipway has four metres, not five."
    )
    assert again.status_code == 200, again.text
    view = (await gateway.ask("GET", f"/processes/{pid}", token)).json()
    assert (view["round"], view["observations"]) == (1, []), "the catalyst has not read it yet"
    await asked(gateway, token, "projection", 2)

    async def own() -> dict[int, list[str]]:
        turns = (await gateway.ask("GET", f"/processes/{pid}", token)).json()["own"]
        return {turn["round"]: [item["text"] for item in turn["items"]] for turn in turns}

    assert await own() == {1: ["The slipway has four metres, not five."]}
    late = await send(gateway, pid, token, kind="submit_projection", round=1, text="Or three.")
    assert (late.status_code, late.json()["state"]) == (200, "applied"), "late words are said in the round that is open"
    assert late.json()["en"].startswith("round 1 had closed; ") and "count in round 2" in late.json()["en"]
    assert late.json()["zh"].startswith("第 1 轮已经结束；") and late.json()["round"] == 2
    assert (await gateway.ask("GET", f"/messages/{late.json()['id']}", token)).json()["en"] == late.json()["en"]
    assert (await own())[1] == ["The slipway has four metres, not five."], "a gate has closed upon it"
    await send(gateway, pid, demander, kind="cancel")


async def test_what_somebody_proposes_instead_reaches_the_demander(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token = people[1]["token"]
    await asked(gateway, token, "projection", 1)
    assert (await send(gateway, pid, demander, kind="conclude")).status_code == 200
    await send(gateway, pid, token, kind="submit_projection", round=1, text="I can lend a slipway.")
    ask = await asked(gateway, token, "answer")
    assert '"kind": "answer_plan", "answer": "commit", "revision": 1' in ask["answer_with"]
    words = "I come when the sluice is repaired. Ask Anna Example."
    await send(gateway, pid, token, kind="answer_plan", revision=1, answer="propose", text=words)
    decide = await asked(gateway, demander, "replan")
    replan = {"kind": "replan", "ask": "replan/1", "without": [], "proposals": [ask["alias"]]}
    assert replan in decide["messages"]
    seen = (await gateway.ask("GET", f"/processes/{pid}", demander)).json()
    assert seen["answers"] == {ask["alias"]: "propose"}
    told = seen["answer_words"][ask["alias"]]
    assert told.startswith("I come when the sluice is repaired.") and "Anna Example" not in told
    for other in (people[0]["token"], await gateway.operator()):
        assert "sluice" not in (await gateway.ask("GET", f"/processes/{pid}", other)).text
    replan = await send(gateway, pid, demander, kind="replan", proposals=[ask["alias"]])
    assert replan.status_code == 200
    await asked(gateway, token, "answer", 2)
    await send(gateway, pid, token, kind="answer_plan", revision=2, answer="commit")
    await gateway.stack.end(pid)
