"""Amounts of money that people write: with a point or a comma, and refused in words where they are none."""

from __future__ import annotations

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.room import ferry

REFUSED = {"en": "Write an amount in US dollars, like 5 or 2.50.", "zh": "请写一个美元数，比如 5 或 2.50。"}


async def test_a_budget_that_is_no_amount_is_refused_in_words_and_one_with_a_comma_is_taken(console: Console) -> None:
    house = await ferry(console.harness)
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/start")
        await page.get_by_label("Your intent").fill("I want the street to keep bees.")
        for written in ("five", "-1", "1,000", "1.234"):
            await page.locator("#budget").fill(written)
            await page.get_by_role("button", name="Begin").click()
            assert await page.get_by_role("alert").inner_text() == REFUSED["en"]
            assert await page.locator("#budget").input_value() == written, "what was written stays"
        await page.locator("#budget").fill("0,50")
        await page.get_by_role("button", name="Begin").click()
        await page.wait_for_url("**/console/processes/c-*")
    pid = page.url.rsplit("/", 1)[-1]
    row = await house.stack.repositories.processes.get(pid)
    assert float(row.settings["cost_budget"]) == 0.5
    await house.stack.say(pid, "cancel")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_new_limit_that_is_no_amount_is_refused_in_words_and_nothing_written_is_lost(
    console: Console, language: str
) -> None:
    house = await ferry(console.harness)
    await house.start(max_rounds=2)
    for number in (1, 2):
        await house.speak(number)
    await house.stack.until(house.pid, "deciding")
    async with console.visitor(house.tokens["P00"], language=language, viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/")
        await page.locator("details:has(#cost) summary").click()
        await page.locator("#cost").fill("about ten")
        await page.locator("button[value=raise_budget]").click()
        assert await page.get_by_role("alert").inner_text() == REFUSED[language]
        assert await page.locator("#cost").is_visible()
        assert await page.locator("#cost").input_value() == "about ten"
        await page.locator("#cost").fill("9,50")
        await page.locator("button[value=raise_budget]").click()
        await page.wait_for_url("**/console/?done=answered*")
    await house.stack.say(house.pid, "cancel")
