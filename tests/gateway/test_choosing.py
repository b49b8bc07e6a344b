"""What a demander may choose among comes with what is asked of them: over the API and over MCP alike."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, said_by
from tests.gateway.test_api import asked
from tongyao.gateway.mcp.server import make_server
from tongyao.records.database import session

TEXTS = (
    "I restore wooden boats and can lend a workshop. " * 9,
    "I teach sailing to beginners on a cold lake. " * 9,
    "I hold a licence for cranes and can lift boats onto a slipway. " * 9,
)
"""Long enough for the scripted engine to say something else in each round."""


async def demanded(gateway: GatewayHarness, endpoint: str, *, in_scene: bool = True) -> tuple[str, str, list[Any]]:
    """A process of the first two of a scene, at most two rounds long; the second one's `endpoint` is given."""
    scene = await gateway.scene()
    demander = await gateway.join(scene)
    people = [await gateway.join(scene, text) for text in TEXTS]
    demand: dict[str, Any] = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "participants": [people[0]["profile_id"], {"profile_id": people[1]["profile_id"], "endpoint": endpoint}],
        "settings": {"auto_confirm": True, "max_rounds": 2},
    }
    if in_scene:
        demand["scene"] = scene
    answer = await gateway.ask("POST", "/processes", demander["token"], json=demand)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], demander["token"], people


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    return said_by(await client.call_tool(tool, arguments))


async def test_the_demanders_agent_sees_who_was_found_and_chooses(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    demander = (await gateway.join(scene))["token"]
    people = {(await gateway.join(scene, text))["profile_id"] for text in TEXTS}
    demand = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "scene": scene,
        "settings": {"auto_confirm": True},
    }
    pid = (await gateway.ask("POST", "/processes", demander, json=demand)).json()["id"]
    await asked(gateway, demander, "select_participants")
    async with McpClient(make_server(gateway.context, token=demander)) as client:
        [ask] = (await call(client, "pending", view=False))["pending"]
        found = [one["profile_id"] for one in ask["choices"]["proposals"]]
        assert set(found) == people
        assert all(one["perspectives"] for one in ask["choices"]["proposals"])
        chosen = {"kind": "select_participants", "participants": found[:2]}
        assert (await call(client, "decide", process_id=pid, message=chosen, key="choose"))["state"] == "applied"
    await gateway.stack.say(pid, "cancel")


async def test_at_a_limit_the_demanders_agent_sees_who_could_be_added_and_adds_them(gateway: GatewayHarness) -> None:
    pid, demander, people = await demanded(gateway, "proxy")
    ask = await asked(gateway, demander, "decision", 2)
    given = ask["choices"]
    assert set(given["options"]) == {"accept_as_is", "extend", "raise_budget", "add_participants", "abandon"}
    assert {one["profile_id"] for one in given["proposals"]} == {people[2]["profile_id"]}
    assert all(one["perspectives"] for one in given["proposals"])
    assert given["open"] and given["note"] == ""
    async with session(gateway.stack.repositories.pool) as connection:  # the same ask, in a child
        await connection.execute("UPDATE processes SET parent_id = id WHERE id = %s", [pid])
    ask = await asked(gateway, demander, "decision", 2)
    assert "raise_budget" not in ask["choices"]["options"], "the budget is that of the root"
    assert not [one for one in ask["messages"] if one.get("decision") == "raise_budget"]
    async with session(gateway.stack.repositories.pool) as connection:
        await connection.execute("UPDATE processes SET parent_id = NULL WHERE id = %s", [pid])
    unknown = {"kind": "decide", "decision": "add_participants", "participants": ["nobody-1"]}
    refused = await gateway.ask("POST", f"/processes/{pid}/messages", demander, json=unknown)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_profiles")
    async with McpClient(make_server(gateway.context, token=demander)) as client:
        [same] = (await call(client, "pending", view=False))["pending"]
        assert [one["profile_id"] for one in same["choices"]["proposals"]] == [people[2]["profile_id"]]
        chosen = {"kind": "decide", "decision": "add_participants", "participants": [people[2]["profile_id"]]}
        assert (await call(client, "decide", process_id=pid, message=chosen, key="add"))["state"] == "applied"
    record = await gateway.stack.end(pid)
    assert [one.alias for one in record.participants] == ["P01", "P02", "P03"]
    assert {said.round for said in record.projections if said.alias == "P03"} == {3, 4}


async def test_without_a_scene_the_demander_is_told_so(gateway: GatewayHarness) -> None:
    pid, demander, _ = await demanded(gateway, "proxy", in_scene=False)
    given = (await asked(gateway, demander, "decision", 2))["choices"]
    assert given["proposals"] == [] and "no scene" in given["note"]
    assert "add_participants" in given["options"], "anybody known may be named"
    await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})


async def test_after_a_decline_the_demander_sees_what_would_go_to_the_field(gateway: GatewayHarness) -> None:
    pid, demander, people = await demanded(gateway, "human")
    token = people[1]["token"]
    for number in (1, 2):
        await asked(gateway, token, "projection", number)
        said = {"kind": "submit_projection", "round": number, "text": "I can offer the slipway of four metres."}
        await gateway.ask("POST", f"/processes/{pid}/messages", token, json=said)
    await asked(gateway, demander, "decision", 2)
    await gateway.ask(
        "POST", f"/processes/{pid}/messages", demander, json={"kind": "decide", "decision": "accept_as_is"}
    )
    alias = (await asked(gateway, token, "answer", 1))["alias"]
    declined = {"kind": "answer_plan", "revision": 1, "answer": "decline"}
    assert (await gateway.ask("POST", f"/processes/{pid}/messages", token, json=declined)).status_code == 200
    hole = await asked(gateway, demander, "hole")
    assert hole["subject"] == f"plan/1/hole/{alias}"
    residual = hole["choices"]["residual"]
    assert residual["id"] == hole["subject"] and residual["tension"]["transition"]
    assert hole["ends_answers"] and "nobody can answer the plan any more" in hole["answer_with"]
    async with McpClient(make_server(gateway.context, token=demander)) as client:
        pending = (await call(client, "pending", view=False))["pending"]
    assert [one["ask"] for one in pending if one.get("ends_answers")] == ["hole"]
    assert (await asked(gateway, demander, "replan", 1))["choices"]["options"] == ["replan", "conclude"]
    assert (await gateway.ask("GET", "/inbox", token)).json() == [], "to nobody else"
    approved = {"kind": "approve_residual", "residual": hole["subject"]}
    assert (await gateway.ask("POST", f"/processes/{pid}/messages", demander, json=approved)).status_code == 200
    select = await asked(gateway, demander, "select_participants")
    child = (await gateway.stack.repositories.lineage.children(pid))[0].id
    assert select["process_id"] == child == f"{pid}.1-{alias}"
    async with asyncio.timeout(30):
        await gateway.ask("POST", f"/processes/{child}/messages", demander, json={"kind": "cancel"})
        await gateway.stack.end(child)
    await gateway.stack.end(pid)
