"""The demander starts a fork from the page of a process; a participant sees neither the form nor the fork."""

from __future__ import annotations

from tests.console.conftest import Console
from tests.console.room import ferry


async def test_a_fork_is_started_from_the_page_of_a_process_and_shown_as_one(console: Console) -> None:
    house = await ferry(console.harness)
    await house.start()
    await house.until_answering()
    at = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(at)
        await page.get_by_text("What if…").click()
        await page.get_by_label("P02", exact=True).check()
        await page.get_by_role("button", name="See what happens").click()
        await page.get_by_text("made from another process, with changes from round 1 on").wait_for()
        fork = page.url.rpartition("/")[2].partition("?")[0]
        await page.goto(at)
        assert await page.get_by_role("link", name=fork).count() == 1
    assert fork != house.pid
    await house.stack.until_ended(fork)
    seats = await house.stack.repositories.seats.seats(fork)
    assert "P02" not in {seat.alias for seat in seats}
    async with console.visitor(house.tokens["P03"]) as page:
        await page.goto(at)
        assert not await page.get_by_text("What if…").count()
        answer = await page.goto(f"{console.url}/console/processes/{fork}")
        assert answer is not None
        assert answer.status == 404
