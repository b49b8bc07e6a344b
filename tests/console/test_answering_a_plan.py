"""Answering a plan on one's own page: nothing that was typed is lost, and who has no part is told so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.conftest import DESK, PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry
from tests.support.scripted import Rule

ONLY_P03: dict[str, Any] = {
    "roles": [
        {"alias": "P03", "role": "counts", "conditions": [{"text": "P03 counts who crosses.", "sources": ["T/T"]}]}
    ],
    "tasks": [],
}
CONTACT = "How to reach you"


@pytest.fixture
async def house(console: Console) -> Ferry:
    return await ferry(console.harness)


@pytest.mark.parametrize("viewport", [PHONE, DESK])
async def test_what_was_typed_stays_when_another_answer_is_chosen(
    console: Console, house: Ferry, viewport: dict[str, int]
) -> None:
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    async with console.visitor(house.tokens[house.human], viewport=viewport) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/delivery")
        await page.get_by_label(CONTACT).fill("At the pier office.")
        await page.get_by_text("I would commit if one thing were different").click()
        await page.get_by_label("What should be different").fill("Not on Sundays.")
        await page.get_by_role("button", name="I commit to this part").click()
        await page.get_by_role("alert").filter(has_text="you also wrote in the field of another answer").wait_for()
        assert await page.get_by_label("What should be different").input_value() == "Not on Sundays."
        assert await page.get_by_label(CONTACT).input_value() == "At the pier office."
        await looks_right(page)
        await page.get_by_role("button", name="Propose this").click()
        await page.wait_for_url("**/delivery?done=propose")
    record = await house.stack.repositories.record(house.pid)
    assert record.contacts == {house.human: "At the pier office."}
    [answer] = await house.stack.repositories.plans.answers(house.pid)
    assert (answer.alias, answer.decision) == (house.human, "propose")


@pytest.mark.parametrize(
    ("language", "title", "button"),
    [
        ("en", "A plan in which you have no part", "Yes, they may know who I am"),
        ("zh", "这份方案里没有你的一份", "可以，让他们知道我是谁"),
    ],
)
async def test_who_has_no_part_of_the_plan_is_told_so_and_may_be_known_all_the_same(
    console: Console, house: Ferry, language: str, title: str, button: str
) -> None:
    rule = Rule(step="plan", draft=ONLY_P03)
    console.harness.engine.script.rules.append(rule)
    await house.start()
    await house.until_answering()
    console.harness.engine.script.rules.remove(rule)
    async with console.visitor(house.tokens["P01"], language=language) as page:
        await page.goto(f"{console.url}/console/processes/{house.pid}/delivery")
        assert await page.get_by_role("heading", level=1).inner_text() == title
        await looks_right(page)
        await page.get_by_role("button", name=button).click()
        await page.wait_for_url("**/delivery?done=commit")
        told = await page.get_by_role("status").first.inner_text()
        assert told.startswith(
            "The person who asked and the people who commit" if language == "en" else "提出的人和接下的人"
        ), told


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "You have no part in this plan. May they know who you are?"),
        ("zh", "这份方案里没有你的一份。要让他们知道你是谁吗？"),
    ],
)
async def test_the_inbox_asks_who_has_no_part_of_the_plan_what_the_page_of_the_plan_asks(
    console: Console, house: Ferry, language: str, question: str
) -> None:
    rule = Rule(step="plan", draft={**ONLY_P03, "roles": [{**ONLY_P03["roles"][0], "alias": "P01"}]})
    console.harness.engine.script.rules.append(rule)
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    console.harness.engine.script.rules.remove(rule)
    async with console.visitor(house.tokens[house.human], language=language, viewport=PHONE) as page:
        assert await page.locator("#ask").inner_text() == question
        await looks_right(page)
        await page.goto(f"{console.url}/console/processes/{house.pid}")
        assert question in await page.locator("main > header").inner_text()
    await house.stack.say(house.pid, "conclude")


async def test_before_a_decision_that_ends_the_answers_the_demander_is_told(console: Console, house: Ferry) -> None:
    await house.start()
    await house.until_answering()
    said: dict[str, Any] = {"alias": house.human, "revision": 1, "answer": "decline"}
    assert (await house.stack.say(house.pid, "answer_plan", **said)).accepted
    number = int(house.human[1:])
    await house.stack.asked(house.pid, "P00", number, what="hole")
    async with console.visitor(house.tokens["P00"]) as page:
        for path in (f"/asks/{house.pid}/residual/plan/1/hole/{house.human}", f"/processes/{house.pid}/plan"):
            await page.goto(f"{console.url}/console{path}")
            assert await page.get_by_text("nobody can answer the plan any more").count() == 1
            await looks_right(page)
        await page.goto(f"{console.url}/console/asks/{house.pid}/replan/1")
        ends = page.get_by_role("button", name="Leave the plan as it is")
        assert "nobody can answer the plan any more" in await ends.inner_text()
    await house.stack.say(house.pid, "conclude")


async def test_where_who_declined_had_no_part_nobody_is_looked_for_in_their_place(
    console: Console, house: Ferry
) -> None:
    rule = Rule(step="plan", draft={**ONLY_P03, "roles": [{**ONLY_P03["roles"][0], "alias": "P01"}]})
    console.harness.engine.script.rules.append(rule)
    await house.start()
    await house.until_answering()
    console.harness.engine.script.rules.remove(rule)
    said: dict[str, Any] = {"alias": house.human, "revision": 1, "answer": "decline"}
    assert (await house.stack.say(house.pid, "answer_plan", **said)).accepted
    number = int(house.human[1:])
    await house.stack.asked(house.pid, "P00", number, what="hole")
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/asks/{house.pid}/residual/plan/1/hole/{house.human}")
        await page.get_by_text("The plan has no part for the people who declined").wait_for()
        assert not await page.get_by_role("button", name="Look for other people for this").count()
        await looks_right(page)
        await page.get_by_role("button", name="Leave the plan as it is").click()
        await page.wait_for_url("**/console/?done=answered*")


@pytest.mark.parametrize(
    ("language", "title", "anew", "new"),
    [
        ("en", "Do you commit to your part of version 2?", "you are asked again", "This is new:"),
        ("zh", "第 2 版里你的那一份，你接下吗？", "再问你一次", "新写的："),
    ],
)
async def test_an_answer_that_is_asked_for_again_says_that_the_plan_is_a_new_one_and_what_changed(
    console: Console, house: Ferry, language: str, title: str, anew: str, new: str
) -> None:
    await house.start()
    await house.until_answering()
    said = {"kind": "answer_plan", "revision": 1, "answer": "propose", "text": "Not on Sundays."}
    messages = f"/processes/{house.pid}/messages"
    assert (await console.harness.ask("POST", messages, house.tokens[house.human], json=said)).status_code == 200
    counts = {"id": "t1", "title": "P03 counts who crosses.", "assignee": house.human, "sources": ["T/T"]}
    rule = Rule(step="plan", draft={**ONLY_P03, "tasks": [counts]})
    console.harness.engine.script.rules.append(rule)
    assert (await house.stack.say(house.pid, "replan", proposals=[house.human])).accepted
    await house.stack.asked(house.pid, house.human, 2, what="answer")
    console.harness.engine.script.rules.remove(rule)
    async with console.visitor(house.tokens[house.human], language=language, viewport=PHONE) as page:
        for path in ("/", f"/processes/{house.pid}/delivery"):
            await page.goto(f"{console.url}/console{path}")
            main = await page.locator("main").inner_text()
            assert anew in main and new in main
            assert "counts who crosses" in main.split(new)[1]
            await looks_right(page)
        await page.goto(f"{console.url}/console/")
        assert await page.get_by_role("heading", name=title).is_visible()
    await house.stack.say(house.pid, "conclude")
