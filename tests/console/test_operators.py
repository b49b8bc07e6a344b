"""The operators' pages: what is held up, why, and one button for all that a cause holds. No text of anybody."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from temporalio.service import RPCError

from tests.console.conftest import Console
from tests.console.looking import looks_right
from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Rule
from tests.support.until import until
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind

SECRET = "a boatyard with a heated shed and a crane that lifts nine tonnes"
WHY = "the account at the model server is empty: top it up, then resume (status 402)"
UI = "http://temporal.invalid/namespaces/default/workflows"


@pytest.fixture
async def held(gateway: GatewayHarness) -> AsyncIterator[tuple[str, str, str]]:
    """A process that waits for a person, and two that an empty account holds before their plan."""
    stack, engine = gateway.stack, gateway.engine
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


async def test_one_can_be_tried_first(gateway: GatewayHarness, held: tuple[str, str, str]) -> None:
    async with gateway.visitor(await gateway.operator(), language="zh") as visitor:
        page = await visitor.get("/operators/suspended")
        why = page.one("tr", held[1]).text
        assert "有一步需要运维处理。" in why and WHY.replace("the", "The", 1) in why
        page = await visitor.get("/operators")
        assert page.h1 == "有一种原因让 2 个过程暂停"
        page = await visitor.submit("先试一个")
        assert page.status == ["已恢复一个过程。"]


async def test_the_pages_link_into_temporal_and_show_nothing_that_anybody_said(
    gateway: GatewayHarness, held: tuple[str, str, str]
) -> None:
    harness = gateway.also(temporal_ui=UI)
    async with harness.visitor(await harness.operator()) as visitor:
        for path in ("", "/running", "/waiting", "/suspended", "/failed"):
            await visitor.get(f"/operators{path}")
            html = (await visitor.http.get(f"/console/operators{path}")).text
            assert SECRET not in html and "ferry" not in html
        page = await visitor.get("/operators/suspended")
        link = page.one("tr", held[0]).one("a", "In Temporal").attributes["href"]
        row = await harness.stack.repositories.processes.get(held[0])
        assert link == f"{UI}/{held[0]}/{row.run_id}/history"


async def test_nobody_else_opens_them(gateway: GatewayHarness) -> None:
    async with gateway.visitor(await gateway.person("p-anna")) as visitor:
        page = await visitor.get("/")
        assert not page.all("a", "Operations")
        page = await visitor.get("/operators", code=403)
        assert page.h1 == "You may not open this page"
