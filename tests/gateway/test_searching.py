"""Looking for people: near a text, a tension, or one's own profile; what comes back are cards, never texts."""

from __future__ import annotations

from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, said_by, text_of
from tongyao.gateway.mcp.server import make_server

PEOPLE = {
    "baker": "I bake sourdough bread in a wood oven. I can offer forty loaves a week. I am looking for a mill nearby.",
    "miller": "I run a water mill and grind rye flour. I can offer rye flour. I am looking for bakers who buy grain.",
    "diver": "I repair ship hulls under water. I can offer diving inspections. I am looking for work in the harbour.",
}
TENSION = {
    "transition": "From bought flour to flour from the valley.",
    "initial_state": "A wood oven, forty loaves a week.",
    "barriers": ["There is no rye flour from a mill nearby."],
    "exchange": "Bread every week.",
}


async def filled(gateway: GatewayHarness) -> tuple[str, dict[str, Any]]:
    scene = await gateway.scene()
    return scene, {name: await gateway.join(scene, text) for name, text in PEOPLE.items()}


async def test_near_a_text_people_come_by_relevance(gateway: GatewayHarness) -> None:
    scene, people = await filled(gateway)
    stranger = await gateway.person("somebody-who-looks")
    found = await gateway.ask(
        "POST", f"/scenes/{scene}/search", stranger, json={"text": "someone who grinds rye flour"}
    )
    cards = found.json()
    assert cards[0]["profile_id"] == people["miller"]["profile_id"]
    assert {card["perspective"] for card in cards} == {"relevance"}
    assert "water mill" not in found.text and "name" not in cards[0]


async def test_near_a_tension_people_come_from_three_perspectives_with_reasons(gateway: GatewayHarness) -> None:
    scene, people = await filled(gateway)
    cards = (
        await gateway.ask("POST", f"/scenes/{scene}/search", people["baker"]["token"], json={"tension": TENSION})
    ).json()
    assert people["baker"]["profile_id"] not in {card["profile_id"] for card in cards}, "oneself is left out"
    assert {card["perspective"] for card in cards} <= {"resonance", "complement", "interference"}
    complement = {card["profile_id"]: card for card in cards if card["perspective"] == "complement"}
    reason = complement[people["miller"]["profile_id"]]["reasons"][0]
    assert reason["part"] == "B1" and set(reason) == {"part", "facet", "score"}, "labels; where it stands is not shown"


async def test_near_ones_own_profile_and_nobody_elses(gateway: GatewayHarness) -> None:
    scene, people = await filled(gateway)
    baker, miller = people["baker"], people["miller"]
    path = f"/scenes/{scene}/search"
    mine = (await gateway.ask("POST", path, baker["token"], json={"profile_id": baker["profile_id"]})).json()
    assert mine[0]["profile_id"] == miller["profile_id"]
    theirs = await gateway.ask("POST", path, baker["token"], json={"profile_id": miller["profile_id"]})
    assert (theirs.status_code, theirs.json()["code"]) == (404, "no_such_profile")
    two = await gateway.ask("POST", path, baker["token"], json={"profile_id": baker["profile_id"], "text": "x"})
    assert two.status_code == 422


async def test_an_agent_searches_by_the_same_rules(gateway: GatewayHarness) -> None:
    scene, people = await filled(gateway)
    async with McpClient(make_server(gateway.context, token=people["baker"]["token"])) as client:
        found = await client.call_tool("search", {"scene": scene, "text": "rye flour from a mill"})
        shown = said_by(found)["people"]
        wrong = await client.call_tool("search", {"scene": scene})
    assert shown[0]["profile_id"] == people["miller"]["profile_id"]
    assert wrong.is_error and "give one of" in text_of(wrong)


async def test_the_people_of_a_scene_come_in_pages_each_of_them_once(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    joined = [await gateway.join(scene) for _ in range(5)]
    token, seen = joined[0]["token"], list[str]()
    while True:
        after = seen[-1] if seen else ""
        page = (await gateway.ask("GET", f"/scenes/{scene}/people?limit=2&after={after}", token)).json()
        if not page:
            break
        assert len(page) <= 2
        seen += [card["profile_id"] for card in page]
    assert seen == sorted(one["profile_id"] for one in joined)
