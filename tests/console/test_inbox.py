"""The inbox: what waits is answered where it stands, by thumb, with or without script."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry
from tests.support.scripted import Rule
from tests.support.until import until


@pytest.fixture
async def house(console: Console) -> AsyncIterator[Ferry]:
    found = await ferry(console.harness)
    await found.start()
    await found.stack.asked(found.pid, "P03", 1)
    yield found
    await found.stack.say(found.pid, "cancel")


async def said_by_p03(house: Ferry, *, to_others: bool = False) -> list[str]:
    """What P03 said in round 1: as they said it, or as others read it."""
    await house.stack.until_round(house.pid, "crystallizing", 2)
    record = await house.stack.repositories.record(house.pid, own=[] if to_others else ["P03"])
    return [one.text for one in record.projections if one.alias == "P03" and one.round == 1]


@pytest.mark.parametrize("script", [True, False])
async def test_a_person_answers_a_round_on_a_phone(console: Console, house: Ferry, script: bool) -> None:
    async with console.visitor(house.tokens["P03"], viewport=PHONE, java_script_enabled=script) as page:
        assert await page.get_by_role("heading", level=1).inner_text() == "One thing waits for you"
        await page.get_by_label("In your own words").fill("Isbel Croy can plan rosters; ask Una Sinclair.")
        await page.get_by_role("button", name="Show what others will read").click()
        await page.wait_for_url("**/say/1/*#read-by")
        heading = page.get_by_role(
            "heading", name="The catalyst, the program that compares what everybody says, will read this"
        )
        assert await heading.evaluate("heading => heading === document.activeElement"), (
            "one lands at what one asked to see"
        )
        shown = await page.locator("#preview .asis").inner_text()
        assert shown == "P03 can plan rosters; ask [person 2]."
        assert await page.locator("#names").input_value() == "Isbel Croy\nUna Sinclair"
        await page.get_by_role("button", name="Send to round 1").click()
        await page.wait_for_url("**/console/?done=send*")
    assert await said_by_p03(house) == ["Isbel Croy can plan rosters; ask Una Sinclair."]
    (read,) = await said_by_p03(house, to_others=True)
    assert re.fullmatch(r"P03 can plan rosters; ask \[person \d\]\.", read)


async def test_a_draft_is_kept_on_the_server_for_its_author_alone(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P03"]) as page:
        await page.get_by_label("In your own words").fill("DRAFT-CANARY half a sent")
        await page.get_by_text("Draft saved just now").wait_for()
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        assert await page.get_by_label("In your own words").input_value() == "DRAFT-CANARY half a sent"
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}")
        assert "DRAFT-CANARY" not in await page.content()


async def test_nothing_new_more_time_a_proxy_and_leaving_are_one_press_each(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        before = await page.locator(".urge").first.inner_text()
        await page.get_by_role("button", name="I need more time").click()
        await page.wait_for_url("**/console/?done=more_time*")
        await page.get_by_text("more time for this round").wait_for()

        async def moved() -> bool:
            await page.goto(f"{console.url}/console/")
            return await page.locator("p.urge").first.inner_text() != before

        await until(moved)
        await page.get_by_role("button", name="I need more time").click()
        assert await page.get_by_role("alert").inner_text()
        await page.goto(f"{console.url}/console/")
        await page.get_by_role("button", name="Leave this process").click()
        await page.get_by_role("link", name="Stay").click()
        await page.get_by_role("button", name="I have nothing to say to this").click()
        await page.wait_for_url("**/console/?done=nothing_new*")
    await house.stack.asked(house.pid, "P03", 2)
    async with console.visitor(house.tokens["P03"]) as page:
        await page.get_by_role("button", name="Let my proxy speak for me").click()
        await page.wait_for_url("**/console/?done=proxy*")


async def test_what_waits_for_somebody_else_cannot_be_opened_or_answered(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P01"]) as page:
        answer = await page.goto(f"{console.url}/console/asks/{house.pid}/say/1/{house.human}")
        assert answer is not None and answer.status == 404


async def test_what_somebody_said_is_shown_and_corrected_while_the_round_is_open(console: Console) -> None:
    open_house = await ferry(console.harness)
    await open_house.start(humans=["P01"])  # who says nothing, so that the round stays open
    await open_house.stack.asked(open_house.pid, "P03", 1)
    async with console.visitor(open_house.tokens["P03"], viewport=PHONE) as page:
        await page.get_by_label("In your own words").fill("I can plan rosters.")
        await page.get_by_role("button", name="Send to round 1").click()
        await page.get_by_role("link", name="Open the process").click()
        await page.wait_for_url("**/console/processes/c-*")
        assert await page.locator("#own .asis").inner_text() == "I can plan rosters."
        await page.get_by_role("link", name="Correct it").click()
        assert await page.get_by_role("heading", level=1).inner_text() == "What you said in round 1"
        words = page.get_by_label("In your own words")
        assert await words.input_value() == "I can plan rosters."
        await words.fill("I can plan rosters for hospitals.")
        await page.get_by_role("button", name="Replace my answer").click()
        await page.wait_for_url("**/console/?done=send*")
        await page.goto(f"{console.url}/console/processes/{open_house.pid}")
        assert await page.locator("#own .asis").inner_text() == "I can plan rosters for hospitals."
    async with console.visitor(open_house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/processes/{open_house.pid}")
        assert "rosters for hospitals" not in await page.content(), "nobody else reads it before the round closes"
    await open_house.stack.speak(open_house.pid, "P01", 1, "I grow oysters.")
    await open_house.stack.asked(open_house.pid, "P03", 2)
    record = await open_house.stack.repositories.record(open_house.pid)
    said = [one.text for one in record.projections if (one.alias, one.round) == ("P03", 1)]
    assert said == ["I can plan rosters for hospitals."]
    async with console.visitor(open_house.tokens["P03"]) as page:
        answer = await page.goto(f"{console.url}/console/asks/{open_house.pid}/say/1/P03")
        assert answer is not None and answer.status == 404, "the round is over"
    await open_house.stack.say(open_house.pid, "cancel")


async def test_a_gap_that_asks_the_demander_is_shown_and_answered_and_no_round_waits(console: Console) -> None:
    open_house = await ferry(console.harness)
    pid = await open_house.start()
    console.harness.engine.script.rules.append(Rule(step="observe", process=pid, round=1, gaps=["P00"]))
    await open_house.until_round(2)
    async with console.visitor(open_house.tokens["P00"], viewport=PHONE) as page:
        await page.get_by_role("heading", name="What only you can answer").wait_for()
        assert "open after round 1" in await page.locator("main").inner_text()
        assert await page.get_by_role("button", name="Let my proxy speak for me").count() == 0, (
            "there is no turn to give away"
        )
        await looks_right(page)
        await page.get_by_label("In your own words").fill("I may open them, and nobody else.")
        await page.get_by_role("button", name="Send to round 2").click()
        await page.wait_for_url("**/console/?done=gap*")
    await open_house.speak(2)
    await open_house.stack.asked(open_house.pid, "P03", 3)
    record = await open_house.stack.repositories.record(open_house.pid)
    assert [one.text for one in record.projections if one.alias == "P00"] == ["I may open them, and nobody else."]
    await open_house.stack.say(open_house.pid, "cancel")
