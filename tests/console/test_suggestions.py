"""Help to find an intent: questions from the own profile by a model, and the sample intents of scenes."""

from __future__ import annotations

import json

from tests.console.room import ferry
from tests.console.test_help_of_the_engine import asked_at, reader
from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.messages_api.fixtures import Engines, Serve
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.people.profiles import read_version

__all__ = ["gateway"]


async def test_a_model_asks_from_the_profile_and_nothing_else_is_shown(
    gateway: GatewayHarness, serve: Serve, engine_at: Engines
) -> None:
    answers: list[str] = []
    server = serve(respond=lambda request: answers[-1])
    harness, house = await asked_at(gateway, intent_reader=reader(gateway.context, engine_at(server)))
    person = house.people["P00"]
    profile = await read_version(house.stack.context, Caller(Role.PERSON, person=person), person, 1)
    passage = profile.strip()[:30].strip()
    questions = ["Would somebody need what stands idle?", "A remark and no question.", "Is this made up?"]
    said = [passage, passage, "A sentence that stands in no profile."]
    quotes = [{"line": f"B{number}", "quote": quote} for number, quote in enumerate(said, 1)]
    answers.append(json.dumps({"barriers": questions, "quotes": quotes}))
    async with harness.visitor(house.tokens["P00"]) as visitor:
        await visitor.get("/start")
        page = await visitor.submit("Suggest what I could ask for", {"Your intent": "I do not know yet."})
        [suggested] = page.all("[role=status] li")
        assert questions[0] in suggested.text
        assert passage in suggested.text and "From your profile" in suggested.text
        shown = page.main.text
        assert "remark" not in shown and "made up" not in shown, "only questions that quote the profile"
        assert page.field("Your intent").value == "I do not know yet."
    sent = server.served[-1].request
    assert "could ask of others" in json.dumps(sent["system"])
    assert passage in json.dumps(sent["messages"], ensure_ascii=False)


async def test_without_a_model_it_says_so_and_shows_what_others_ask_for(gateway: GatewayHarness) -> None:
    house = await ferry(gateway)
    samples = {"sample": True, "sample_intents": [{"en": "My flat keeps trembling.", "zh": "家里总在抖。"}]}
    await house.stack.repositories.scenes.put("trembling", "Shared interests (sample, invented people)", samples)
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get("/start")
        examples = page.one("details", "Examples of requests here")
        assert [one.text for one in examples.all("li")] == ["My flat keeps trembling."]
        assert "No model is set here, so nothing is suggested" in page.one("details", "Help me say it").text
        assert not page.has_button("Suggest what I could ask for")
        chosen = page.field("Where are people looked for?").value
        assert chosen != "trembling", "a scene of invented people is never chosen for somebody"
