"""People set nothing for a process that would hold the installation up or cost it more than it allows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tongyao.app.context import Ceilings

DAY = 24 * 3_600


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [("turn_seconds", 31 * DAY, "above_ceiling"), ("process_seconds", 366 * DAY - 1, "above_ceiling"),
     ("deciding_seconds", 366 * DAY - 1, "above_ceiling"), ("max_rounds", 11, "above_ceiling"),
     ("depth_limit", 4, "above_ceiling"), ("token_budget", 20_000_001, "above_ceiling"),
     ("cost_budget", "200.01", "above_ceiling"), ("proxy_seconds", 60, "not_settable"), ("aliases_as_named", True, "not_settable")],
)  # fmt: skip
async def test_nobody_sets_more_than_the_installation_allows(
    gateway: GatewayHarness, setting: str, value: Any, code: str
) -> None:
    scene = await gateway.scene()
    demander, *people = [await gateway.join(scene) for _ in range(3)]
    named = [one["profile_id"] for one in people]
    demand = {"intent": "I want to sail.", "participants": named, "settings": {setting: value}}
    refused = await gateway.ask("POST", "/processes", demander["token"], json=demand)
    assert (refused.status_code, refused.json()["code"]) == (422, code)


async def test_the_ceilings_are_settings(gateway: GatewayHarness) -> None:
    strict = gateway.also(ceilings=Ceilings(max_rounds=3))
    scene = await gateway.scene()
    demander, *people = [await gateway.join(scene) for _ in range(3)]
    named = [one["profile_id"] for one in people]
    for rounds, status in ((4, 422), (3, 201)):
        demand = {"intent": "I want to sail.", "participants": named, "settings": {"max_rounds": rounds}}
        answer = await strict.ask("POST", "/processes", demander["token"], json=demand)
        assert answer.status_code == status, answer.text
    await gateway.stack.handle(answer.json()["id"]).cancel()


@pytest.mark.parametrize(
    ("said", "field"),
    [({"kind": "decide", "decision": "raise_budget", "tokens": 20_000_001}, "tokens"),
     ({"kind": "decide", "decision": "raise_budget", "cost": "200.01"}, "cost"),
     ({"kind": "extend_deadline", "seconds": 30 * DAY + 1}, "seconds")],
)  # fmt: skip
async def test_no_message_sets_more_than_a_start_may(gateway: GatewayHarness, said: dict[str, Any], field: str) -> None:
    scene = await gateway.scene()
    demander, *people = [await gateway.join(scene) for _ in range(3)]
    demand = {"intent": "I want to sail.", "participants": [one["profile_id"] for one in people]}
    pid = (await gateway.ask("POST", "/processes", demander["token"], json=demand)).json()["id"]
    refused = await gateway.ask("POST", f"/processes/{pid}/messages", demander["token"], json=said)
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (422, "above_ceiling", field)
    await gateway.stack.handle(pid).cancel()


async def test_a_process_started_over_the_network_always_has_a_budget(gateway: GatewayHarness) -> None:
    strict = gateway.also(ceilings=Ceilings(token_budget=1_000_000))
    scene = await gateway.scene()
    demander, *people = [await gateway.join(scene) for _ in range(3)]
    demand = {
        "intent": "I want to sail.",
        "participants": [one["profile_id"] for one in people],
        "settings": {"cost_budget": None},
    }
    pid = (await strict.ask("POST", "/processes", demander["token"], json=demand)).json()["id"]
    settings = (await gateway.context.repositories.processes.get(pid)).settings
    assert (settings["token_budget"], settings["cost_budget"]) == (1_000_000, "10")
    await gateway.stack.handle(pid).cancel()


@pytest.mark.parametrize("cost", ["1E-7", "0.0000001", "1e-30", "5." + "0" * 5_000, "NaN", "1E+9"])
async def test_a_limit_that_no_budget_can_hold_is_refused_and_not_an_error(gateway: GatewayHarness, cost: str) -> None:
    scene = await gateway.scene()
    demander, *people = [await gateway.join(scene) for _ in range(3)]
    demand = {"intent": "I want to sail.", "participants": [one["profile_id"] for one in people]}
    pid = (await gateway.ask("POST", "/processes", demander["token"], json=demand)).json()["id"]
    message = {"kind": "decide", "decision": "raise_budget", "cost": cost}
    answer = await gateway.ask("POST", f"/processes/{pid}/messages", demander["token"], json=message)
    assert answer.status_code in (409, 422), answer.text
    await gateway.stack.handle(pid).cancel()
