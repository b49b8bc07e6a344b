"""The inbox: what waits is answered where it stands, by thumb, with or without script."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.support.until import until


@pytest.fixture
async def house(console: Console) -> AsyncIterator[Ferry]:
    found = await ferry(console.harness)
    await found.start()
    await found.stack.asked(found.pid, "P03", 1)
    yield found
    await found.stack.say(found.pid, "cancel")


async def said_by_p03(house: Ferry) -> list[str]:
    """What the process was sent for P03, as kept."""
    await house.stack.until_round(house.pid, "crystallizing", 2)
    record = await house.stack.repositories.record(house.pid)
    return [one.markdown for one in record.projections if one.alias == "P03" and one.round == 1]


@pytest.mark.parametrize("script", [True, False])
async def test_a_person_answers_a_round_on_a_phone(console: Console, house: Ferry, script: bool) -> None:
    async with console.visitor(house.tokens["P03"], viewport=PHONE, java_script_enabled=script) as page:
        assert await page.get_by_role("heading", level=1).inner_text() == "One thing waits for you"
        await page.get_by_label("In your own words").fill("Isbel Croy can plan rosters; ask Una Sinclair.")
        await page.get_by_role("button", name="Show what will be read").click()
        await page.wait_for_url("**/projection/1#read-by")
        heading = page.get_by_role("heading", name="This is what the catalyst will read")
        assert await heading.evaluate("heading => heading === document.activeElement"), (
            "one lands at what one asked to see"
        )
        shown = await page.locator("#preview .asis").inner_text()
        assert shown == "P03 can plan rosters; ask Una Sinclair."
        await page.get_by_role("button", name="Send to round 1").click()
        await page.wait_for_url("**/console/?done=send*")
    assert await said_by_p03(house) == ["Isbel Croy can plan rosters; ask Una Sinclair."]


async def test_a_draft_is_kept_on_the_server_for_its_author_alone(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P03"]) as page:
        await page.get_by_label("In your own words").fill("DRAFT-CANARY half a sent")
        await page.get_by_text("Draft kept just now").wait_for()
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        assert await page.get_by_label("In your own words").input_value() == "DRAFT-CANARY half a sent"
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}")
        assert "DRAFT-CANARY" not in await page.content()


async def test_three_parts_are_one_answer_and_two_ways_at_once_are_refused_with_nothing_lost(
    console: Console, house: Ferry
) -> None:
    async with console.visitor(house.tokens["P03"]) as page:
        await page.get_by_label("In your own words").fill("all of it")
        await page.get_by_text("Or answer in three parts").click()
        await page.get_by_label("What I can give").fill("rosters")
        await page.get_by_role("button", name="Send to round 1").click()
        assert "not both" in await page.get_by_role("alert").inner_text()
        assert await page.get_by_label("What I can give").input_value() == "rosters"
        await page.get_by_label("In your own words").fill("")
        await page.get_by_role("button", name="Send to round 1").click()
        await page.wait_for_url("**/console/?done=send*")
    assert await said_by_p03(house) == ["## Capability\n\nrosters"]


async def test_nothing_new_more_time_a_proxy_and_leaving_are_one_press_each(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        before = await page.locator(".urge").first.inner_text()
        await page.get_by_role("button", name="I need more time").click()
        await page.wait_for_url("**/console/?done=more_time*")
        await page.get_by_text("longer now").wait_for()

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
        answer = await page.goto(f"{console.url}/console/asks/{house.pid}/projection/1")
        assert answer is not None and answer.status == 404


async def test_what_somebody_said_is_corrected_while_the_round_is_open(console: Console) -> None:
    open_house = await ferry(console.harness)
    await open_house.start(humans=["P01"])  # who says nothing, so that the round stays open
    await open_house.stack.asked(open_house.pid, "P03", 1)
    async with console.visitor(open_house.tokens["P03"], viewport=PHONE) as page:
        await page.get_by_label("In your own words").fill("I can plan rosters.")
        await page.get_by_role("button", name="Send to round 1").click()
        await page.get_by_role("link", name="Open the process").click()
        await page.wait_for_url("**/console/processes/c-*")

        async def sorted_already() -> bool:
            await page.reload()
            return await page.get_by_role("link", name="Correct it").count() > 0

        await until(sorted_already)
        await page.get_by_role("link", name="Correct it").click()
        assert await page.get_by_role("heading", level=1).inner_text() == "What you said in round 1"
        await page.get_by_label("What I can give").fill("I can plan rosters for hospitals.")
        for part in ("Where I am heading myself", "My limits and conditions"):
            await page.get_by_label(part).fill("")
        await page.get_by_role("button", name="Send this in its place").click()
        await page.wait_for_url("**/console/?done=send*")

    async def replaced() -> bool:
        record = await open_house.stack.repositories.record(open_house.pid)
        said = [one.markdown for one in record.projections if one.alias == "P03"]
        return said == ["## Capability\n\nI can plan rosters for hospitals."]

    await until(replaced)
    await open_house.stack.say(open_house.pid, "cancel")
    async with console.visitor(open_house.tokens["P03"]) as page:
        answer = await page.goto(f"{console.url}/console/asks/{open_house.pid}/projection/1")
        assert answer is not None and answer.status == 404, "the round is over"
