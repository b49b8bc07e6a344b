"""A proxy never answers a plan. The person it spoke for may; and every place says the same of who has answered."""

from __future__ import annotations

from mcp.client import Client as McpClient

from tests.console.room import Ferry, ferry
from tests.gateway.conftest import GatewayHarness, gateway, said_by
from tests.support.until import until
from tongyao.gateway.mcp.server import make_server
from tongyao.protocol.model.events import EventKind

__all__ = ["gateway"]


async def views(house: Ferry) -> dict[str, str]:
    """What each participant's view says of their own answer."""
    found = {}
    for alias in house.seats:
        view = await house.harness.ask("GET", f"/processes/{house.pid}", house.tokens[alias])
        found[alias] = view.json()["own_answer"]
    return found


async def test_people_whose_proxy_spoke_answer_by_every_door_and_every_place_says_so(gateway: GatewayHarness) -> None:
    house = await ferry(gateway)
    await house.start()
    await house.until_answering()
    await until(lambda: _asked(house, "P03"), "P03 is asked")
    assert await views(house) == {**dict.fromkeys(house.seats, "possible"), "P03": "asked"}
    plan = f"/processes/{house.pid}"
    async with gateway.visitor(house.tokens["P01"]) as visitor:
        assert (await visitor.get("/")).h1 == "A plan is ready to read"
        page = await visitor.get(f"{plan}/delivery")
        assert "It does not answer the plan. You can answer yourself" in page.main.text
        page = await visitor.submit("I commit to this part")
        assert page.place == f"{plan}/delivery?done=commit"
    commit = {"kind": "answer_plan", "revision": 1, "answer": "commit"}
    over_api = await house.harness.ask("POST", f"/processes/{house.pid}/messages", house.tokens["P02"], json=commit)
    assert over_api.status_code == 200, over_api.text
    async with McpClient(make_server(house.harness.context, token=house.tokens["P04"])) as client:
        sent = {"process_id": house.pid, "key": "k", "message": commit}
        assert said_by(await client.call_tool("decide", sent))["state"] == "applied"
    assert (await house.stack.repositories.processes.get(house.pid)).phase == "answering", "P03 is still waited for"
    answered = await house.harness.ask("POST", f"/processes/{house.pid}/messages", house.tokens["P03"], json=commit)
    assert answered.status_code == 200, answered.text
    await house.stack.end(house.pid)
    assert await views(house) == {**dict.fromkeys(house.seats, "given"), "P05": "unasked"}
    async with gateway.visitor(house.tokens["P00"]) as visitor:
        ended = (await visitor.get(plan)).one("main > header").text
        assert "The process has ended: the plan is written." in ended
        assert "Committed: P01 (Mairi Voe), P02 (Donald Ness), P03 (Isbel Croy), P04" in ended
        assert "No answer: P05." in ended
        page = await visitor.get(f"{plan}/plan")
        assert "No answer" in page.one("#answers tr", "P05").text
    markdown = (await house.harness.ask("GET", f"/processes/{house.pid}/plan", house.tokens["P00"])).json()["markdown"]
    assert "### No answer" in markdown and "P05" in markdown.partition("### No answer")[2].split("##")[0]
    async with gateway.visitor(house.tokens["P05"]) as visitor:
        for path in ("", "/delivery"):
            page = await visitor.get(plan + path)
            assert "Your proxy spoke for you, so nobody waited for your answer to the plan." in page.main.text
        assert not page.has_button("I commit to this part")
    refused = await house.harness.ask("POST", f"/processes/{house.pid}/messages", house.tokens["P05"], json=commit)
    assert refused.json()["code"] == "ended"


async def _asked(house: Ferry, alias: str) -> bool:
    asks = await house.stack.repositories.inbox.of_process(house.pid, open_only=True)
    return any((one.ask, one.alias) == ("answer", alias) for one in asks)


async def test_what_was_said_is_not_asked_again_before_the_process_has_written_it(gateway: GatewayHarness) -> None:
    """Between the verdict and the next write of the process the question still stands in the records."""
    house = await ferry(gateway)
    await house.start(humans=["P01"])
    await house.stack.asked(house.pid, "P03", 1)
    said = {"kind": "submit_projection", "round": 1, "text": "I can plan rosters."}
    sent = await house.harness.ask("POST", f"/processes/{house.pid}/messages", house.tokens["P03"], json=said)
    assert sent.status_code == 200, sent.text

    async def proxies_are_written() -> bool:
        received = await house.stack.repositories.events.of_kind(house.pid, EventKind.PROJECTION_RECEIVED)
        return {one.data["alias"] for one in received} == set(house.seats) - {"P01", "P03"}

    await until(proxies_are_written)  # and nothing more is until P01 speaks
    await until(lambda: house.stack.happened(house.pid, "words_arrived"), "the words in the process")
    async with house.stack.repositories.pool.connection() as connection:  # as it was before the process wrote
        await connection.execute(
            "UPDATE inbox SET closed_at = NULL WHERE process_id = %s AND alias = 'P03'", [house.pid]
        )
    async with gateway.visitor(house.tokens["P03"]) as visitor:
        assert (await visitor.get("/")).h1 == "Nothing waits for you"
        assert "Your words have arrived." in (await visitor.get(f"/processes/{house.pid}")).main.text
    assert (await house.harness.ask("GET", "/inbox", house.tokens["P03"])).json() == []
    await house.stack.say(house.pid, "cancel")
