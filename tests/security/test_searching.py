"""A search tells little of what stands in the profile of somebody who has not opened it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness, gateway

__all__ = ["gateway"]

TENSION = {
    "transition": "From bought flour to flour of the valley.",
    "initial_state": "A wood oven, forty loaves a week.",
    "barriers": ["There is no rye flour from a mill nearby."],
    "exchange": "Bread every week.",
}


async def _found(gateway: GatewayHarness, scene: str, token: str, **body: Any) -> list[dict[str, Any]]:
    answer = await gateway.ask("POST", f"/scenes/{scene}/search", token, json=body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


@pytest.mark.parametrize("consent", ["", "ask", "never"])
async def test_how_well_a_word_matches_a_profile_is_told_only_of_those_who_allow_it(
    gateway: GatewayHarness, consent: str
) -> None:
    scene = await gateway.scene()
    text = "I run a water mill and grind rye flour. I can offer rye flour. I need help with debts."
    shut = (await gateway.join(scene, text, consent=consent))["profile_id"]
    open_ = (await gateway.join(scene, text))["profile_id"]
    seeker = (await gateway.join(scene, "I bake bread in a wood oven. I can offer forty loaves."))["token"]
    for body in ({"text": "debts"}, {"text": "rye flour of a mill"}, {"tension": TENSION}):
        cards = await _found(gateway, scene, seeker, **body)
        assert {shut, open_} <= {card["profile_id"] for card in cards}
        for card in cards:
            told = set(card) & {"score", "reasons"}
            assert told == (set() if card["profile_id"] == shut else {"score", "reasons"})


async def test_whether_a_word_stands_in_a_profile_is_not_told_by_who_is_found(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    joined = [
        (await gateway.join(scene, text, consent="ask"))["profile_id"]
        for text in ("I mend nets. I need help with debts.", "I row boats.", "I keep goats on the hill.")
    ]
    seeker = (await gateway.join(scene, "I bake bread in a wood oven."))["token"]
    for word in ("debts", "insolvency", "goats"):
        cards = await _found(gateway, scene, seeker, text=word)
        assert {card["profile_id"] for card in cards} == set(joined), word
