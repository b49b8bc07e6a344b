"""A live page loads itself anew when it is told of a change: shortly after, not for each of many changes, and only where somebody sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx
from playwright.async_api import Page

from tests.console.conftest import Console
from tests.console.room import Ferry, ferry
from tests.console.test_access import sign_in
from tests.gateway.conftest import GatewayHarness
from tests.support.serving import served
from tests.support.until import until
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.records.process.journal import Journal

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TICKS = 12
COUNT = """
window.told = 0;
const add = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, then) {
  add.call(this, name, name === "changed" ? (event) => { then(event); window.told += 1; } : then);
};
"""
HIDE = """
window.seen = false;
Object.defineProperty(document, "hidden", { get: () => !window.seen });
"""
LONGER_THAN_ANY_PAGE_WAITS = 2_500


async def confirming(harness: GatewayHarness) -> Ferry:
    house = await ferry(harness)
    await house.start(chosen=False, auto_confirm=False)
    await house.stack.until(house.pid, "confirming")
    return house


async def change(house: Ferry) -> None:
    """One more event that the demander may see."""
    repositories = house.harness.context.repositories
    row = await repositories.processes.get(house.pid)
    assert row.run_id is not None
    event = Event(seq=row.seq + 1, kind=EventKind.DEADLINE_EXTENDED, at=NOON, data={"alias": DEMANDER})
    snapshot = Snapshot(process_id=house.pid, seq=event.seq, phase=Phase.CONFIRMING, round=0, waiting=True)
    await Journal(repositories.pool).write(Outbox(snapshot=snapshot, events=(event,)), row.run_id)


@asynccontextmanager
async def looked_at(console: Console, house: Ferry, script: str = "") -> AsyncIterator[tuple[Page, list[str]]]:
    """The page of the process, whose clock stands still once its stream is open; and the addresses that it loads from then on."""
    loads: list[str] = []
    path = f"/console/processes/{house.pid}"
    async with console.visitor(house.tokens[DEMANDER]) as page:
        await page.clock.install(time=NOON)
        await page.add_init_script(COUNT + script)
        async with page.expect_response(lambda answer: "/live" in answer.url):
            await page.goto(console.url + path)
        await page.clock.pause_at(NOON + timedelta(seconds=60))
        page.on("request", lambda request: loads.append(request.url) if request.url.endswith(path) else None)
        yield page, loads
    await house.stack.handle(house.pid).terminate()


async def told(page: Page, house: Ferry, times: int) -> None:
    """Change something so often, each time once the page was told of the time before."""
    for number in range(1, times + 1):

        async def heard(number: int = number) -> bool:
            return int(await page.evaluate("window.told")) >= number

        await change(house)
        await until(heard)


async def test_changes_that_follow_each_other_are_one_new_page(console: Console) -> None:
    house = await confirming(console.harness)
    async with looked_at(console, house) as (page, loads):
        await told(page, house, TICKS)
        assert not loads
        async with page.expect_response(f"**/console/processes/{house.pid}"):
            await page.clock.run_for(LONGER_THAN_ANY_PAGE_WAITS)
        await page.clock.run_for(LONGER_THAN_ANY_PAGE_WAITS)
        assert len(loads) == 1


async def test_a_page_that_nobody_sees_is_loaded_when_somebody_does(console: Console) -> None:
    house = await confirming(console.harness)
    async with looked_at(console, house, HIDE) as (page, loads):
        await told(page, house, 1)
        await page.clock.run_for(LONGER_THAN_ANY_PAGE_WAITS)
        assert not loads
        async with page.expect_response(f"**/console/processes/{house.pid}"):
            await page.evaluate("window.seen = true; document.dispatchEvent(new Event('visibilitychange'))")


async def test_a_stream_of_many_changes_uses_up_no_requests_of_its_reader(console: Console) -> None:
    house = await confirming(console.harness)
    few = console.harness.also(options=console.harness.context.options.model_copy(update={"rate": "8/minute"}))
    path = f"/console/processes/{house.pid}"
    async with served(few.app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        await sign_in(http, house.tokens[DEMANDER])
        shown = (await http.get(path)).text.split('data-live="', 1)[1].split('"', 1)[0]
        async with http.stream("GET", shown) as stream:
            lines = stream.aiter_lines()
            for _ in range(TICKS):
                await change(house)
                async with asyncio.timeout(30):
                    while await anext(lines) != "event: changed":
                        pass
            assert (await http.get(path)).status_code == 200
    await house.stack.handle(house.pid).terminate()
