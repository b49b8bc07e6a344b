"""Amounts of money that people write: with a point or a comma, and refused in words where they are none."""

from __future__ import annotations

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway

__all__ = ["gateway"]

REFUSED = {"en": "Write an amount in US dollars, like 5 or 2.50.", "zh": "请写一个美元数，比如 5 或 2.50。"}


async def test_a_budget_that_is_no_amount_is_refused_in_words_and_one_with_a_comma_is_taken(
    gateway: GatewayHarness,
) -> None:
    house = await ferry(gateway)
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get("/start")
        for budget in ("five", "-1", "1,000", "1.234"):
            intent = {"Your intent": "I want the street to keep bees."}
            page = await visitor.submit("Begin", {**intent, "#budget": budget}, code=422)
            assert page.alert == REFUSED["en"]
            assert page.field("#budget").value == budget, "what was written stays"
        page = await visitor.submit("Begin", {"#budget": "0,50"})
        assert page.place.startswith("/processes/c-")
    pid = page.place.rsplit("/", 1)[-1]
    row = await house.stack.repositories.processes.get(pid)
    assert float(row.settings["cost_budget"]) == 0.5
    await house.stack.say(pid, "cancel")


async def test_a_new_limit_that_is_no_amount_is_refused_in_words_and_nothing_written_is_lost(
    gateway: GatewayHarness,
) -> None:
    house = await ferry(gateway)
    await house.start(max_rounds=2)
    for number in (1, 2):
        await house.speak(number)
    await house.stack.until(house.pid, "deciding")
    await house.stack.asked(house.pid, "P00", 2, what="decision")
    for language in REFUSED:
        async with gateway.visitor(house.tokens["P00"], language=language) as visitor:
            page = await visitor.get("/")
            assert "open" not in page.field("#cost").within("details").attributes
            page = await visitor.submit("[value=raise_budget]", {"#cost": "about ten"}, code=422)
            assert page.alert == REFUSED[language]
            assert "open" in page.field("#cost").within("details").attributes
            assert page.field("#cost").value == "about ten"
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        await visitor.get("/")
        page = await visitor.submit("[value=raise_budget]", {"#cost": "9,50"})
    assert page.place.startswith("/?done=answered")
    await house.stack.say(house.pid, "cancel")
