"""The demander starts a fork from the page of a process; a participant sees neither the form nor the fork."""

from __future__ import annotations

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway

__all__ = ["gateway"]


async def test_a_fork_is_started_from_the_page_of_a_process_and_shown_as_one(gateway: GatewayHarness) -> None:
    house = await ferry(gateway)
    await house.start()
    await house.until_answering()
    at = f"/processes/{house.pid}"
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get(at)
        assert page.all("summary", "What if…")
        page = await visitor.submit("See what happens", {"P02": True})
        fork = page.place.rpartition("/")[2].partition("?")[0]
        assert fork != house.pid
        await visitor.until("made from another process, with changes from round 1 on")
        page = await visitor.get(at)
        assert page.main.one("a", fork).attributes["href"] == f"/console/processes/{fork}"
    await house.stack.until_ended(fork)
    seats = await house.stack.repositories.seats.seats(fork)
    assert "P02" not in {seat.alias for seat in seats}
    async with gateway.visitor(house.tokens["P03"]) as visitor:
        assert "What if…" not in (await visitor.get(at)).main.text
        await visitor.get(f"/processes/{fork}", code=404)
