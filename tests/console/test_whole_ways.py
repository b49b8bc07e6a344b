"""Whole ways of people through a process in a real browser: on a phone, by keyboard, without script, through a killed worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.gateway.journeys.served import open_served
from tests.support.until import until
from tongyao.protocol.model.projection import EndpointKind

pytestmark = pytest.mark.slow
SECONDS = 60_000


@pytest.fixture
async def house(console: Console) -> AsyncIterator[Ferry]:
    found = await ferry(console.harness)
    yield found
    row = await found.stack.repositories.processes.get(found.pid)
    if row.ended_at is None:
        await found.stack.say(found.pid, "cancel")


async def waits(console: Console, house: Ferry, page: Page, number: int) -> None:
    """The inbox, once this round asks."""
    await house.stack.asked(house.pid, house.human, number)
    await page.goto(f"{console.url}/console/")


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(
    ("language", "own_words", "send", "kept"),
    [
        ("en", "In your own words", "Send to round {n}", "Your words have arrived."),
        ("zh", "用你自己的话", "提交到第 {n} 轮", "你的话已经收到。"),
    ],
)
async def test_a_person_on_a_phone_answers_two_rounds_from_the_inbox(
    console: Console, house: Ferry, language: str, own_words: str, send: str, kept: str, script: bool
) -> None:
    await house.start()
    async with console.visitor(
        house.tokens[house.human], language=language, viewport=PHONE, has_touch=True, java_script_enabled=script
    ) as page:
        for number in (1, 2):
            await waits(console, house, page, number)
            await page.get_by_label(own_words).fill(f"{house.case.said[number]} ({number})")
            await page.get_by_role("button", name=send.format(n=number)).tap()
            assert kept in await page.get_by_role("status").first.inner_text()
    await house.stack.asked(house.pid, house.human, 3)
    said = (await house.stack.repositories.record(house.pid)).projections
    assert {one.round for one in said if one.alias == house.human and one.items} == {1, 2}


async def test_somebody_takes_over_from_their_proxy_and_gives_back(console: Console, house: Ferry) -> None:
    await house.start()
    await house.stack.asked(house.pid, house.human, 1)
    page_of_process = f"{console.url}/console/processes/{house.pid}"

    async def speaks() -> EndpointKind:
        record = await house.stack.repositories.record(house.pid)
        return next(one.endpoint for one in record.participants if one.alias == "P01")

    async def spoken_for_by(kind: EndpointKind) -> None:
        async def so() -> bool:
            return await speaks() is kind

        await until(so)

    async with console.visitor(house.tokens["P01"], viewport=PHONE) as page:
        await page.goto(page_of_process)
        await page.get_by_role("button", name="I speak for myself from now on").click()
        await page.wait_for_url("**/processes/*message=*")
        await spoken_for_by(EndpointKind.HUMAN)
        await house.speak(1)
        await house.stack.asked(house.pid, "P01", 2)
        await page.goto(f"{console.url}/console/")
        await page.get_by_label("In your own words").fill("I can lend a crane on Mondays.")
        await page.get_by_role("button", name="Send to round 2").click()
        await page.wait_for_url("**/console/?done=send*")
        await page.goto(page_of_process)
        await page.get_by_role("button", name="Let my proxy speak for me").click()
        await page.wait_for_url("**/processes/*message=*")
        await spoken_for_by(EndpointKind.PROXY)


@pytest.mark.parametrize("script", [True, False])
async def test_a_part_is_declined_with_a_reason_and_the_demander_reads_it(
    console: Console, house: Ferry, script: bool
) -> None:
    await house.start()
    await house.until_answering()
    async with console.visitor(house.tokens[house.human], viewport=PHONE, java_script_enabled=script) as page:
        await page.get_by_role("link", name="Read your part").click()
        await page.get_by_text("I decline", exact=True).click()
        await page.get_by_label("Why (optional)").fill("The winter is too short for this.")
        await page.get_by_role("button", name="Decline", exact=True).click()
        assert "You have declined" in await page.get_by_role("status").first.inner_text()
    async with console.visitor(house.tokens["P00"]) as page:

        async def told() -> bool:
            await page.goto(f"{console.url}/console/processes/{house.pid}/plan")
            return "The winter is too short for this." in await page.locator("#answers").inner_text()

        await until(told)


async def test_while_the_plan_is_answered_the_demander_is_asked_whether_it_is_written_once_more(
    console: Console, house: Ferry
) -> None:
    other = next(alias for alias in house.seats if alias != house.human)
    pid, stack = await house.start(humans=[other]), house.stack

    async def answering() -> bool:
        for ask in await stack.repositories.inbox.of_process(pid, open_only=True):
            if ask.ask == "projection":
                words = house.case.said.get(ask.round) if ask.alias == house.human else None
                await stack.speak(pid, ask.alias, ask.round, words)
        return (await stack.repositories.processes.get(pid)).phase == "answering"

    await until(answering)
    proposal = {"kind": "answer_plan", "revision": 1, "answer": "propose", "text": "Begin in March."}
    token = house.tokens[house.human]
    assert (await console.harness.ask("POST", f"/processes/{pid}/messages", token, json=proposal)).status_code == 200
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/")
        main = page.locator("main")
        await main.get_by_text("Should the plan be written once more?").wait_for()
        shown = await main.inner_text()
        assert f"Proposed a change: {house.human}." in shown
        assert "If you do not answer, the plan does not change." in shown
        assert "the rounds have stopped" not in shown
        await page.get_by_role("link", name="You can read their words on the page of the plan.").click()
        assert "Begin in March." in await page.locator("#answers").inner_text()


async def test_the_keyboard_alone_suffices_to_come_in_and_answer(console: Console, house: Ferry) -> None:
    await house.start()
    await house.stack.asked(house.pid, house.human, 1)
    async with console.visitor() as page:

        async def tab_to(selector: str) -> None:
            """Press Tab until the focus is there; whatever has the focus can be seen to have it."""
            for _ in range(60):
                await page.keyboard.press("Tab")
                seen = await page.evaluate(
                    "() => getComputedStyle(document.activeElement).outlineStyle !== 'none'"
                    " || document.activeElement === document.body"
                )
                assert seen, await page.evaluate("() => document.activeElement.outerHTML.slice(0, 200)")
                if await page.evaluate("one => document.activeElement?.matches(one) ?? false", selector):
                    return
            raise AssertionError(f"Tab never comes to {selector}")

        await page.goto(f"{console.url}/console/enter")
        await tab_to("#secret")
        await page.keyboard.type(house.tokens[house.human])
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/console/")
        await tab_to("a.skip")
        await page.keyboard.press("Enter")
        await tab_to("#words")
        await page.keyboard.type("I can plan rosters.")
        await tab_to("button[value=send]")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/console/?done=send*")


async def test_a_page_survives_a_reload_and_a_killed_worker(
    fresh_database_url: str, short_home: Path, browser: Browser
) -> None:
    home = short_home / "killed"
    home.mkdir()
    async with open_served(fresh_database_url, home, {}) as served:
        url = str(served.http.base_url).rstrip("/")
        context = await browser.new_context(viewport=PHONE, locale="en-GB")  # type: ignore[arg-type]  # a size
        context.set_default_timeout(SECONDS)
        people = [await served.join(name, f"I am {name}. I can lend a barn in May.") for name in ("anna", "bo", "cy")]
        asker, person, proxy = people
        chosen = [{"profile_id": person.id, "endpoint": "human"}, {"profile_id": proxy.id, "endpoint": "proxy"}]
        started = await asker.ask(
            "POST",
            "/processes",
            json={
                "intent": "I want a dance in a barn before June.",
                "scene": served.scene,
                "participants": chosen,
                "settings": {"auto_confirm": True},
            },
        )
        assert started.status_code in (200, 201, 202), started.text
        pid = started.json()["id"]
        await person.asked(pid, "projection", 1)
        page = await context.new_page()
        await page.goto(f"{url}/console/enter")
        await page.locator("#secret").fill(person.token)
        await page.locator("form:has(#secret) button").click()
        await page.get_by_label("In your own words").fill("I can lend a barn in May.")
        served.kill_worker()
        await page.get_by_role("button", name="Send to round 1").click()
        await page.get_by_text("is stored").wait_for()
        await page.goto(f"{url}/console/processes/{pid}")
        await page.reload()
        assert await page.get_by_role("heading", level=1).inner_text()
        await served.worker.start()
        await page.get_by_role("heading", name="New in round 1").wait_for()
        await page.reload()
        assert await page.get_by_role("heading", name="New in round 1").is_visible()
        await asker.send(pid, kind="cancel")
        await context.close()
