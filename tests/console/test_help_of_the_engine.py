"""Help with an intent by the engine that will formulate it: streamed, counted, bounded, and never in other words than the person's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

from playwright.async_api import Page

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness
from tests.support.messages_api.faults import Fault, always
from tests.support.messages_api.fixtures import Engines, Serve
from tests.support.page_visitor import Page as PageOf
from tests.support.page_visitor import PageVisitor
from tests.support.serving import served
from tests.support.until import until
from tongyao.app.context import AppContext
from tongyao.llm.engine import Answer, Bound, Call, Usage
from tongyao.llm.structured_output.parsing import read
from tongyao.protocol.model.steps import DraftT, RequestT, Step
from tongyao.records.budgets import DayBudgets
from tongyao.runtime.intent_reader import EngineIntentReader

CHANGE, GIFT = "I want the whole street to keep honey.", "I can give two hives and my weekends."
INTENT = f"{CHANGE} {GIFT}"
ANSWER = {
    "transition": "From honey that one keeps to honey that a street keeps.",
    "quotes": [
        {"line": "T", "quote": CHANGE},
        {"line": "B1", "quote": "Nobody wrote this sentence."},
        {"line": "E", "quote": GIFT},
    ],
}


async def asked_at(gateway: GatewayHarness, **parts: object) -> tuple[GatewayHarness, Ferry]:
    """Another gateway of the same stack, with these parts of its context, and people at it."""
    harness = gateway.also(**parts)
    return harness, await ferry(harness)


@asynccontextmanager
async def browsed(console: Console, harness: GatewayHarness) -> AsyncIterator[Console]:
    """The console of this gateway in the browser."""
    async with served(harness.app) as url:
        yield Console(harness, console.browser, url)


def reader(context: AppContext, engine: object) -> EngineIntentReader:
    return EngineIntentReader(engine, context.repositories.ledger)  # type: ignore[arg-type]  # an engine of a test


READ = "Have the model read my words"


async def ask(page: Page, url: str) -> None:
    await page.goto(f"{url}/console/start")
    await page.get_by_label("Your intent").fill(INTENT)
    await page.get_by_text("Help me say it").click()
    await page.get_by_role("button", name=READ).click()


async def ask_without_script(visitor: PageVisitor, *, code: int = 200) -> PageOf:
    await visitor.get("/start")
    page = await visitor.submit(READ, {"Your intent": INTENT}, code=code)
    assert page.field("Your intent").value == INTENT, "the words stay the person's own"
    return page


async def asked_by_script(visitor: PageVisitor) -> list[dict[str, Any]]:
    """The lines that the script of the page gets."""
    page = await visitor.get("/start")
    fields = {"form_token": page.all("[name=form_token]")[0].value, "intent": INTENT, "do": "ask"}
    answer = await visitor.http.post("/console/start", data=fields, headers={"Accept": "application/x-ndjson"})
    assert answer.status_code == 200
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_the_engine_says_which_words_it_takes_and_the_person_pays_for_it(
    console: Console, serve: Serve, engine_at: Engines
) -> None:
    server = serve(respond=lambda request: json.dumps(ANSWER))
    engine = engine_at(server)
    harness, house = await asked_at(console.harness, intent_reader=reader(console.harness.context, engine))
    ledger = house.stack.repositories.ledger
    before = await ledger.used_today(house.people["P00"])
    async with browsed(console, harness) as here, here.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await ask(page, here.url)
        await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
        await page.locator("[data-read=gives]").filter(has_text=GIFT).wait_for()
        await page.locator("[data-read=barriers]").filter(has_text="Nothing about this yet.").wait_for()
        assert await page.get_by_label("Your intent").input_value() == INTENT, "the words stay the person's own"
    used = await ledger.used_today(house.people["P00"])
    assert before.person_cost == 0 < used.person_cost
    assert used.cost - before.cost == used.person_cost
    assert used.person_tokens > 0
    async with harness.visitor(house.tokens["P01"]) as visitor:
        shown = await ask_without_script(visitor)
    told = [shown.one(f"[data-read={name}]").text for name in ("changes", "gives", "barriers")]
    assert told == [f"You say: “{CHANGE}”", f"You say: “{GIFT}”", "Nothing about this yet."]
    assert (await ledger.used_today(house.people["P01"])).person_cost > 0
    assert [one.request["model"] for one in server.served] == 2 * [engine.model_for("formulate")]


class Slow:
    """An engine whose answer comes in two parts; the second when `go` is set."""

    name = "slow"

    def __init__(self) -> None:
        self.go = asyncio.Event()

    def model_for(self, step: str) -> str:
        return "slow-1"

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        return Bound(tokens=100, cost=Decimal("0.03"))

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        text = json.dumps(ANSWER)
        assert call.hear is not None
        call.hear(text[: text.index("Nobody wrote") + 10])
        await self.go.wait()
        call.hear(text)
        return Answer(draft=read(text, step.draft), text=text, engine=self.name, usage=Usage(output_tokens=7))


async def test_what_the_engine_finds_is_shown_while_it_still_reads(console: Console) -> None:
    engine = Slow()
    harness, house = await asked_at(console.harness, intent_reader=reader(console.harness.context, engine))
    async with browsed(console, harness) as here, here.visitor(house.tokens["P00"]) as page:
        await ask(page, here.url)
        await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
        assert (
            await page.locator("[data-asking]").inner_text()
            == "The model is reading. The passages that it finds appear below."
        )
        engine.go.set()
        await page.get_by_text("The model has read it.").wait_for()
        await page.locator("[data-read=gives]").filter(has_text=GIFT).wait_for()


async def test_what_was_asked_for_is_counted_also_when_the_page_is_closed(console: Console) -> None:
    engine = Slow()
    harness, house = await asked_at(console.harness, intent_reader=reader(console.harness.context, engine))
    async with browsed(console, harness) as here:
        async with here.visitor(house.tokens["P00"]) as page:
            await ask(page, here.url)
            await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
        engine.go.set()

        async def counted() -> bool:
            return (await house.stack.repositories.ledger.used_today(house.people["P00"])).person_tokens == 7

        await until(counted)


async def test_a_person_asks_so_often_and_no_more(console: Console, serve: Serve, engine_at: Engines) -> None:
    server = serve(respond=lambda request: json.dumps(ANSWER))
    options = console.harness.context.options.model_copy(update={"read_rate": "1/hour"})
    parts = {"intent_reader": reader(console.harness.context, engine_at(server)), "options": options}
    harness, house = await asked_at(console.harness, **parts)
    async with browsed(console, harness) as here, here.visitor(house.tokens["P00"]) as page:
        await ask(page, here.url)
        await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
        await ask(page, here.url)
        await page.get_by_text("Too many attempts").wait_for()
        assert await page.get_by_label("Your intent").input_value() == INTENT
    assert server.calls == 1
    async with harness.visitor(house.tokens["P01"]) as visitor:
        await ask_without_script(visitor)
        assert "Too many attempts" in (await ask_without_script(visitor, code=422)).alert
    assert server.calls == 2


async def test_nothing_is_asked_when_the_day_of_the_person_is_used_up(
    gateway: GatewayHarness, serve: Serve, engine_at: Engines
) -> None:
    server = serve(respond=lambda request: json.dumps(ANSWER))
    much = DayBudgets(cost=Decimal(10_000), tokens=10**12, person_tokens=1)
    parts = {"intent_reader": reader(gateway.context, engine_at(server)), "day_budgets": much}
    harness, house = await asked_at(gateway, **parts)
    async with harness.visitor(house.tokens["P00"]) as visitor:
        *_, last = await asked_by_script(visitor)
        assert last["whole"]
        [line] = await asked_by_script(visitor)
        assert line["problem"].startswith("Your budget for models is used up for today.")
        page = await ask_without_script(visitor, code=422)
        assert page.alert.startswith("Your budget for models is used up for today.")
    assert server.calls == 1


async def test_an_engine_that_fails_is_said_and_the_words_stay(
    gateway: GatewayHarness, serve: Serve, engine_at: Engines
) -> None:
    server = serve(faults=always(Fault.UNAUTHORIZED))
    harness, house = await asked_at(gateway, intent_reader=reader(gateway.context, engine_at(server)))
    async with harness.visitor(house.tokens["P00"]) as visitor:
        *_, last = await asked_by_script(visitor)
        assert last["problem"].startswith("The model gave no answer just now.")
        page = await ask_without_script(visitor, code=422)
        assert page.alert.startswith("The model gave no answer just now.")


async def test_without_a_paid_engine_nothing_of_the_kind_is_offered(gateway: GatewayHarness) -> None:
    house = await ferry(gateway)
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get("/start")
        assert page.all("summary", "Help me say it")
        assert not page.has_button(READ)
