"""What people and their agents say over the API: items of an agent, what came of the plan, and a copy of all that is theirs."""

from __future__ import annotations

from typing import Any

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked, room
from tests.support.until import until


async def send(gateway: GatewayHarness, pid: str, token: str, **message: Any) -> None:
    answer = await gateway.ask("POST", f"/processes/{pid}/messages", token, json=message)
    assert answer.status_code == 200, answer.text


async def test_a_participant_says_what_came_of_the_plan_and_adds_it_to_their_profile(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token, person = people[1]["token"], people[1]["profile_id"]
    place = f"/processes/{pid}/feedback"
    await asked(gateway, token, "projection", 1)
    early = await gateway.ask("PUT", place, token, json={"usefulness": 4})
    assert (early.status_code, early.json()["code"]) == (404, "no_plan_yet")
    await send(gateway, pid, token, kind="submit_projection", round=1, text="I can teach sailing.")
    await asked(gateway, token, "projection", 2)
    await send(gateway, pid, token, kind="submit_projection", round=2, nothing_new=True)
    await asked(gateway, token, "answer", 1)
    words = "We sailed her twice in June."
    said = await gateway.ask("PUT", place, token, json={"outcome": "partly", "text": words, "to_profile": True})
    assert said.status_code == 200, said.text
    assert said.json()["profile"] == [person, 2]
    assert words in (await gateway.ask("GET", f"/profiles/{person}", token)).json()["text"]
    assert (await gateway.ask("PUT", place, demander, json={"usefulness": 5})).status_code == 200
    empty = await gateway.ask("PUT", place, demander, json={})
    assert (empty.status_code, empty.json()["code"]) == (422, "feedback_empty")
    alias = next(s.alias for s in await gateway.context.repositories.seats.seats(pid) if s.profile_id == person)
    scoped = await gateway.context.repositories.tokens.issue("participant", person=person, process_id=pid, alias=alias)
    refused = await gateway.ask("PUT", place, scoped.secret, json={"text": "An agent wrote this.", "to_profile": True})
    assert refused.status_code == 403
    await gateway.stack.handle(pid).cancel()


async def test_the_copy_of_ones_own_data_holds_answers_to_plans_and_what_was_asked_for(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token, person = people[1]["token"], people[1]["profile_id"]
    await asked(gateway, token, "projection", 1)
    await send(gateway, pid, token, kind="submit_projection", round=1, text="I can teach sailing.")
    await asked(gateway, token, "projection", 2)
    await send(gateway, pid, token, kind="submit_projection", round=2, nothing_new=True)
    await asked(gateway, token, "answer", 1)
    words = "Only on Sundays."
    await send(gateway, pid, token, kind="answer_plan", revision=1, answer="propose", text=words)

    async def answers() -> Any:
        return (await gateway.ask("GET", f"/profiles/{person}/export", token)).json()["answers"].get(pid)

    [answer] = await until(answers)
    assert (answer["revision"], answer["decision"], answer["words"]) == (1, "propose", words)
    me = (await gateway.ask("GET", "/me", demander)).json()["person"]
    assert pid in (await gateway.ask("GET", f"/profiles/{me}/export", demander)).json()["asked_for"]
    await gateway.stack.handle(pid).cancel()


ITEM = {"kind": "capability", "text": "P01 splices rope on any deck.", "quotes": ["I splice rope."], "about": ["T"]}


async def test_an_agent_hands_in_items_and_a_person_does_not(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token, place = people[1]["token"], f"/processes/{pid}/messages"
    await asked(gateway, token, "projection", 1)
    said = {"kind": "submit_projection", "round": 1, "items": [ITEM], "shown": "I splice rope. I sail."}
    refused = await gateway.ask("POST", place, token, json=said)
    assert (refused.status_code, refused.json()["code"]) == (422, "no_agent")
    await send(gateway, pid, token, kind="switch_endpoint", endpoint="agent")
    for wrong, code in (
        ({**said, "text": "I splice rope."}, "two_answers"),
        ({**said, "items": []}, "items_missing"),
        ({**said, "shown": "a" * 19_990}, "too_long"),
    ):
        answer = await gateway.ask("POST", place, token, json=wrong)
        assert (answer.status_code, answer.json()["code"]) == (422, code)
    await send(gateway, pid, token, **said)
    await asked(gateway, token, "projection", 2)
    mine = (await gateway.ask("GET", f"/processes/{pid}", token)).json()["own"]
    assert [(item["kind"], item["quotes"]) for item in mine[0]["items"]] == [("capability", ["I splice rope."])]
    await send(gateway, pid, demander, kind="cancel")
