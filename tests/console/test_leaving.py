"""Whoever has left a process, or has given the seat to a proxy, is not asked in it any more, and every page says so."""

from __future__ import annotations

from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness, gateway

__all__ = ["gateway"]


async def _asked_in_a_round_that_stays_open(gateway: GatewayHarness) -> Ferry:
    house = await ferry(gateway)
    await house.start(humans=["P01"])  # who says nothing
    await house.stack.asked(house.pid, "P03", 1)
    return house


async def test_who_has_left_is_asked_nothing_and_offered_nothing_in_that_process(gateway: GatewayHarness) -> None:
    house = await _asked_in_a_round_that_stays_open(gateway)
    at = f"/processes/{house.pid}"
    async with gateway.visitor(house.tokens["P03"]) as visitor:
        older = await visitor.get("/")
        await visitor.submit("Leave this process")
        page = await visitor.submit("Leave")
        assert any("You have left the process." in one for one in page.status)
        assert page.h1 == "Nothing waits for you"
        await visitor.get(at)
        page = await visitor.until("You took part as P03 and have left")
        assert not page.has_link("Correct it")
        assert not page.all("#acts, main button")
        visitor.page = older
        page = await visitor.submit("Send to round 1", {"In your own words": "I can plan rosters."}, code=404)
        assert page.h1 == "This question is no longer open"
        assert "you have left · rounds in progress" in (await visitor.get("/")).main.text
        assert (await visitor.get(f"{at}/delivery", code=404)).h1 == "You have no part of the plan"
    view = (await house.harness.ask("GET", at, house.tokens["P03"])).json()
    assert view["left"] is True
    await house.stack.say(house.pid, "cancel")


async def test_whose_proxy_speaks_from_now_on_is_not_asked_on_the_same_page(gateway: GatewayHarness) -> None:
    house = await _asked_in_a_round_that_stays_open(gateway)
    async with gateway.visitor(house.tokens["P03"]) as visitor:
        await visitor.get("/")
        page = await visitor.submit("Let my proxy speak for me")
        assert any("From now on your proxy speaks for you." in one for one in page.status)
        assert page.h1 == "Nothing waits for you"
        assert "In your own words" not in [one.text for one in page.all("label")]
    await house.stack.say(house.pid, "cancel")
