"""Somebody who is asked very much can still open the console: anybody may choose them in their processes."""

from __future__ import annotations

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.support.until import until
from tongyao.app.people.sessions import open_session
from tongyao.gateway.access.authentication import SESSION
from tongyao.gateway.console import asks


async def test_the_first_page_shows_the_most_urgent_and_says_how_much_there_is(
    whole: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asks, "SHOWN", 2)
    scene = await whole.scene()
    demander, *others = [await whole.join(scene) for _ in range(3)]
    seats = [{"profile_id": one["profile_id"], "endpoint": "human"} for one in others]
    started = []
    for _ in range(4):
        body = {"intent": "I want a boat.", "participants": seats}
        started.append((await whole.ask("POST", "/processes", demander["token"], json=body)).json()["id"])

    async def asked() -> list[dict[str, str]]:
        found: list[dict[str, str]] = (await whole.ask("GET", "/inbox", demander["token"])).json()
        return found

    async def all_asked() -> bool:
        return len(await asked()) == 4

    await until(all_asked)
    session = await open_session(whole.context, demander["token"], place="http://127.0.0.1:8700")
    cookie = {"Cookie": f"{SESSION}={session.secret}"}
    page = (await whole.ask("GET", "/console/", headers=cookie)).text
    assert "4 things wait for you" in page and "2 more wait for you" in page
    assert sum(f"/asks/{one}/" in page for one in started) <= 2
    last = (await asked())[-1]
    path = f"/console/asks/{last['process_id']}/{last['id']}"
    assert (await whole.ask("GET", path, headers=cookie)).status_code == 200, "each is found at its own address"
    assert (await whole.ask("GET", path + "7", headers=cookie)).status_code == 404
