"""Help to find an intent: questions from the own profile by a model, and the sample intents of scenes."""

from __future__ import annotations

import json
import os

from tests.console.conftest import PHONE, Console
from tests.console.room import ferry
from tests.console.test_help_of_the_engine import asked_at, reader
from tests.support.messages_api.fixtures import Engines, Serve
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.people.profiles import read_version


async def test_a_model_asks_from_the_profile_and_nothing_else_is_shown(
    console: Console, serve: Serve, engine_at: Engines
) -> None:
    answers: list[str] = []
    server = serve(respond=lambda request: answers[-1])
    engine = engine_at(server)
    async with asked_at(console, intent_reader=reader(console.harness.context, engine)) as (here, house):
        person = house.people["P00"]
        profile = await read_version(house.stack.context, Caller(Role.PERSON, person=person), person, 1)
        passage = profile.strip()[:30].strip()
        questions = ["Would somebody need what stands idle?", "A remark and no question.", "Is this made up?"]
        said = [passage, passage, "A sentence that stands in no profile."]
        quotes = [{"line": f"B{number}", "quote": quote} for number, quote in enumerate(said, 1)]
        answers.append(json.dumps({"barriers": questions, "quotes": quotes}))
        async with here.visitor(house.tokens["P00"], viewport=PHONE) as page:
            await page.goto(f"{here.url}/console/start")
            await page.get_by_label("Your intent").fill("I do not know yet.")
            await page.get_by_text("Help me say it").click()
            await page.get_by_role("button", name="Suggest what I could ask for").click()
            await page.get_by_text("Would somebody need what stands idle?").wait_for()
            shown = await page.locator("main").inner_text()
            if shots := os.environ.get("SHOTS"):
                await page.screenshot(path=f"{shots}/suggest.png", full_page=True)
            assert passage in shown and "From your profile" in shown
            assert "remark" not in shown and "made up" not in shown, "only questions that quote the profile"
            assert await page.get_by_label("Your intent").input_value() == "I do not know yet."
        sent = server.served[-1].request
        assert "could ask of others" in json.dumps(sent["system"]) and passage in json.dumps(
            sent["messages"], ensure_ascii=False
        )


async def test_without_a_model_it_says_so_and_shows_what_others_ask_for(console: Console) -> None:
    house = await ferry(console.harness)
    samples = {"sample": True, "sample_intents": [{"en": "My flat keeps trembling.", "zh": "家里总在抖。"}]}
    await house.stack.repositories.scenes.put("trembling", "Shared interests (sample, invented people)", samples)
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:
        await page.goto(f"{console.url}/console/start")
        await page.get_by_text("Examples of requests here").click()
        await page.get_by_text("My flat keeps trembling.").wait_for()
        await page.get_by_text("Help me say it").click()
        await page.get_by_text("No model is set here, so nothing is suggested").wait_for()
        assert await page.get_by_role("button", name="Suggest what I could ask for").count() == 0
        chosen = await page.get_by_label("Where are people looked for?").input_value()
        assert chosen != "trembling", "a scene of invented people is never chosen for somebody"
