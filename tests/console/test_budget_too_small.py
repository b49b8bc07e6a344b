"""What whoever asked reads where the budget covers no call: of their intent, and of a round."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.scripted import Rule
from tests.support.until import until
from tongyao.llm.engine import Bound

__all__ = ["gateway"]

UNSORTED = {
    "en": ("Your words were not sorted into the four parts, because the budget", "is not described."),
    "zh": ("你的话没有分成四小段，因为预算不够", "没有写"),
}
MORE_ROUNDS = "button[name=do][value=extend]"


def too_dear(step: str, prompt: str, units: int = 0) -> Bound:
    return Bound(cost=Decimal(100)) if step in ("formulate", "project") else Bound()


async def test_an_intent_that_the_budget_did_not_cover_is_said_to_be_unsorted_and_no_round_without_money_is_offered(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = await ferry(gateway)
    monkeypatch.setattr(gateway.engine, "bound", too_dear)
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    for language, (unsorted, untrue) in UNSORTED.items():
        async with gateway.visitor(house.tokens["P00"], language=language) as visitor:
            told = (await visitor.get(f"/processes/{house.pid}/tension")).main.text
            assert unsorted in told
            assert untrue not in told
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get(f"/processes/{house.pid}/tension")
        await visitor.submit("[value=confirm]")
        await house.speak(1)
        await house.stack.until(house.pid, "deciding")

        async def asked() -> bool:
            return bool((await visitor.get("/")).all("button[name=do][value=raise_budget]"))

        await until(asked)
        assert not visitor.page.all(MORE_ROUNDS)
        assert visitor.page.all("a[href$='#seen']"), "what a person says costs nothing to take, and was read"
    await house.stack.say(house.pid, "cancel")


async def test_an_intent_whose_reading_failed_is_not_said_to_be_short_of_money_until_its_parts_are_written(
    gateway: GatewayHarness,
) -> None:
    house, rule = await ferry(gateway), Rule(step="formulate", do="refused")
    gateway.engine.script.rules.append(rule)
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    gateway.engine.script.rules.remove(rule)
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get(f"/processes/{house.pid}/tension")
        assert "because the model failed" in page.main.text and "because the budget" not in page.main.text
        page = await visitor.submit("[value=revise]", {"#barriers": "Nobody can weld."})
        assert "?message=" in page.place
        page = await visitor.until("Your situation is not described.")
        assert "Your words were not sorted" not in page.main.text
    await house.stack.say(house.pid, "cancel")
