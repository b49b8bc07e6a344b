"""Whole ways through the console: coming in, from box to plan, what changes under one's eyes, hostile texts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, Route

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry

HOSTILE = (
    "<script>document.title='OW'+'NED'</script><img src=x onerror=\"document.title='OW'+'NED'\">'\"><svg onload=alert(1)>"
    " [x](javascript:alert(1)) {{ 7*7 }} {% raw %} &lt;b&gt;"
)


async def test_somebody_introduces_themselves_and_begins(console: Console) -> None:
    scene = await console.harness.scene()
    for _ in range(2):
        await console.harness.join(scene)
    async with console.visitor(viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/enter")
        await page.get_by_label("Who you are and what you do").fill("I keep bees and sell honey at two markets.")
        await page.get_by_label("Your name").fill("Anna Example")
        assert not await page.get_by_label("Mail address").count(), "no mail is sent here"
        await page.get_by_label("Which scene").select_option(scene)
        await page.get_by_role("button", name="Join").click()
        key = await page.locator("code.key").inner_text()
        await page.get_by_role("link", name="continue").click()
        await page.wait_for_url("**/console/?done=joined")
        await page.get_by_role("link", name="Ask for something").wait_for()
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_label("Your key, or the code").fill(key)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/console/")
        await page.get_by_role("link", name="New").click()
        await page.get_by_label("Your intent").fill("I want honey that the whole street keeps.")
        await page.get_by_text("Help me say it").click()
        await page.get_by_label("What can you give?").fill("I can give two hives.")
        await page.get_by_role("button", name="Add these answers to the box above").click()
        written = await page.get_by_label("Your intent").input_value()
        assert written == "I want honey that the whole street keeps.\n\nWhat I can give:\n\nI can give two hives."
        await choose_scene(page, scene)
        await page.get_by_role("button", name="Begin").click()
        await page.wait_for_url("**/console/processes/c-*")
        pid = page.url.rsplit("/", 1)[1]
        await console.harness.stack.until(pid, "confirming")
        await page.goto(f"{console.url}/console/processes/{pid}/tension")
        await page.get_by_role("button", name="Yes, this is it").click()
        await page.wait_for_url(f"**/console/processes/{pid}?message=*")
        assert await page.get_by_role("heading", level=1).inner_text() == "I want honey that the whole street keeps"
    await console.harness.stack.say(pid, "cancel")


@pytest.fixture
async def house(console: Console) -> Any:
    found = await ferry(console.harness)
    await found.start()
    await found.stack.asked(found.pid, "P03", 1)
    yield found
    await found.stack.say(found.pid, "cancel")


async def test_an_open_page_shows_what_became_visible_without_being_loaded_again(
    console: Console, house: Ferry
) -> None:
    async with console.visitor(house.tokens["P01"]) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}")
        assert not await page.locator("#seen").count()
        await house.speak(1)
        await page.get_by_role("heading", name="New in round 1").wait_for(timeout=60_000)
        await page.get_by_role("link", name="you (P01) – P02").click()
        assert await page.locator("#pair-P01-P02").is_visible()


async def test_an_open_page_shows_what_happened_before_it_began_to_listen(console: Console) -> None:
    """A fast engine has gone on between the page and its stream of changes."""
    house = await ferry(console.harness)
    await house.start(chosen=False, auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    listens = asyncio.Event()

    async def later(route: Route) -> None:
        await listens.wait()
        await route.continue_()

    async with console.visitor(house.tokens["P00"]) as page:
        await page.route("**/live*", later)
        await page.goto(f"{console.url}/console/processes/{house.pid}")
        await page.get_by_role("link", name="Read and confirm it").wait_for()
        await house.stack.say(house.pid, "confirm_tension")
        await house.stack.until(house.pid, "selecting")
        await house.stack.asked(house.pid, "P00", 0, what="select_participants")
        listens.set()
        await page.get_by_role("link", name="See who was found").wait_for()
    await house.stack.say(house.pid, "cancel")


async def test_hostile_texts_are_shown_as_they_are_and_do_nothing(console: Console) -> None:
    hostile = await ferry(console.harness)
    async with console.visitor(hostile.tokens["P03"]) as page:
        await page.goto(f"{console.url}/console/me")
        await page.get_by_label("Who you are and what you do").fill(HOSTILE)
        await page.get_by_role("button", name="Save as a new version").click()
        await page.get_by_label("Your proxy never discloses").fill(HOSTILE[:400])
        await page.get_by_role("button", name="Save", exact=True).first.click()
        await harmless(page)
        assert await page.get_by_label("Your proxy never discloses").input_value() == HOSTILE[:400]
    async with console.visitor(hostile.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/start")
        await page.get_by_label("Your intent").fill(HOSTILE)
        await choose_scene(page, hostile.scene)
        await page.get_by_role("button", name="Begin").click()
        await page.wait_for_url("**/console/processes/c-*")
        pid = page.url.rsplit("/", 1)[1]
        await hostile.stack.until(pid, "confirming")
        for path in ("", "/tension", "/people"):
            await page.goto(f"{console.url}/console/processes/{pid}{path}")
            await harmless(page)
        await page.goto(f"{console.url}/console/processes?words=%3Cscript%3E")
        await harmless(page)
    await hostile.stack.say(pid, "cancel")


async def choose_scene(page: Page, scene: str) -> None:
    """There is nothing to choose where there is one scene."""
    if await page.locator("select#scene").count():
        await page.locator("select#scene").select_option(scene)


async def harmless(page: Page) -> None:
    """Nothing of a text has become an element or has run."""
    await asyncio.sleep(0)
    assert "OWNED" not in await page.title()
    assert not await page.locator("main script, main img, main [onload], main [onerror], a[href^='javascript']").count()
    assert "49" not in await page.locator("h1").inner_text()


async def test_no_page_has_a_serious_fault_of_accessibility(console: Console, house: Ferry) -> None:
    await house.until_round(2)
    pages = {
        "P03": ["/", "/me", "/processes", f"/processes/{house.pid}", f"/asks/{house.pid}/say/2/P03"],
        "P00": ["/start", f"/processes/{house.pid}", f"/processes/{house.pid}/tension"],
    }
    for who, paths in pages.items():
        async with console.visitor(house.tokens[who], viewport=PHONE) as page:
            for path in paths:
                await page.goto(f"{console.url}/console{path}")
                await looks_right(page, ("light", "dark"))
