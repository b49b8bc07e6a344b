"""A demander who takes part (docs/protocol.md §3.10): P00 is one more alias in the room, and as blind as the others."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.outbound.test_notifying import Kept, told_by
from tests.gateway.test_api import asked
from tests.gateway.test_blindness import Room, everything
from tests.support.until import until
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.protocol.model.requests import EndpointRequest

MINE = "I own an old ferry. I can give two summers of work. I will not borrow money. I want to learn to build."
TEXTS = {
    "ada": "I restore wooden boats. I can lend a workshop. I will not work in winter.",
    "bo": "I teach sailing to beginners. I can offer a jetty. I have no time in June.",
}


async def started(
    gateway: GatewayHarness, endpoint: str = "human", *, bo: str = "proxy", **settings: Any
) -> tuple[Room, Any]:
    """A process with P00, ada's proxy and bo. Returns the room, with tokens by name, and who joined as `demander`."""
    scene = await gateway.scene()
    demander = await gateway.join(scene, MINE, name="Demander Demokritos")
    people = {name: await gateway.join(scene, text, name=f"{name.title()} Example") for name, text in TEXTS.items()}
    demand = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "participants": [
            people["ada"]["profile_id"],
            {"profile_id": people["bo"]["profile_id"], "endpoint": bo},
        ],
        "settings": {
            "auto_confirm": True, "demander_takes_part": True, "demander_endpoint": endpoint,
            **settings,
        },
    }  # fmt: skip
    answer = await gateway.with_aliases_as_named().ask("POST", "/processes", demander["token"], json=demand)
    assert answer.status_code == 201, answer.text
    tokens = {"demander": demander["token"]} | {name: one["token"] for name, one in people.items()}
    return Room(answer.json()["id"], tokens, {}), demander


def _was_told(kept: Kept, pid: str) -> bool:
    return "escalated" in kept.of(pid)


async def send(gateway: GatewayHarness, room: Room, who: str, **message: Any) -> Any:
    return await gateway.ask("POST", f"/processes/{room.pid}/messages", room.tokens[who], json=message)


async def say(gateway: GatewayHarness, room: Room, who: str, round_number: int, text: str | None) -> None:
    what: dict[str, Any] = {"text": text} if text else {"nothing_new": True}
    answer = await send(gateway, room, who, kind="submit_projection", round=round_number, **what)
    assert (answer.status_code, answer.json()["state"]) == (200, "applied"), answer.text


async def test_the_demander_speaks_for_themself_beside_two_proxies(gateway: GatewayHarness) -> None:
    room, _ = await started(gateway)
    mine = room.tokens["demander"]
    ask = await asked(gateway, mine, "projection", 1)
    assert ask["alias"] == "P00"
    await say(gateway, room, "demander", 1, "I can give the ferry itself: twelve metres of oak.")
    await asked(gateway, mine, "projection", 2)
    await say(gateway, room, "demander", 2, None)  # nothing in this room concerns P00 in round 3
    await asked(gateway, mine, "projection", 4)  # everybody is asked after the first verdict that nothing more comes
    await say(gateway, room, "demander", 4, None)
    answer_ask = await asked(gateway, mine, "answer")
    committed = await send(gateway, room, "demander", kind="answer_plan", revision=answer_ask["round"], answer="commit")
    assert committed.status_code == 200, committed.text
    record = await gateway.stack.end(room.pid)

    assert [one.alias for one in record.participants] == ["P00", "P01", "P02"]
    said = next(one for one in record.projections if (one.alias, one.round) == ("P00", 1))
    assert said.text == "I can give the ferry itself: twelve metres of oak."
    assert record.observations[0].none == (("P01", "P02"),), "pairs with the demander are not looked at"
    assert record.answers == {"P00": "commit"}
    part = await gateway.ask("GET", f"/processes/{room.pid}/delivery", mine)
    assert part.status_code == 200 and part.json()["alias"] == "P00"
    whole = (await gateway.ask("GET", f"/processes/{room.pid}", mine)).json()
    assert {one["alias"] for one in whole["deliveries"]} == {"P00", "P01", "P02"}
    told = await gateway.stack.repositories.events.events(room.pid, limit=500)
    ready = [one.data["alias"] for one in told if one.kind.value == "delivery_ready"]
    assert sorted(str(one) for one in ready) == ["P00", "P01", "P02"], "each is told once"


async def test_the_demanders_proxy_speaks_from_the_demanders_profile(gateway: GatewayHarness) -> None:
    before = len(gateway.engine.received)
    room, demander = await started(gateway, "proxy")
    record = await gateway.stack.end(room.pid)
    told = [one for one in gateway.engine.received[before:] if one.key.process == room.pid]
    asked_for_p00 = [one for one in told if (one.key.step, one.key.alias) == ("project", "P00")]
    assert asked_for_p00
    for one in asked_for_p00:
        prompt = one.request.model_dump_json()
        assert "I own an old ferry" in prompt and "Demokritos" not in prompt
        assert "wooden boats" not in prompt and "sailing to beginners" not in prompt
    facts = [item for said in record.projections if said.alias == "P00" for item in said.items if not item.inferred]
    requests = [one.request for one in asked_for_p00 if isinstance(one.request, EndpointRequest)]
    read = [piece.text for request in requests for piece in request.material.pieces]
    quoted = {quote for item in facts for quote in item.quotes}
    assert quoted and all(any(quote in text for text in read) for quote in quoted)
    frozen = (await gateway.stack.repositories.seats.manifest(room.pid))["P00"]
    assert frozen["profile"] == demander["profile_id"]
    assert not record.answers, "a room of proxies answers nothing, whoever brought the intent"


async def test_nobody_in_the_room_sees_this_rounds_words_before_the_gate_the_demander_included(
    gateway: GatewayHarness,
) -> None:
    room, _ = await started(gateway, bo="human")
    await asked(gateway, room.tokens["demander"], "projection", 1)
    await say(gateway, room, "bo", 1, "CANARY-BO: the jetty has a crane.")
    assert "CANARY" not in await everything(gateway, room, room.tokens["demander"]), "P00 owes a turn"
    await say(gateway, room, "demander", 1, "CANARY-P00: the hull is oak.")
    await asked(gateway, room.tokens["bo"], "projection", 2)
    for who, foreign in (("demander", "CANARY-BO"), ("bo", "CANARY-P00"), ("ada", "CANARY-")):
        assert foreign not in await everything(gateway, room, room.tokens[who]), who
    assert "CANARY-P00" in await everything(gateway, room, room.tokens["demander"]), "one's own words one sees"
    await send(gateway, room, "demander", kind="cancel")
    await gateway.stack.end(room.pid)


async def test_a_demander_in_the_room_hears_that_somebody_lapsed_and_not_who(gateway: GatewayHarness) -> None:
    kept = Kept()
    notifying = NotificationSender(gateway.context.repositories, {"log": kept})
    for takes_part, keys in ((True, {"round"}), (False, {"round", "alias"})):
        room, _ = await started(
            gateway, "proxy", bo="human", demander_takes_part=takes_part, turn_seconds=1, max_rounds=2
        )
        await asked(gateway, room.tokens["demander"], "decision")
        events = (await gateway.ask("GET", f"/processes/{room.pid}/history?limit=500", room.tokens["demander"])).json()
        escalated = [one["data"] for one in events["events"] if one["kind"] == "escalated"]
        assert escalated and all(set(data) == keys for data in escalated)
        await told_by(gateway, notifying, room.pid, partial(_was_told, kept, room.pid))
        told = [one for one in kept.sent if (one.data["process"], one.data["what"]) == (room.pid, "escalated")]
        assert all(("Somebody" in one.text) is takes_part and ("P0" in one.text) is not takes_part for one in told)
        await send(gateway, room, "demander", kind="cancel")


async def test_the_demander_hands_over_and_comes_back_like_anybody_else(gateway: GatewayHarness) -> None:
    room, demander = await started(gateway)
    mine = room.tokens["demander"]
    await asked(gateway, mine, "projection", 1)
    mandate = {"may_speak": True, "never": ["money"]}
    answer = await gateway.ask("PUT", f"/profiles/{demander['profile_id']}/mandate", mine, json=mandate)
    assert answer.status_code == 200
    await until(lambda: gateway.stack.happened(room.pid, "mandate_changed"), "the mandate in the process")
    assert (await send(gateway, room, "demander", kind="switch_endpoint", endpoint="proxy")).status_code == 200
    record = await gateway.stack.end(room.pid)
    authors = {one.author.value for one in record.projections if one.alias == "P00"}
    assert authors == {"proxy"}


async def test_an_agent_of_the_demanders_speaks_for_p00_and_decides_nothing(gateway: GatewayHarness) -> None:
    room, _ = await started(gateway, "agent", max_rounds=2)
    await asked(gateway, room.tokens["demander"], "projection", 1)
    wish = {"role": "participant", "process_id": room.pid}
    issued = await gateway.ask("POST", "/tokens", room.tokens["demander"], json=wish)
    assert issued.json()["token"]["alias"] == "P00"
    room.tokens["agent"] = issued.json()["secret"]
    await say(gateway, room, "agent", 1, "My person can give the ferry.")
    refused = await send(gateway, room, "agent", kind="conclude")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    view = (await gateway.ask("GET", f"/processes/{room.pid}", room.tokens["agent"])).json()
    assert view["you"] == "P00" and "intent" not in view
    await asked(gateway, room.tokens["agent"], "projection", 2)
    await say(gateway, room, "agent", 2, "And two summers of work.")
    await asked(gateway, room.tokens["demander"], "decision")
    assert (await gateway.ask("GET", "/inbox", room.tokens["agent"])).json() == [], "that is not the agent's to decide"
    await send(gateway, room, "demander", kind="cancel")


async def test_somebody_without_a_profile_speaks_as_p00_and_has_no_proxy(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    people = [(await gateway.join(scene, text))["profile_id"] for text in TEXTS.values()]
    token = await gateway.person("somebody-without-a-profile")
    settings = {"auto_confirm": True, "demander_takes_part": True, "fallback": "proxy"}
    demand = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "participants": people,
        "settings": settings,
    }
    proxied = {**demand, "settings": {**settings, "demander_endpoint": "proxy"}}
    answer = await gateway.ask("POST", "/processes", token, json=proxied)
    assert (answer.status_code, answer.json()["code"]) == (422, "no_profile")
    pid = (await gateway.ask("POST", "/processes", token, json=demand)).json()["id"]
    room = Room(pid, {"demander": token}, {})
    await asked(gateway, token, "projection", 1)
    await say(gateway, room, "demander", 1, "I can give an old ferry.")
    await asked(gateway, token, "projection", 2)
    refused = await send(gateway, room, "demander", kind="switch_endpoint", endpoint="proxy")
    assert (refused.status_code, refused.json()["code"]) == (409, "no_profile")
    assert (await send(gateway, room, "demander", kind="leave")).status_code == 200
    record = await gateway.stack.end(pid)
    said = [one for one in record.projections if one.alias == "P00"]
    assert [one.outcome.value for one in said] == ["replied", "left"]


async def test_a_demander_alone_is_no_room(gateway: GatewayHarness) -> None:
    room, _ = await started(gateway, bo="human", quorum=1)
    mine = room.tokens["demander"]
    await asked(gateway, mine, "projection", 1)
    await say(gateway, room, "demander", 1, "I can give an old ferry.")
    for name in TEXTS:
        assert (await send(gateway, room, name, kind="leave")).status_code == 200
    choices = (await asked(gateway, mine, "decision"))["choices"]
    assert set(choices["options"]) == {"accept_as_is", "add_participants", "abandon"}
    for message in ({"kind": "leave"}, {"kind": "decide", "decision": "extend"}):
        refused = await send(gateway, room, "demander", **message)
        assert (refused.status_code, refused.json()["code"]) == (409, "demander_alone"), message
    assert (await send(gateway, room, "demander", kind="decide", decision="abandon")).status_code == 200
    await gateway.stack.end(room.pid)


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "submit_projection", "round": 1, "text": "I would like to say something."},
        {"kind": "switch_endpoint", "endpoint": "human"},
        {"kind": "leave"},
        {"kind": "answer_plan", "revision": 1, "answer": "commit"},
    ],
    ids=lambda message: str(message["kind"]),
)
async def test_a_demander_who_takes_no_part_has_no_seat_to_speak_for(
    gateway: GatewayHarness, message: dict[str, Any]
) -> None:
    room, _ = await started(gateway, bo="human", demander_takes_part=False)
    await asked(gateway, room.tokens["bo"], "projection", 1)
    refused = await send(gateway, room, "demander", **message)
    assert (refused.status_code, refused.json()["code"]) == (409, "demander_takes_no_part")
    await send(gateway, room, "demander", kind="cancel")


async def test_the_demanders_seat_is_one_of_the_eight_and_not_one_of_the_least(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    demander = await gateway.join(scene, MINE)
    people = [(await gateway.join(scene, text))["profile_id"] for text in TEXTS.values()]
    demand = {"intent": "I want a ferry.", "settings": {"demander_takes_part": True}}
    for named, code in (
        ([f"somebody-{n}" for n in range(8)], "too_many_participants"),
        (people[:1], "below_quorum"),
        ([*people, demander["profile_id"]], "demander_among_participants"),
    ):
        answer = await gateway.ask("POST", "/processes", demander["token"], json={**demand, "participants": named})
        assert (answer.status_code, answer.json()["code"]) == (422, code)
