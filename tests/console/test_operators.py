"""The operators' pages: what is held up, why, and one button for all that a cause holds. No text of anybody."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from temporalio.service import RPCError

from tests.console.conftest import Console
from tests.console.looking import looks_right
from tests.support.scripted import Rule
from tests.support.serving import served
from tests.support.until import until
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

SECRET = "a boatyard with a heated shed and a crane that lifts nine tonnes"
WHY = "the account at the model server is empty: top it up, then resume (status 402)"
UI = "http://temporal.invalid/namespaces/default/workflows"


@pytest.fixture
async def held(console: Console) -> AsyncIterator[tuple[str, str, str]]:
    """A process that waits for a person, and two that an empty account holds before their plan."""
    stack, engine = console.harness.stack, console.harness.engine
    flag = uuid.uuid4().hex
    engine.script.rules.append(Rule(step="plan", do="operator_needed", until=flag, message=WHY))
    people = await stack.people({"anna": f"I have {SECRET}.", "bo": "I repair engines, and I never work at night."})
    ids = [await stack.start(people, auto_confirm=True) for _ in range(2)]
    human: list[str | Choice] = [Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN), people[1]]
    waiting = await stack.start(human, auto_confirm=True)

    async def both_held() -> bool:
        rows = [await stack.repositories.processes.get(one) for one in ids]
        return all(row.suspended for row in rows) and (await stack.repositories.processes.get(waiting)).waiting

    await until(both_held)
    yield ids[0], ids[1], waiting
    engine.mend(flag)
    engine.script.rules.pop()
    for one in (*ids, waiting):
        with suppress(RPCError):
            await stack.handle(one).cancel()

    async def none_held() -> bool:
        return not any([(await stack.repositories.processes.get(one)).suspended for one in ids])

    await until(none_held)


async def test_an_operator_sees_the_cause_and_resumes_all_that_it_holds(
    console: Console, held: tuple[str, str, str]
) -> None:
    async with console.visitor(await console.harness.operator()) as page:
        await page.get_by_role("link", name="Operations").click()
        assert await page.locator("h1").inner_text() == "One cause suspends 2 processes"
        suspended = page.locator("section", has=page.get_by_role("heading", name="Suspended")).last
        assert WHY.replace("the", "The", 1) in await suspended.inner_text()
        await suspended.get_by_text("The 2 processes").click()
        assert all([await suspended.get_by_text(one).is_visible() for one in held[:2]])
        waits = page.get_by_role("row").filter(has_text=held[2])
        assert "say what is new from you in round 1" in await waits.inner_text()
        assert "P0" in await waits.inner_text()
        await looks_right(page)

        console.harness.engine.mend(console.harness.engine.script.rules[-1].until)
        await page.get_by_role("button", name="Resume these 2").click()
        assert "2 processes were resumed" in await page.get_by_role("status").inner_text()
        assert await page.locator("h1").inner_text() == "Nothing is suspended"
        for one in held[:2]:
            assert (await console.harness.stack.end(one)).plans


async def test_one_can_be_tried_first(console: Console, held: tuple[str, str, str]) -> None:
    async with console.visitor(await console.harness.operator(), language="zh") as page:
        await page.goto(f"{console.url}/console/operators/suspended")
        why = await page.get_by_role("row").filter(has_text=held[1]).inner_text()
        assert f"有一步需要运维处理。{WHY.replace('the', 'The', 1)}" in why
        await looks_right(page)
        await page.goto(f"{console.url}/console/operators")
        assert await page.locator("h1").inner_text() == "有一种原因让 2 个过程暂停"
        await page.get_by_role("button", name="先试一个").click()
        assert await page.get_by_role("status").inner_text() == "已恢复一个过程。"


async def test_the_pages_link_into_temporal_and_show_nothing_that_anybody_said(
    console: Console, held: tuple[str, str, str]
) -> None:
    harness = console.harness.also(temporal_ui=UI)
    operator = await harness.operator()
    async with served(harness.app) as url, Console(harness, console.browser, url).visitor(operator) as page:
        for path in (
            "operators",
            "operators/running",
            "operators/waiting",
            "operators/suspended",
            "operators/failed",
        ):
            await page.goto(f"{url}/console/{path}")
            assert SECRET not in await page.content() and "ferry" not in await page.content()
            await looks_right(page)
        await page.goto(f"{url}/console/operators/suspended")
        link = (
            await page.get_by_role("row")
            .filter(has_text=held[0])
            .get_by_role("link", name="In Temporal")
            .get_attribute("href")
        )
        row = await harness.stack.repositories.processes.get(held[0])
        assert link == f"{UI}/{held[0]}/{row.run_id}/history"


async def test_nobody_else_opens_them(console: Console) -> None:
    async with console.visitor(await console.harness.person("p-anna")) as page:
        assert await page.get_by_role("link", name="Operations").count() == 0
        answer = await page.goto(f"{console.url}/console/operators")
        assert answer is not None and answer.status == 403
        assert await page.locator("h1").inner_text() == "You may not open this page"
