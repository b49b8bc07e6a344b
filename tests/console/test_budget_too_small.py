"""What whoever asked reads where the budget covers no call: of their intent, and of a round."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.room import ferry
from tests.support.scripted import Rule
from tongyao.llm.engine import Bound

UNSORTED = {
    "en": ("Your words were not sorted into the four parts, because the budget", "is not described."),
    "zh": ("你的话没有分成四小段，因为预算不够", "没有写"),
}
MORE_ROUNDS = "button[name=do][value=extend]"


def too_dear(step: str, prompt: str, units: int = 0) -> Bound:
    return Bound(cost=Decimal(100)) if step in ("formulate", "project") else Bound()


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_an_intent_that_the_budget_did_not_cover_is_said_to_be_unsorted_and_no_round_without_money_is_offered(
    console: Console, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = await ferry(console.harness)
    monkeypatch.setattr(console.harness.engine, "bound", too_dear)
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    unsorted, untrue = UNSORTED[language]
    async with console.visitor(house.tokens["P00"], language=language, viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        told = await page.locator("main").inner_text()
        assert unsorted in told
        assert untrue not in told
        await page.locator("button[value=confirm]").click()
        await house.speak(1)
        await house.stack.until(house.pid, "deciding")
        await page.goto(f"{console.url}/console/")
        await page.locator("button[name=do][value=raise_budget]").wait_for()
        assert not await page.locator(MORE_ROUNDS).count()
        assert await page.locator("a[href$='#seen']").count(), "what a person says costs nothing to take, and was read"
    await house.stack.say(house.pid, "cancel")


async def test_an_intent_whose_reading_failed_is_not_said_to_be_short_of_money_until_its_parts_are_written(
    console: Console,
) -> None:
    house, rule = await ferry(console.harness), Rule(step="formulate", do="refused")
    console.harness.engine.script.rules.append(rule)
    await house.start(auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    console.harness.engine.script.rules.remove(rule)
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/tension")
        await page.get_by_text("because the model failed").wait_for()
        assert not await page.get_by_text("because the budget").count()
        await page.get_by_text("Change it", exact=True).click()
        await page.locator("#barriers").fill("Nobody can weld.")
        await page.locator("button[value=revise]").click()
        await page.wait_for_url("**?message=*")
        assert not await page.get_by_text("Your words were not sorted").count()
        await page.get_by_text("Your situation is not described.").wait_for()
    await house.stack.say(house.pid, "cancel")
