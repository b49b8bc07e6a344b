"""Old and new processes: found by role, state and words, each with its cost, and older ones page by page."""

from __future__ import annotations

import pytest

from tests.console.conftest import PHONE, Console
from tests.console.room import ferry
from tongyao.gateway.console.routes import history


async def test_processes_are_found_by_words_role_and_state(console: Console) -> None:
    house = await ferry(console.harness)
    asked = await house.start(chosen=False, auto_confirm=False)
    await house.stack.until(asked, "confirming")
    other = await ferry(console.harness)
    people = [house.people["P00"], other.people["P01"], other.people["P02"]]
    joined = await house.stack.start(people, intent="A kiln for the whole street.", auto_confirm=True)
    await house.stack.end(joined)
    async with console.visitor(house.tokens["P00"], viewport=PHONE) as page:

        async def shown(**chosen: str) -> list[str]:
            await page.goto(f"{console.url}/console/processes")
            await page.get_by_text("Filter").click()
            if "words" in chosen:
                await page.get_by_label("Words in the title").fill(chosen["words"])
            for label in ("Your role", "State"):
                if label in chosen:
                    await page.get_by_label(label).select_option(label=chosen[label])
            await page.get_by_role("button", name="Show").click()
            await page.wait_for_url("**/processes?words=*")
            links = await page.locator("main li h3 a").evaluate_all("all => all.map((one) => one.pathname)")
            return [one.rsplit("/", 1)[1] for one in links]

        assert set(await shown()) == {asked, joined}
        assert await shown(words="data person") == [asked]
        assert await shown(**{"Your role": "you asked"}) == [asked]
        assert await shown(**{"Your role": "you take part"}) == [joined]
        assert await shown(**{"State": "ended"}) == [joined]
        assert await shown(**{"State": "going on"}) == [asked]
        assert await shown(words="nothing like it") == []
        impossible = await page.request.get(f"{console.url}/console/processes?since=2024-02-31")
        assert impossible.status == 422
        assert await page.get_by_text("No process matches.").is_visible()
        await page.goto(f"{console.url}/console/processes")
        assert await page.get_by_text("$0.00 of $6.00").count() == 1
    await house.stack.say(asked, "cancel")


async def test_older_processes_are_found_by_words_and_stand_on_further_pages(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_PAGE", 1)
    house = await ferry(console.harness)
    started = [await house.start(chosen=False, auto_confirm=False) for _ in range(3)]
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(f"{console.url}/console/processes?words=ferry")
        assert await page.locator("main li h3").count() == 3
        await page.goto(f"{console.url}/console/processes")
        seen = 0
        while await page.get_by_role("link", name="Older processes").count():
            seen += await page.locator("main li h3").count()
            await page.get_by_role("link", name="Older processes").click()
            await page.wait_for_load_state()  # what is counted must have arrived whole
        assert seen + await page.locator("main li h3").count() == 3
    for pid in started:
        await house.stack.say(pid, "cancel")
