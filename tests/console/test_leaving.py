"""Whoever has left a process, or has given the seat to a proxy, is not asked in it any more, and every page says so."""

from __future__ import annotations

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.support.until import until


async def _asked_in_a_round_that_stays_open(console: Console) -> Ferry:
    house = await ferry(console.harness)
    await house.start(humans=["P01"])  # who says nothing
    await house.stack.asked(house.pid, "P03", 1)
    return house


async def test_who_has_left_is_asked_nothing_and_offered_nothing_in_that_process(console: Console) -> None:
    house = await _asked_in_a_round_that_stays_open(console)
    at = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        other = await page.context.new_page()
        await other.goto(f"{console.url}/console/")
        await page.get_by_role("button", name="Leave this process").click()
        await page.get_by_role("button", name="Leave", exact=True).click()
        await page.get_by_text("You have left the process.").wait_for()
        assert await page.get_by_role("heading", level=1).inner_text() == "Nothing waits for you"

        async def says_so() -> bool:
            await page.goto(at)
            return await page.get_by_text("You took part as P03 and have left").count() > 0

        await until(says_so)
        assert not await page.get_by_role("link", name="Correct it").count()
        assert not await page.locator("#acts, main button").count()
        await other.get_by_label("In your own words").fill("I can plan rosters.")
        await other.get_by_role("button", name="Send to round 1").click()
        assert await other.get_by_role("heading", level=1).inner_text() == "This question is no longer open"
        await page.goto(f"{console.url}/console/")
        await page.get_by_text("you have left · rounds in progress").wait_for()
        await page.goto(f"{at}/delivery")
        assert await page.get_by_role("heading", level=1).inner_text() == "You have no part of the plan"
    view = (await house.harness.ask("GET", f"/processes/{house.pid}", house.tokens["P03"])).json()
    assert view["left"] is True
    await house.stack.say(house.pid, "cancel")


async def test_whose_proxy_speaks_from_now_on_is_not_asked_on_the_same_page(console: Console) -> None:
    house = await _asked_in_a_round_that_stays_open(console)
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        await page.get_by_role("button", name="Let my proxy speak for me").click()
        await page.get_by_text("From now on your proxy speaks for you.").wait_for()
        assert await page.get_by_role("heading", level=1).inner_text() == "Nothing waits for you"
        assert not await page.get_by_label("In your own words").count()
    await house.stack.say(house.pid, "cancel")
