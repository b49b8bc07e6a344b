"""Help with an intent by the engine that will formulate it: streamed, counted, bounded, and never in other words than the person's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import pytest
from playwright.async_api import Page

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.support.messages_api.faults import Fault, always
from tests.support.messages_api.fixtures import Engines, Serve
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


@asynccontextmanager
async def asked_at(console: Console, **parts: object) -> AsyncIterator[tuple[Console, Ferry]]:
    """The console of another gateway of the same stack, with these parts of its context."""
    harness = console.harness.also(**parts)
    async with served(harness.app) as url:
        yield Console(harness, console.browser, url), await ferry(harness)


def reader(context: AppContext, engine: object) -> EngineIntentReader:
    return EngineIntentReader(engine, context.repositories.ledger)  # type: ignore[arg-type]  # an engine of a test


async def ask(page: Page, url: str) -> None:
    await page.goto(f"{url}/console/start")
    await page.get_by_label("Your intent").fill(INTENT)
    await page.get_by_text("Help me say it").click()
    await page.get_by_role("button", name="Have the model read my words").click()


@pytest.mark.parametrize("script", [True, False])
async def test_the_engine_says_which_words_it_takes_and_the_person_pays_for_it(
    console: Console, serve: Serve, engine_at: Engines, script: bool
) -> None:
    server = serve(respond=lambda request: json.dumps(ANSWER))
    engine = engine_at(server)
    async with asked_at(console, intent_reader=reader(console.harness.context, engine)) as (here, house):
        person = house.people["P00"]
        before = await house.stack.repositories.ledger.used_today(person)
        async with here.visitor(house.tokens["P00"], viewport=PHONE, java_script_enabled=script) as page:
            await ask(page, here.url)
            await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
            await page.locator("[data-read=gives]").filter(has_text=GIFT).wait_for()
            await page.locator("[data-read=barriers]").filter(has_text="Nothing about this yet.").wait_for()
            assert await page.get_by_label("Your intent").input_value() == INTENT, "the words stay the person's own"
        used = await house.stack.repositories.ledger.used_today(person)
    assert [one.request["model"] for one in server.served] == [engine.model_for("formulate")]
    assert before.person_cost == 0 < used.person_cost
    assert used.cost - before.cost == used.person_cost
    assert used.person_tokens > 0


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
    async with (
        asked_at(console, intent_reader=reader(console.harness.context, engine)) as (here, house),
        here.visitor(house.tokens["P00"]) as page,
    ):
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
    async with asked_at(console, intent_reader=reader(console.harness.context, engine)) as (here, house):
        async with here.visitor(house.tokens["P00"]) as page:
            await ask(page, here.url)
            await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
        engine.go.set()

        async def counted() -> bool:
            return (await house.stack.repositories.ledger.used_today(house.people["P00"])).person_tokens == 7

        await until(counted)


@pytest.mark.parametrize("script", [True, False])
async def test_a_person_asks_so_often_and_no_more(
    console: Console, serve: Serve, engine_at: Engines, script: bool
) -> None:
    server = serve(respond=lambda request: json.dumps(ANSWER))
    options = console.harness.context.options.model_copy(update={"read_rate": "1/hour"})
    parts = {"intent_reader": reader(console.harness.context, engine_at(server)), "options": options}
    async with (
        asked_at(console, **parts) as (here, house),
        here.visitor(house.tokens["P00"], java_script_enabled=script) as page,
    ):
        await ask(page, here.url)
        await page.locator("[data-read=changes]").filter(has_text=CHANGE).wait_for()
        await ask(page, here.url)
        await page.get_by_text("Too many attempts").wait_for()
        assert await page.get_by_label("Your intent").input_value() == INTENT
    assert server.calls == 1


async def test_nothing_is_asked_when_the_day_of_the_person_is_used_up(
    console: Console, serve: Serve, engine_at: Engines
) -> None:
    server = serve(respond=lambda request: json.dumps(ANSWER))
    much = DayBudgets(cost=Decimal(10_000), tokens=10**12, person_tokens=1)
    parts = {"intent_reader": reader(console.harness.context, engine_at(server)), "day_budgets": much}
    async with asked_at(console, **parts) as (here, house), here.visitor(house.tokens["P00"]) as page:
        await ask(page, here.url)
        await page.get_by_text("The model has read it.").wait_for()
        await ask(page, here.url)
        await page.get_by_text("Your budget for models is used up for today.").wait_for()
    assert server.calls == 1


@pytest.mark.parametrize("script", [True, False])
async def test_an_engine_that_fails_is_said_and_the_words_stay(
    console: Console, serve: Serve, engine_at: Engines, script: bool
) -> None:
    server = serve(faults=always(Fault.UNAUTHORIZED))
    async with (
        asked_at(console, intent_reader=reader(console.harness.context, engine_at(server))) as (here, house),
        here.visitor(house.tokens["P00"], java_script_enabled=script) as page,
    ):
        await ask(page, here.url)
        await page.get_by_text("The model gave no answer just now.").wait_for()
        assert await page.get_by_label("Your intent").input_value() == INTENT


async def test_without_a_paid_engine_nothing_of_the_kind_is_offered(console: Console) -> None:
    house = await ferry(console.harness)
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/start")
        await page.get_by_text("Help me say it").click()
        assert not await page.get_by_role("button", name="Have the model read my words").count()
