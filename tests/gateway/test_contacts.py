"""How those who committed to a plan reach each other: who reads it, who changes it, over the API and the command line's message."""

from __future__ import annotations

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked, room
from tests.gateway.test_ones_own_words import send

HERS, HIS = "Ring 0123, after six.", "Ask at the boat house."


async def until_answering(gateway: GatewayHarness, pid: str, token: str) -> None:
    await asked(gateway, token, "projection", 1)
    await send(gateway, pid, token, kind="submit_projection", round=1, text="I can teach sailing.")
    await asked(gateway, token, "projection", 2)
    await send(gateway, pid, token, kind="submit_projection", round=2, nothing_new=True)
    await asked(gateway, token, "answer", 1)


async def contacts(gateway: GatewayHarness, pid: str, token: str) -> dict[str, str]:
    found: dict[str, str] = (await gateway.ask("GET", f"/processes/{pid}", token)).json().get("contacts", {})
    return found


async def test_a_contact_is_read_by_the_demander_and_by_those_who_committed_and_by_nobody_else(
    gateway: GatewayHarness,
) -> None:
    pid, demander, people = await room(gateway)
    token, other = people[1]["token"], people[0]["token"]
    place = f"/processes/{pid}/contact"
    early = await gateway.ask("PUT", place, demander, json={"text": HIS})
    assert (early.status_code, early.json()["code"]) == (404, "no_plan_yet")
    await until_answering(gateway, pid, token)
    assert (await gateway.ask("PUT", place, demander, json={"text": HIS})).status_code == 204
    assert (await gateway.ask("PUT", place, token, json={"text": "Before I commit."})).status_code == 204
    alias = (await gateway.ask("GET", f"/processes/{pid}", token)).json()["you"]
    assert await contacts(gateway, pid, token) == {alias: "Before I commit."}, "one's own alone"
    assert await contacts(gateway, pid, demander) == {"P00": HIS}, "nobody has committed"
    await send(gateway, pid, token, kind="answer_plan", revision=1, answer="commit", contact=HERS)
    await gateway.stack.end(pid)
    assert await contacts(gateway, pid, token) == {"P00": HIS, alias: HERS}
    assert await contacts(gateway, pid, demander) == {"P00": HIS, alias: HERS}
    assert await contacts(gateway, pid, other) == {}, "they have not committed"
    assert HERS not in (await gateway.ask("GET", f"/processes/{pid}", await gateway.operator())).text
    me = people[1]["profile_id"]
    assert (await gateway.ask("GET", f"/profiles/{me}/export", token)).json()["contacts"] == {pid: HERS}
    assert (await gateway.ask("PUT", place, token, json={"text": " "})).status_code == 204
    assert await contacts(gateway, pid, demander) == {"P00": HIS}, "taken back"


async def test_a_contact_without_a_yes_is_refused_and_the_plan_stays_unanswered(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token = people[1]["token"]
    await until_answering(gateway, pid, token)
    declined = {"kind": "answer_plan", "revision": 1, "answer": "decline", "contact": HERS}
    refused = await gateway.ask("POST", f"/processes/{pid}/messages", token, json=declined)
    assert (refused.status_code, refused.json()["code"]) == (422, "contact_without_commit")
    assert not (await gateway.ask("GET", f"/processes/{pid}", demander)).json()["answers"]
    await gateway.stack.handle(pid).cancel()
