"""A process through the API alone: joining, demanding, speaking, reading; and what is refused on the way."""

from __future__ import annotations

import uuid
from typing import Any

from tests.gateway.conftest import GatewayHarness
from tests.support.until import until

TEXTS = ("I restore wooden boats and can lend a workshop.", "I teach sailing to beginners on a cold lake.")


async def room(gateway: GatewayHarness, **settings: Any) -> tuple[str, str, list[Any]]:
    """A process with two participants: the second one speaks for themself. Returns (id, demander's token, joined)."""
    scene = await gateway.scene()
    demander = await gateway.join(scene)
    people = [await gateway.join(scene, text) for text in TEXTS]
    demand = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "participants": [
            people[0]["profile_id"],
            {"profile_id": people[1]["profile_id"], "endpoint": "human"},
        ],
        "settings": {"auto_confirm": True, **settings},
    }
    answer = await gateway.ask("POST", "/processes", demander["token"], json=demand)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], demander["token"], people


async def asked(gateway: GatewayHarness, token: str, what: str, round: int | None = None) -> Any:
    """Wait until this waits for the token's owner."""

    async def waits() -> Any:
        for ask in (await gateway.ask("GET", "/inbox", token)).json():
            if ask["ask"] == what and round in (None, ask["round"]):
                return ask

    return await until(waits, f"{what} in round {round}")


async def test_a_person_speaks_through_the_api_and_everybody_reads_what_is_theirs(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token = people[1]["token"]
    ask = await asked(gateway, token, "projection", 1)
    words = "CANARY-7: I know   the lake's ice."
    said = {"kind": "submit_projection", "round": 1, "text": f"{words}\n"}
    first = await gateway.ask("POST", f"/processes/{pid}/messages", token, json=said, key="one")
    assert (first.status_code, first.json()["state"]) == (200, "applied")
    again = await gateway.ask("POST", f"/processes/{pid}/messages", token, json=said, key="one")
    assert again.json()["id"] == first.json()["id"]
    other = await gateway.ask("POST", f"/processes/{pid}/messages", token, json={**said, "text": "else"}, key="one")
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")
    await asked(gateway, token, "projection", 2)
    mine = (await gateway.ask("GET", f"/processes/{pid}", token)).json()
    assert [item["text"] for one in mine["own"] for item in one["items"]] == [words]
    for other_token in (demander, people[0]["token"]):
        assert "CANARY-7" not in (await gateway.ask("GET", f"/processes/{pid}", other_token)).text
        assert "CANARY-7" not in (await gateway.ask("GET", f"/processes/{pid}/history", other_token)).text
    over = {"kind": "submit_projection", "round": 1, "nothing_new": True}
    late = await gateway.ask("POST", f"/processes/{pid}/messages", token, json=over, key="two")
    assert (late.status_code, late.json()["code"]) == (409, "round_over")
    assert late.json()["zh"] and late.headers["content-type"] == "application/problem+json"
    switched = await gateway.ask(
        "POST", f"/processes/{pid}/messages", token, json={"kind": "switch_endpoint", "endpoint": "proxy"}
    )
    assert switched.status_code == 200, switched.text
    await gateway.stack.end(pid)
    plan = await gateway.ask("GET", f"/processes/{pid}/plan", demander)
    assert plan.status_code == 200 and plan.json()["possible"]
    assert (await gateway.ask("GET", f"/processes/{pid}/delivery", token)).json()["alias"] == ask["alias"]


async def test_no_event_tells_a_participant_who_is_a_person(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    ask = await asked(gateway, people[1]["token"], "projection", 1)
    for token in (people[0]["token"], demander):
        events = (await gateway.ask("GET", f"/processes/{pid}/history?limit=500", token)).json()["events"]
        assert events
        kinds = {event["kind"] for event in events}
        assert not kinds & {"turn_waiting", "reminder", "endpoint_switched", "mandate_changed"}
        view = (await gateway.ask("GET", f"/processes/{pid}", token)).json()
        assert "endpoints" not in view and "waiting" not in view
    own = (await gateway.ask("GET", f"/processes/{pid}/history", people[1]["token"])).json()["events"]
    assert [one["data"]["alias"] for one in own if one["kind"] == "turn_waiting"] == [ask["alias"]]
    cancelled = await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})
    assert cancelled.status_code == 200


async def test_the_stream_of_events_goes_on_where_it_stopped(gateway: GatewayHarness) -> None:
    pid, demander, _ = await room(gateway)
    await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})
    await gateway.stack.end(pid)
    path = f"/processes/{pid}/events"
    whole = (await gateway.ask("GET", path, demander)).text
    ids = [line.removeprefix("id: ") for line in whole.splitlines() if line.startswith("id: ")]
    assert len(ids) == len(set(ids)) and "event: process_ended" in whole
    rest = (await gateway.ask("GET", path, demander, headers={"Last-Event-ID": ids[1]})).text
    assert [one.removeprefix("id: ") for one in rest.splitlines() if one.startswith("id: ")] == ids[2:]
    done = await gateway.ask("GET", path, demander, headers={"Last-Event-ID": ids[-1]})
    assert done.status_code == 204
    page = (await gateway.ask("GET", f"/processes/{pid}/history?limit=2", demander)).json()
    assert [one["id"] for one in page["events"]] == ids[:2] and page["next"] == ids[1]
    page = (await gateway.ask("GET", f"/processes/{pid}/history?after={page['next']}", demander)).json()
    assert [one["id"] for one in page["events"]] == ids[2:] and not page.get("rewound")
    refused = await gateway.ask("GET", f"/processes/{pid}/history?after=7", demander)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_event_id")


async def test_the_same_key_starts_one_process_and_a_token_is_shown_once(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    said = {"scene": scene, "name": "Anna Example", "text": "I keep bees.", "email": "anna@example.org"}
    secret = uuid.uuid4().hex
    first = (await gateway.ask("POST", "/profiles", json=said, key=secret)).json()
    lost = (await gateway.ask("POST", "/profiles", json=said, key=secret)).json()
    assert lost["profile_id"] == first["profile_id"] and lost["token"] != first["token"]
    assert (await gateway.ask("GET", "/me", first["token"])).json()["code"] == "token_revoked"
    assert (await gateway.ask("GET", "/me", lost["token"])).json()["person"] == first["profile_id"]
    used = (await gateway.ask("POST", "/profiles", json=said, key=secret)).json()
    assert used["profile_id"] == first["profile_id"] and used["token"] is None
    another = (await gateway.ask("POST", "/profiles", json=said, key="join-2")).json()
    assert another["profile_id"] != first["profile_id"] and another["token"]
    people = [(await gateway.join(scene, text))["profile_id"] for text in TEXTS]
    demand = {"intent": "I want a roof for my bees.", "participants": people, "settings": {"auto_confirm": True}}
    ids = {
        (await gateway.ask("POST", "/processes", lost["token"], json=demand, key="start")).json()["id"]
        for _ in range(2)
    }
    assert len(ids) == 1
    changed = await gateway.ask("POST", "/processes", lost["token"], json={**demand, "intent": "Else."}, key="start")
    assert (changed.status_code, changed.json()["code"]) == (409, "key_reused")
    await gateway.stack.end(ids.pop())


async def test_a_mandate_holds_from_now_on_and_is_noted_in_open_processes(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    token, profile = people[1]["token"], people[1]["profile_id"]
    await asked(gateway, token, "projection", 1)
    given = {"may_speak": False, "never": ["the price"], "topics": [], "addition": ""}
    answer = await gateway.ask("PUT", f"/profiles/{profile}/mandate", token, json=given)
    assert answer.status_code == 200 and answer.json()["never"] == ["the price"]
    assert (await gateway.context.repositories.mandate(profile)).may_speak is False
    await until(lambda: gateway.stack.happened(pid, "mandate_changed"), "the mandate in the process")
    await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})
