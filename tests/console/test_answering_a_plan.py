"""Answering a plan on one's own page: nothing that was typed is lost, and who has no part is told so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.looking import looks_right
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Rule

ONLY_P03: dict[str, Any] = {
    "roles": [
        {"alias": "P03", "role": "counts", "conditions": [{"text": "P03 counts who crosses.", "sources": ["T/T"]}]}
    ],
    "tasks": [],
}
CONTACT = "How to reach you"
LOOK = "Look for other people for this"


@pytest.fixture
async def house(gateway: GatewayHarness) -> Ferry:
    return await ferry(gateway)


async def test_what_was_typed_stays_when_another_answer_is_chosen(console: Console, house: Ferry) -> None:
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    async with console.visitor(house.tokens[house.human], viewport=PHONE) as page:
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


async def test_an_answer_in_whose_way_other_words_stand_is_not_sent_without_script_either(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    async with gateway.visitor(house.tokens[house.human]) as visitor:
        await visitor.get(f"/processes/{house.pid}/delivery")
        written = {"Why (optional)": "The winter is too short."}
        page = await visitor.submit("I commit to this part", written, code=422)
        assert "you also wrote in the field of another answer" in page.alert
        assert not await house.stack.repositories.plans.answers(house.pid)
        assert "open" in page.field("Why (optional)").within("details").attributes, "what was written is seen"
        page = await visitor.submit("[value=decline]")
        assert page.place.endswith("/delivery?done=decline")
    [answer] = await house.stack.repositories.plans.answers(house.pid)
    assert (answer.alias, answer.decision) == (house.human, "decline")


async def test_who_has_no_part_of_the_plan_is_told_so_and_may_be_known_all_the_same(
    gateway: GatewayHarness, house: Ferry
) -> None:
    rule = Rule(step="plan", draft=ONLY_P03)
    gateway.engine.script.rules.append(rule)
    await house.start()
    await house.until_answering()
    gateway.engine.script.rules.remove(rule)
    for alias, language, title, button, begins in (
        (
            "P01",
            "en",
            "A plan in which you have no part",
            "Yes, they may know who I am",
            "The person who asked and the people who commit",
        ),
        ("P02", "zh", "这份方案里没有你的一份", "可以，让他们知道我是谁", "提出的人和接下的人"),
    ):
        async with gateway.visitor(house.tokens[alias], language=language) as visitor:
            page = await visitor.get(f"/processes/{house.pid}/delivery")
            assert page.h1 == title
            page = await visitor.submit(button)
            assert page.place == f"/processes/{house.pid}/delivery?done=commit"
            assert page.status[0].startswith(begins), page.status
    answers = await house.stack.repositories.plans.answers(house.pid)
    assert {(one.alias, one.decision) for one in answers} == {("P01", "commit"), ("P02", "commit")}
    await house.stack.say(house.pid, "conclude")


async def test_who_has_no_part_is_asked_whether_they_may_be_known_and_nobody_is_looked_for_in_their_place(
    gateway: GatewayHarness, house: Ferry
) -> None:
    rule = Rule(step="plan", draft={**ONLY_P03, "roles": [{**ONLY_P03["roles"][0], "alias": "P01"}]})
    gateway.engine.script.rules.append(rule)
    await house.start()
    await house.until_answering()
    await house.stack.asked(house.pid, house.human, 1, what="answer")
    gateway.engine.script.rules.remove(rule)
    for language, question in (
        ("en", "You have no part in this plan. May they know who you are?"),
        ("zh", "这份方案里没有你的一份。要让他们知道你是谁吗？"),
    ):
        async with gateway.visitor(house.tokens[house.human], language=language) as visitor:
            assert (await visitor.get("/")).one("#ask").text == question
            assert question in (await visitor.get(f"/processes/{house.pid}")).one("main > header").text
    said: dict[str, Any] = {"alias": house.human, "revision": 1, "answer": "decline"}
    assert (await house.stack.say(house.pid, "answer_plan", **said)).accepted
    await house.stack.asked(house.pid, "P00", int(house.human[1:]), what="hole")
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get(f"/asks/{house.pid}/residual/plan/1/hole/{house.human}")
        assert "The plan has no part for the people who declined" in page.main.text
        assert not page.has_button(LOOK)
        page = await visitor.submit("Leave the plan as it is")
        assert page.place.startswith("/?done=answered")


async def test_before_a_decision_that_ends_the_answers_the_demander_is_told(
    gateway: GatewayHarness, house: Ferry
) -> None:
    await house.start()
    await house.until_answering()
    said: dict[str, Any] = {"alias": house.human, "revision": 1, "answer": "decline"}
    assert (await house.stack.say(house.pid, "answer_plan", **said)).accepted
    await house.stack.asked(house.pid, "P00", int(house.human[1:]), what="hole")
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        for path in (f"/asks/{house.pid}/residual/plan/1/hole/{house.human}", f"/processes/{house.pid}/plan"):
            page = await visitor.get(path)
            assert page.main.text.count("nobody can answer the plan any more") == 1
            assert page.has_button(LOOK)
        page = await visitor.get(f"/asks/{house.pid}/replan/1")
        assert "nobody can answer the plan any more" in page.button("Leave the plan as it is").text
    await house.stack.say(house.pid, "conclude")


async def test_an_answer_that_is_asked_for_again_says_that_the_plan_is_a_new_one_and_what_changed(
    console: Console, house: Ferry
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
    for language, title, anew, new in (
        ("en", "Do you commit to your part of version 2?", "you are asked again", "This is new:"),
        ("zh", "第 2 版里你的那一份，你接下吗？", "再问你一次", "新写的："),
    ):
        async with console.harness.visitor(house.tokens[house.human], language=language) as visitor:
            for path in ("/", f"/processes/{house.pid}/delivery"):
                main = (await visitor.get(path)).main.text
                assert anew in main and new in main
                assert "counts who crosses" in main.split(new)[1]
            assert (await visitor.get("/")).all("h2", title)
    async with console.visitor(house.tokens[house.human], viewport=PHONE) as page:
        await looks_right(page)
    await house.stack.say(house.pid, "conclude")
