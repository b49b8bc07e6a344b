"""The inbox: what waits is answered where it stands, by thumb, with or without script."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Rule
from tests.support.until import until


@pytest.fixture
async def house(gateway: GatewayHarness) -> AsyncIterator[Ferry]:
    found = await ferry(gateway)
    await found.start()
    await found.stack.asked(found.pid, "P03", 1)
    yield found
    await found.stack.say(found.pid, "cancel")


async def said_by_p03(house: Ferry, *, to_others: bool = False) -> list[str]:
    """What P03 said in round 1: as they said it, or as others read it."""
    await house.stack.until_round(house.pid, "crystallizing", 2)
    record = await house.stack.repositories.record(house.pid, own=[] if to_others else ["P03"])
    return [one.text for one in record.projections if one.alias == "P03" and one.round == 1]


WORDS = "Isbel Croy can plan rosters; ask Una Sinclair."


async def test_a_person_answers_a_round_on_a_phone(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        assert await page.get_by_role("heading", level=1).inner_text() == "One thing waits for you"
        await page.get_by_label("In your own words").fill(WORDS)
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
        await page.get_by_role("button", name="Send to round 1").click()
        await page.wait_for_url("**/console/?done=send*")
        await looks_right(page)
    assert await said_by_p03(house) == [WORDS]


async def test_without_script_a_person_reads_what_others_will_read_and_answers_a_round(
    gateway: GatewayHarness, house: Ferry
) -> None:
    async with gateway.visitor(house.tokens["P03"]) as visitor:
        assert (await visitor.get("/")).h1 == "One thing waits for you"
        page = await visitor.submit("Show what others will read", {"In your own words": WORDS})
        preview = page.one("#preview")
        assert preview.one("h3").text.startswith(
            "The catalyst, the program that compares what everybody says, will read this"
        )
        assert preview.one(".asis").text == "P03 can plan rosters; ask [person 2]."
        assert page.field("#names").value == "Isbel Croy\nUna Sinclair"
        page = await visitor.submit("Send to round 1")
        assert page.place.startswith("/?done=send")
    assert await said_by_p03(house) == [WORDS]
    (read,) = await said_by_p03(house, to_others=True)
    assert re.fullmatch(r"P03 can plan rosters; ask \[person \d\]\.", read)


async def test_a_draft_is_kept_on_the_server_for_its_author_alone(console: Console, house: Ferry) -> None:
    async with console.visitor(house.tokens["P03"]) as page:
        await page.get_by_label("In your own words").fill("DRAFT-CANARY half a sent")
        await page.get_by_text("Draft saved just now").wait_for()
    async with console.harness.visitor(house.tokens["P03"]) as visitor:
        assert (await visitor.get("/")).field("In your own words").value == "DRAFT-CANARY half a sent"
    async with console.harness.visitor(house.tokens["P00"]) as visitor:
        answer = await visitor.http.get(f"/console/processes/{house.pid}")
        assert answer.status_code == 200 and "DRAFT-CANARY" not in answer.text


async def test_nothing_new_more_time_a_proxy_and_leaving_are_one_press_each(
    gateway: GatewayHarness, house: Ferry
) -> None:
    async with gateway.visitor(house.tokens["P03"]) as visitor:
        before = (await visitor.get("/")).all("p.urge")[0].text
        page = await visitor.submit("I need more time")
        assert page.place.startswith("/?done=more_time")
        assert any("more time for this round" in one for one in page.status)

        async def moved() -> bool:
            return (await visitor.get("/")).all("p.urge")[0].text != before

        await until(moved)
        page = await visitor.submit("I need more time", code=409)
        assert page.alert
        await visitor.get("/")
        page = await visitor.submit("Leave this process")
        assert page.has_button("Leave")
        await visitor.follow("Stay")
        page = await visitor.submit("I have nothing to say to this")
        assert page.place.startswith("/?done=nothing_new")
        await house.stack.asked(house.pid, "P03", 2)
        await visitor.get("/")
        page = await visitor.submit("Let my proxy speak for me")
        assert page.place.startswith("/?done=proxy")


async def test_what_waits_for_somebody_else_cannot_be_opened_or_answered(gateway: GatewayHarness, house: Ferry) -> None:
    path = f"/asks/{house.pid}/say/1/{house.human}"
    async with gateway.visitor(house.tokens["P01"]) as visitor:
        await visitor.get(path, code=404)
        page = await visitor.get("/")
        form = {"form_token": page.all("[name=form_token]")[0].value, "do": "send", "words": "I answer for another."}
        assert (await visitor.http.post(f"/console{path}", data=form)).status_code == 404
    said = (await house.stack.repositories.record(house.pid)).projections
    assert house.human not in {one.alias for one in said}


async def test_what_somebody_said_is_shown_and_corrected_while_the_round_is_open(gateway: GatewayHarness) -> None:
    open_house = await ferry(gateway)
    await open_house.start(humans=["P01"])  # who says nothing, so that the round stays open
    await open_house.stack.asked(open_house.pid, "P03", 1)
    here = f"/processes/{open_house.pid}"
    async with gateway.visitor(open_house.tokens["P03"]) as visitor:
        await visitor.get("/")
        await visitor.submit("Send to round 1", {"In your own words": "I can plan rosters."})
        page = await visitor.follow("Open the process")
        assert page.place == here
        assert page.one("#own .asis").text == "I can plan rosters."
        page = await visitor.follow("Correct it")
        assert page.h1 == "What you said in round 1"
        assert page.field("In your own words").value == "I can plan rosters."
        page = await visitor.submit("Replace my answer", {"In your own words": "I can plan rosters for hospitals."})
        assert page.place.startswith("/?done=send")
        assert (await visitor.get(here)).one("#own .asis").text == "I can plan rosters for hospitals."
    async with gateway.visitor(open_house.tokens["P00"]) as visitor:
        answer = await visitor.http.get(f"/console{here}")
        assert answer.status_code == 200
        assert "rosters for hospitals" not in answer.text, "nobody else reads it before the round closes"
    await open_house.stack.speak(open_house.pid, "P01", 1, "I grow oysters.")
    await open_house.stack.asked(open_house.pid, "P03", 2)
    record = await open_house.stack.repositories.record(open_house.pid)
    said = [one.text for one in record.projections if (one.alias, one.round) == ("P03", 1)]
    assert said == ["I can plan rosters for hospitals."]
    async with gateway.visitor(open_house.tokens["P03"]) as visitor:
        await visitor.get(f"/asks/{open_house.pid}/say/1/P03", code=404)  # the round is over
    await open_house.stack.say(open_house.pid, "cancel")


async def test_a_gap_that_asks_the_demander_is_shown_and_answered_and_no_round_waits(
    gateway: GatewayHarness,
) -> None:
    open_house = await ferry(gateway)
    pid = await open_house.start()
    gateway.engine.script.rules.append(Rule(step="observe", process=pid, round=1, gaps=["P00"]))
    await open_house.until_round(2)
    async with gateway.visitor(open_house.tokens["P00"]) as visitor:
        page = await visitor.get("/")
        assert page.one("#ask").text == "What only you can answer"
        assert "open after round 1" in page.main.text
        assert not page.has_button("Let my proxy speak for me"), "there is no turn to give away"
        page = await visitor.submit("Send to round 2", {"In your own words": "I may open them, and nobody else."})
        assert page.place.startswith("/?done=gap")
    await open_house.speak(2)
    await open_house.stack.asked(open_house.pid, "P03", 3)
    record = await open_house.stack.repositories.record(open_house.pid)
    assert [one.text for one in record.projections if one.alias == "P00"] == ["I may open them, and nobody else."]
    await open_house.stack.say(open_house.pid, "cancel")
