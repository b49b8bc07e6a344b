"""A proxy never answers a plan. The person it spoke for may; and every place says the same of who has answered."""

from __future__ import annotations

from mcp.client import Client as McpClient

from tests.console.conftest import PHONE, Console
from tests.console.room import Ferry, ferry
from tests.gateway.conftest import said_by
from tests.support.until import until
from tongyao.gateway.mcp.server import make_server
from tongyao.protocol.model.events import EventKind


async def views(house: Ferry) -> dict[str, str]:
    """What each participant's view says of their own answer."""
    found = {}
    for alias in house.seats:
        view = await house.harness.ask("GET", f"/processes/{house.pid}", house.tokens[alias])
        found[alias] = view.json()["own_answer"]
    return found


async def test_people_whose_proxy_spoke_answer_by_every_door_and_every_place_says_so(console: Console) -> None:
    house = await ferry(console.harness)
    await house.start()
    await house.until_answering()
    await until(lambda: _asked(house, "P03"), "P03 is asked")
    assert await views(house) == {**dict.fromkeys(house.seats, "possible"), "P03": "asked"}
    plan = f"{console.url}/console/processes/{house.pid}"
    async with console.visitor(house.tokens["P01"], viewport=PHONE) as page:
        assert await page.get_by_role("heading", level=1).inner_text() == "A plan is ready to read"
        await page.goto(f"{plan}/delivery")
        await page.get_by_text("It does not answer the plan. You can answer yourself").wait_for()
        await page.get_by_role("button", name="I commit to this part").click()
        await page.wait_for_url("**/delivery?done=commit")
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
    async with console.visitor(house.tokens["P00"]) as page:
        await page.goto(plan)
        ended = await page.locator("header").inner_text()
        assert "The process has ended: the plan is written." in ended
        assert "Committed: P01 (Mairi Voe), P02 (Donald Ness), P03 (Isbel Croy), P04" in ended
        assert "No answer: P05." in ended
        await page.goto(f"{plan}/plan")
        row = page.locator("#answers tr", has_text="P05")
        assert "No answer" in await row.inner_text()
    markdown = (await house.harness.ask("GET", f"/processes/{house.pid}/plan", house.tokens["P00"])).json()["markdown"]
    assert "### No answer" in markdown and "P05" in markdown.partition("### No answer")[2].split("##")[0]
    async with console.visitor(house.tokens["P05"]) as page:
        for path in ("", "/delivery"):
            await page.goto(plan + path)
            await page.get_by_text("Your proxy spoke for you, so nobody waited for your answer to the plan.").wait_for()
        assert await page.get_by_role("button", name="I commit to this part").count() == 0
    refused = await house.harness.ask("POST", f"/processes/{house.pid}/messages", house.tokens["P05"], json=commit)
    assert refused.json()["code"] == "ended"


async def _asked(house: Ferry, alias: str) -> bool:
    asks = await house.stack.repositories.inbox.of_process(house.pid, open_only=True)
    return any((one.ask, one.alias) == ("answer", alias) for one in asks)


async def test_what_was_said_is_not_asked_again_before_the_process_has_written_it(console: Console) -> None:
    """Between the verdict and the next write of the process the question still stands in the records."""
    house = await ferry(console.harness)
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
    async with console.visitor(house.tokens["P03"], viewport=PHONE) as page:
        assert await page.get_by_role("heading", level=1).inner_text() == "Nothing waits for you"
        await page.goto(f"{console.url}/console/processes/{house.pid}")
        await page.get_by_text("Your words have arrived.").wait_for()
    assert (await house.harness.ask("GET", "/inbox", house.tokens["P03"])).json() == []
    await house.stack.say(house.pid, "cancel")
