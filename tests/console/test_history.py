"""Old and new processes: found by role, state and words, each with its cost, and older ones page by page."""

from __future__ import annotations

import pytest

from tests.console.room import ferry
from tests.gateway.conftest import GatewayHarness, gateway
from tongyao.gateway.console.routes import history

__all__ = ["gateway"]


async def test_processes_are_found_by_words_role_and_state(gateway: GatewayHarness) -> None:
    house = await ferry(gateway)
    asked = await house.start(chosen=False, auto_confirm=False)
    await house.stack.until(asked, "confirming")
    other = await ferry(gateway)
    people = [house.people["P00"], other.people["P01"], other.people["P02"]]
    joined = await house.stack.start(people, intent="A kiln for the whole street.", auto_confirm=True)
    await house.stack.end(joined)
    async with gateway.visitor(house.tokens["P00"]) as visitor:

        async def shown(filled: dict[str, str] | None = None) -> list[str]:
            page = await visitor.get("/processes")
            assert page.all("summary", "Filter")
            page = await visitor.submit("Show", filled or {})
            assert page.place.startswith("/processes?words=")
            return [link.attributes["href"].rsplit("/", 1)[1] for link in page.all("main li h3 a")]

        assert set(await shown()) == {asked, joined}
        assert await shown({"Words in the title": "data person"}) == [asked]
        assert await shown({"Your role": "you asked"}) == [asked]
        assert await shown({"Your role": "you take part"}) == [joined]
        assert await shown({"State": "ended"}) == [joined]
        assert await shown({"State": "going on"}) == [asked]
        assert await shown({"Words in the title": "nothing like it"}) == []
        assert "No process matches." in visitor.page.main.text
        await visitor.get("/processes?since=2024-02-31", code=422)
        page = await visitor.get("/processes")
        assert page.main.text.count("$0.00 of $6.00") == 1
    await house.stack.say(asked, "cancel")


async def test_older_processes_are_found_by_words_and_stand_on_further_pages(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_PAGE", 1)
    house = await ferry(gateway)
    started = [await house.start(chosen=False, auto_confirm=False) for _ in range(3)]
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        page = await visitor.get("/processes?words=ferry")
        assert len(page.all("main li h3")) == 3
        page = await visitor.get("/processes")
        seen = [link.attributes["href"] for link in page.all("main li h3 a")]
        while page.has_link("Older processes"):
            page = await visitor.follow("Older processes")
            seen += [link.attributes["href"] for link in page.all("main li h3 a")]
    assert [one.rsplit("/", 1)[1] for one in seen] == started[::-1]
    for pid in started:
        await house.stack.say(pid, "cancel")
