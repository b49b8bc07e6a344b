"""Whoever is asked for consent can take part themself: that yes allows no proxy (docs/protocol.md §3.11)."""

from __future__ import annotations

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.security.test_consent import Room


async def test_whoever_is_asked_takes_the_seat_themself_and_their_profile_is_read_by_nobody(
    gateway: GatewayHarness,
) -> None:
    room = await Room.open(gateway)
    person, other = await room.person(), await room.person("allow")
    settings = {"fallback": "proxy", "max_rounds": 2, "turn_seconds": 600, "answering_seconds": 1}
    pid = await room.demand(person, other, settings=settings)
    await asked(gateway, person["token"], "consent")
    await room.answers(pid, person, allow=True, endpoint="human")
    ask = await asked(gateway, person["token"], "projection", 1)
    operator = await gateway.operator()
    for switch in ({"endpoint": "proxy"}, {"endpoint": "human", "fallback": "proxy"}):
        refused = await room.send(pid, operator, kind="switch_endpoint", alias=ask["alias"], **switch)
        assert (refused.status_code, refused.json()["code"]) == (409, "no_consent")
    demander = room.stranger["token"]
    # While their turn is open: after it a second round might ask them before the demander's word arrives.
    assert (await room.send(pid, demander, kind="conclude")).status_code == 200
    said = await room.send(pid, person["token"], kind="submit_projection", round=ask["round"], text="I know the lake.")
    assert said.status_code == 200, said.text
    await gateway.stack.end(pid)
    assert room.read(other) and not room.read(person)
    events = (await gateway.ask("GET", f"/processes/{pid}/history", demander)).json()["events"]
    assert [one["data"] for one in events if one["kind"] == "consent_closed"] == [{"asked": 1, "allowed": 1}]


async def test_whoever_takes_the_seat_themself_can_let_a_proxy_speak_later(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    person, other = await room.person(), await room.person("allow")
    pid = await room.demand(person, other)
    await asked(gateway, person["token"], "consent")
    await room.answers(pid, person, allow=True, endpoint="human")
    await asked(gateway, person["token"], "projection", 1)
    switched = await room.send(pid, person["token"], kind="switch_endpoint", endpoint="proxy")
    assert switched.status_code == 200, switched.text
    await gateway.stack.end(pid)
    assert room.read(person), "one's own switch is consent for this process"
