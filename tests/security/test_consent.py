"""No proxy speaks for, and no plan reads the profile of, whoever has not allowed it (docs/protocol.md §3.11)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, said_by
from tests.gateway.outbound.test_notifying import Kept
from tests.gateway.test_api import asked
from tests.support.until import until
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.protocol.model.messages import Author, ConsentAnswer, SwitchEndpoint
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.people.consents import ConsentQuotas
from tongyao.records.people.notifications import Channel

BOATS = "I restore wooden boats and can lend a workshop. I want to learn how timetables are made."


class Room:
    """A scene with a stranger who demands, and people whose profiles hold a word that is found nowhere else."""

    def __init__(self, gateway: GatewayHarness, scene: str, stranger: Any) -> None:
        self.gateway, self.scene, self.stranger = gateway, scene, stranger

    @classmethod
    async def open(cls, gateway: GatewayHarness) -> Room:
        scene = await gateway.scene()
        return cls(gateway, scene, await gateway.join(scene, consent=""))

    async def person(self, consent: str = "") -> Any:
        canary = f"canary{uuid.uuid4().hex[:10]}"
        return {**await self.gateway.join(self.scene, f"{canary} {BOATS} " * 3, consent=consent), "canary": canary}

    async def demand(self, *people: Any, settings: dict[str, Any] | None = None, **fields: Any) -> str:
        named = [one if "endpoint" in one else one["profile_id"] for one in people]
        given = {"auto_confirm": True, "residuals": "off", "max_rounds": 2, "deciding_seconds": 1, **(settings or {})}
        body = {"intent": "I want to bring an old ferry back onto the lake.", "participants": named, "settings": given}
        answer = await self.gateway.ask("POST", "/processes", self.stranger["token"], json={**body, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def send(self, pid: str, token: str | None, **message: Any) -> httpx.Response:
        return await self.gateway.ask("POST", f"/processes/{pid}/messages", token, json=message)

    async def answers(self, pid: str, person: Any, allow: bool, **more: Any) -> None:
        sent = await self.send(pid, person["token"], kind="consent", allow=allow, **more)
        assert sent.status_code == 200, sent.text

    def read(self, person: Any) -> bool:
        """Whether any model was shown the profile."""
        return any(call.mentions(person["canary"]) for call in self.gateway.engine.received)

    async def close(self, pid: str) -> None:
        await self.gateway.stack.handle(pid).cancel()


def by_hand(person: Any, **more: Any) -> dict[str, Any]:
    return {"profile_id": person["profile_id"], "endpoint": "human", **more}


async def test_a_stranger_who_names_one_person_alone_does_not_get_their_profile_read(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    for consent in ("", "allow"):
        victim = await room.person(consent)
        pid = await room.demand(victim, settings={"quorum": 1})
        ask = await asked(gateway, victim["token"], "consent")
        assert ask["process_id"] == pid and ask["due_at"]
        question = ask["consent"]
        assert question["tension"]["transition"] and question["others"] == 0
        assert "the only participant" in question["discloses_en"] and "唯一" in question["discloses_zh"]
        await room.answers(pid, victim, allow=False)
        await asked(gateway, room.stranger["token"], "select_participants")
        assert await gateway.context.repositories.seats.seats(pid) == []
        assert not room.read(victim)
        await room.close(pid)


async def test_who_is_chosen_as_the_only_one_under_another_endpoint_is_not_left_to_a_proxy(
    gateway: GatewayHarness,
) -> None:
    room = await Room.open(gateway)
    for endpoint in ("human", "agent"):
        victim = await room.person("allow")
        chosen = {"profile_id": victim["profile_id"], "endpoint": endpoint, "fallback": "proxy"}
        pid = await room.demand(chosen, settings={"quorum": 1, "turn_seconds": 1, "answering_seconds": 1})
        await gateway.stack.end(pid)
        assert not room.read(victim), "nobody asked them whether a proxy may speak as the only participant"


async def test_no_answer_gives_no_seat(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand(victim, other, settings={"turn_seconds": 1})
    await asked(gateway, room.stranger["token"], "select_participants")
    assert await gateway.context.repositories.seats.seats(pid) == []
    assert not room.read(victim) and not room.read(other)
    await room.close(pid)


async def test_the_demander_learns_counts_and_not_who_allowed_it(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(4)]
    pid = await room.demand(*people)
    for one in people:
        assert (await asked(gateway, one["token"], "consent"))["consent"]["others"] == 3
    await room.answers(pid, people[0], allow=True)
    demander = room.stranger["token"]
    for path in (f"/processes/{pid}", f"/processes/{pid}/history", "/inbox", "/processes"):
        assert "invited" not in (await gateway.ask("GET", path, demander)).text
    for one, allow in zip(people[1:], (False, True, True), strict=True):
        assert not await gateway.context.repositories.seats.seats(pid), "all start together"
        await room.answers(pid, one, allow)
    await gateway.stack.end(pid)
    events = (await gateway.ask("GET", f"/processes/{pid}/history", demander)).json()["events"]
    told = [one for one in events if one["kind"].startswith("consent")]
    assert [(one["kind"], one["data"]) for one in told] == [("consent_closed", {"asked": 4, "allowed": 3})]
    assert [room.read(one) for one in people] == [True, False, True, True]


async def test_nobody_answers_for_somebody_else(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person()
    pid = await room.demand(victim, other)
    ask = await asked(gateway, victim["token"], "consent")
    number = ask["round"]
    operator = await gateway.operator()
    for token in (room.stranger["token"], other["token"], operator):
        sent = await room.send(pid, token, kind="consent", allow=True, invitation=number)
        assert sent.status_code in (403, 404), sent.text
    assert (await room.send(pid, None, kind="consent", allow=True)).status_code == 401
    handle = gateway.stack.handle(pid)
    await handle.signal("consent", {"invitation": number, "allow": True, "author": {"role": "invited", "alias": f"invited/{number}"}})  # fmt: skip
    forged = ConsentAnswer(key="f", author=Author(role="operator"), invitation=number, allow=True)
    stored = await gateway.context.relay.send(pid, forged, author_id="operator:x", via="test")
    assert stored.verdict is not None and stored.verdict.code == "not_yours"
    await asked(gateway, victim["token"], "consent")
    await room.close(pid)


async def test_a_question_opens_nothing_of_the_process_but_the_answer(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person()
    pid = await room.demand(victim, other)
    await asked(gateway, victim["token"], "consent")
    for path in ("", "/history", "/plan", "/delivery", "/candidates", "/why"):
        assert (await gateway.ask("GET", f"/processes/{pid}{path}", victim["token"])).status_code in (403, 404)
    for message in ({"kind": "cancel"}, {"kind": "leave"}, {"kind": "conclude"}):
        assert (await room.send(pid, victim["token"], **message)).status_code in (403, 404)
    first = await gateway.ask("POST", f"/processes/{pid}/messages", victim["token"], json={"kind": "consent", "allow": True}, key="one")  # fmt: skip
    again = await gateway.ask("POST", f"/processes/{pid}/messages", victim["token"], json={"kind": "consent", "allow": True}, key="one")  # fmt: skip
    assert first.json()["id"] == again.json()["id"]
    assert (await gateway.ask("GET", f"/messages/{first.json()['id']}", victim["token"])).json()["state"] == "applied"
    await room.close(pid)


async def test_a_fallback_to_a_proxy_that_somebody_else_chose_reads_nothing(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand(
        by_hand(victim, fallback="proxy"),
        other,
        settings={"turn_seconds": 1, "fallback": "proxy", "answering_seconds": 1},
    )
    record = await gateway.stack.end(pid)
    assert record.plans and room.read(other) and not room.read(victim)


async def test_an_operator_does_not_switch_somebody_to_a_proxy(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand(by_hand(victim), other)
    await asked(gateway, victim["token"], "projection", 1)
    [alias] = [one.alias for one in await gateway.context.repositories.seats.seats(pid) if one.endpoint == "human"]
    operator = await gateway.operator()
    for switch in ({"endpoint": "proxy"}, {"endpoint": "human", "fallback": "proxy"}):
        refused = await room.send(pid, operator, kind="switch_endpoint", alias=alias, **switch)
        assert (refused.status_code, refused.json()["code"]) == (409, "no_consent")
    own = Author(role="participant", alias=alias).model_dump()
    await gateway.stack.handle(pid).signal("switch_endpoint", {"alias": alias, "endpoint": "proxy", "author": own})
    forged = SwitchEndpoint(key="f", author=Author(role="operator"), alias=alias, endpoint=EndpointKind.PROXY)
    stored = await gateway.context.relay.send(pid, forged, author_id="operator:x", via="test")
    assert stored.verdict is not None and stored.verdict.code == "no_consent"
    assert not room.read(victim)
    own_switch = await room.send(pid, victim["token"], kind="switch_endpoint", endpoint="proxy")
    assert own_switch.status_code == 200, own_switch.text
    await gateway.stack.end(pid)
    assert room.read(victim), "one's own switch is consent for this process"


async def test_the_profile_of_somebody_who_speaks_for_themself_is_not_read_for_the_plan(
    gateway: GatewayHarness,
) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand(by_hand(victim), other)
    ask = await asked(gateway, victim["token"], "projection", 1)
    assert (await room.send(pid, room.stranger["token"], kind="conclude")).status_code == 200
    said = await room.send(pid, victim["token"], kind="submit_projection", round=ask["round"], text="I know the lake.")
    assert said.status_code == 200
    await asked(gateway, victim["token"], "answer")
    plan = next(call for call in gateway.engine.received if call.key.step == "plan" and call.key.process == pid)
    assert plan.mentions(other["canary"]) and not plan.mentions(victim["canary"])
    await room.close(pid)
    assert not room.read(victim)


async def test_who_said_never_is_neither_asked_nor_read_and_a_withdrawal_holds_at_the_next_call(
    gateway: GatewayHarness,
) -> None:
    room = await Room.open(gateway)
    victim, other, third = await room.person("never"), await room.person("allow"), await room.person("allow")
    pid = await room.demand(victim, other, third)
    record = await gateway.stack.end(pid)
    assert len(record.participants) == 2 and not room.read(victim)
    assert "consent" not in [one.ask for one in await gateway.context.repositories.inbox.of_process(pid)]
    pid = await room.demand(by_hand(third), other)
    await asked(gateway, third["token"], "projection", 1)
    path = f"/profiles/{other['profile_id']}/consents/{room.scene}"
    before = len([call for call in gateway.engine.received if call.mentions(other["canary"])])
    assert (await gateway.ask("PUT", path, other["token"], json={"consent": "never"})).status_code == 200
    await room.send(pid, third["token"], kind="submit_projection", round=1, text="I know the lake.")
    await asked(gateway, third["token"], "projection", 2)
    await room.send(pid, third["token"], kind="switch_endpoint", endpoint="proxy")
    await gateway.stack.end(pid)
    rounds = [call for call in gateway.engine.received if call.mentions(other["canary"]) and call.key.step == "project"]
    assert all(call.key.round == 1 for call in rounds if call.key.process == pid)
    plans = [call for call in gateway.engine.received if call.key.step == "plan" and call.key.process == pid]
    assert before and plans and not plans[-1].request.materials.keys() - {"P01", "P02"}  # type: ignore[attr-defined]  # reason: a plan's request
    switched = await room.send(pid, other["token"], kind="switch_endpoint", endpoint="proxy")
    assert (switched.status_code, switched.json()["code"]) == (422, "consent_never")


async def test_who_agreed_to_be_one_of_two_is_not_left_alone_with_the_demander(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person()
    pid = await room.demand(victim, other, settings={"quorum": 1})
    for one, allow in ((victim, True), (other, False)):
        await asked(gateway, one["token"], "consent")
        await room.answers(pid, one, allow)
    await asked(gateway, room.stranger["token"], "select_participants")
    assert await gateway.context.repositories.seats.seats(pid) == [] and not room.read(victim)
    again = {"kind": "select_participants", "participants": [victim["profile_id"]]}
    assert (await room.send(pid, room.stranger["token"], **again)).status_code == 200
    ask = await asked(gateway, victim["token"], "consent", 3)
    assert ask["consent"]["others"] == 0
    await room.answers(pid, victim, allow=True)
    await gateway.stack.end(pid)
    assert room.read(victim)


async def test_people_whom_the_field_finds_are_asked_also_where_the_process_starts_by_itself(
    gateway: GatewayHarness,
) -> None:
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    pid = await room.demand(scene=room.scene, settings={"auto_start": True})
    for one in people:
        assert (await asked(gateway, one["token"], "consent"))["process_id"] == pid
        assert not room.read(one)
    await room.close(pid)


async def test_somebody_who_is_added_is_asked(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    people = [await room.person("allow") for _ in range(2)]
    late = await room.person()
    pid = await room.demand(*people, settings={"deciding_seconds": 3_600})
    await asked(gateway, room.stranger["token"], "decision")
    added = {"kind": "decide", "decision": "add_participants", "participants": [late["profile_id"]]}
    assert (await room.send(pid, room.stranger["token"], **added)).status_code == 200
    assert (await asked(gateway, late["token"], "consent"))["consent"]["others"] == 2
    await room.answers(pid, late, allow=False)
    await asked(gateway, room.stranger["token"], "decision")
    assert len(await gateway.context.repositories.seats.seats(pid)) == 2 and not room.read(late)
    await room.close(pid)


async def test_the_people_of_a_child_are_asked_likewise(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    people = [await room.person("allow") for _ in range(2)]
    refuses, agrees = await room.person(), await room.person()
    script = gateway.engine.script
    gateway.engine.script = script.model_copy(update={"residuals": 1})
    try:
        settings = {"auto_start": True, "residuals": "auto", "depth_limit": 1}
        pid = await room.demand(*people, settings=settings, scene=room.scene)
        child = (await asked(gateway, refuses["token"], "consent"))["process_id"]
        assert (await gateway.context.repositories.processes.get(child)).parent_id == pid
        assert (await asked(gateway, agrees["token"], "consent"))["process_id"] == child
        assert not room.read(refuses) and not room.read(agrees)
        await room.answers(child, refuses, allow=False)
        await room.answers(child, agrees, allow=True)
        await gateway.stack.end(child)
    finally:
        gateway.engine.script = script
    seated = {seat.person for seat in await gateway.context.repositories.seats.seats(child)}
    assert agrees["profile_id"] in seated and refuses["profile_id"] not in seated
    assert room.read(agrees) and not room.read(refuses)


async def test_an_erased_person_who_was_asked_has_said_no(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand(victim, other)
    await asked(gateway, victim["token"], "consent")
    assert (await gateway.ask("DELETE", f"/profiles/{victim['profile_id']}", victim["token"])).status_code == 204
    await asked(gateway, room.stranger["token"], "select_participants")
    assert await gateway.context.repositories.consents.of_person(victim["profile_id"]) == []
    assert not room.read(victim)
    await room.close(pid)


async def test_who_is_invited_reads_first_who_asks_what_this_is_and_what_becomes_of_their_answer(
    gateway: GatewayHarness,
) -> None:
    room, mail = await Room.open(gateway), Kept()
    invited, second = await room.person(), await room.person("allow")
    await gateway.context.repositories.scenes.put(room.scene, "Lake", {"titles": {"zh": "湖"}})
    await gateway.context.repositories.notifications.set_channel(
        Channel(person=invited["profile_id"], kind="mail", address="a@example.org", confirmed=True)
    )
    pid = await room.demand(invited, second, scene=room.scene)
    question = (await asked(gateway, invited["token"], "consent"))["consent"]
    first = [list(question[f"invitation_{language}"].values()) for language in ("en", "zh")]
    assert first[0][0].startswith("Somebody in “Lake” asks you") and first[1][0].startswith("“湖”里有人请你参加")
    sender = NotificationSender(gateway.context.repositories, {"mail": mail}, public_url="https://example.org")

    async def told() -> bool:
        await sender.once()
        return bool(mail.of(pid))

    await until(told, "the mail")
    [text] = [one.text for one in mail.sent if one.data["process"] == pid]
    assert text.split("\n\n")[:3] == first[0]
    shown = json.dumps(question, ensure_ascii=False) + text
    assert room.stranger["profile_id"] not in shown and "Anna Example" not in shown
    await room.close(pid)


async def test_who_is_erased_or_withdraws_between_a_choice_and_the_seat_is_not_seated(gateway: GatewayHarness) -> None:
    """They needed no question, or had said yes, while others were still asked."""
    room = await Room.open(gateway)
    erased, refuses, yes, asked_last = [await room.person("allow"), await room.person("allow")] + [
        await room.person() for _ in range(2)
    ]
    repositories = gateway.context.repositories
    pid = await room.demand(by_hand(erased), refuses, yes, asked_last, settings={"quorum": 2, "turn_seconds": 200_000})
    await gateway.stack.until(pid, "consenting")
    await asked(gateway, asked_last["token"], "consent")
    await room.answers(pid, yes, True)
    assert (await gateway.ask("DELETE", f"/profiles/{erased['profile_id']}", erased["token"])).status_code == 204
    path = f"/profiles/{refuses['profile_id']}/consents/{room.scene}"
    assert (await gateway.ask("PUT", path, refuses["token"], json={"consent": "never"})).status_code == 200
    await room.answers(pid, asked_last, True)
    record = await gateway.stack.end(pid)
    seats = await repositories.seats.seats(pid)
    assert {one.profile_id for one in seats} == {yes["profile_id"], asked_last["profile_id"]}
    assert {one.alias for one in record.participants} == {one.alias for one in seats} == {"P01", "P02"}
    assert not room.read(refuses) and room.read(yes)


async def test_the_quorum_is_looked_at_again_when_seats_are_made(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    erased, last = await room.person("allow"), await room.person()
    pid = await room.demand(by_hand(erased), last, settings={"quorum": 2})
    await gateway.stack.until(pid, "consenting")
    await asked(gateway, last["token"], "consent")
    assert (await gateway.ask("DELETE", f"/profiles/{erased['profile_id']}", erased["token"])).status_code == 204
    await room.answers(pid, last, True)
    await gateway.stack.until(pid, "selecting")
    assert await gateway.context.repositories.seats.seats(pid) == []
    third = await room.person("allow")
    people = [{"profile_id": one["profile_id"]} for one in (third, last)]
    path = f"/profiles/{last['profile_id']}/consents/{room.scene}"
    assert (await gateway.ask("PUT", path, last["token"], json={"consent": "allow"})).status_code == 200
    sent = await room.send(pid, room.stranger["token"], kind="select_participants", participants=people)
    assert sent.status_code == 200, sent.text
    await gateway.stack.end(pid)
    manifest = await gateway.context.repositories.seats.manifest(pid)
    assert {manifest[one]["profile"] for one in ("P01", "P02")} == {third["profile_id"], last["profile_id"]}


async def test_an_agent_of_a_person_answers_over_mcp_and_decides_for_the_scene(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand(victim, other)
    await asked(gateway, victim["token"], "consent")
    async with McpClient(make_server(gateway.context, token=victim["token"])) as client:
        [waits] = said_by(await client.call_tool("pending", {}))["pending"]
        assert waits["ask"] == "consent" and waits["consent"]["tension"]
        said = said_by(await client.call_tool("consent", {"process_id": pid, "allow": True, "key": "yes"}))
        assert said["state"] == "applied"
        holds = said_by(await client.call_tool("consents", {}))["consents"]
        assert [(one["consent"], one["own"], one["origin"]) for one in holds] == [("ask", False, "api")]
        now = said_by(await client.call_tool("set_consent", {"scene": room.scene, "consent": "allow"}))
        assert (now["consent"], now["own"]) == ("allow", True)
    await gateway.stack.end(pid)
    assert room.read(victim)


async def test_one_demander_does_not_have_one_person_asked_without_end(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim = await room.person()
    other = await room.person("allow")
    asks = gateway.context.repositories.consents
    quotas = ConsentQuotas(pair_per_month=2, person_per_day=2)
    for number in (1, 2):
        assert await asks.over_quota(room.stranger["profile_id"], [victim["profile_id"]], quotas) == ()
        pid = await room.demand(victim, other, settings={"turn_seconds": 3_600})

        async def asked_in_this_process(pid: str = pid) -> bool:  # that of the process before may still be open
            return bool((await asked(gateway, victim["token"], "consent"))["process_id"] == pid)

        await until(asked_in_this_process)
        assert await asks.asked_by(room.stranger["profile_id"]) == number
        await room.close(pid)
    assert await asks.over_quota(room.stranger["profile_id"], [victim["profile_id"]], quotas) == (victim["profile_id"],)
    assert await asks.over_quota("somebody-else", [victim["profile_id"]], ConsentQuotas(pair_per_month=2)) == ()
    daily = ConsentQuotas(pair_per_day=2)
    assert await asks.over_quota(room.stranger["profile_id"], [victim["profile_id"]], daily) == (victim["profile_id"],)
    assert await asks.over_quota("somebody-else", [victim["profile_id"]], daily) == ()


def test_one_demander_does_not_use_up_all_the_questions_of_a_persons_day() -> None:
    quotas = ConsentQuotas()
    assert 4 * quotas.pair_per_day <= quotas.person_per_day


async def test_a_token_for_one_process_gives_no_consent_in_its_owners_place(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    pid = await room.demand({**by_hand(victim), "endpoint": "agent"}, other)
    await asked(gateway, victim["token"], "projection", 1)
    issued = await gateway.ask("POST", "/tokens", victim["token"], json={"role": "participant", "process_id": pid})
    agent = issued.json()["secret"]
    for switch in ({"endpoint": "proxy"}, {"endpoint": "agent", "fallback": "proxy"}):
        refused = await room.send(pid, agent, kind="switch_endpoint", **switch)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed"), switch
    assert not room.read(victim)
    assert (await room.send(pid, agent, kind="switch_endpoint", endpoint="human")).status_code == 200
    own = await room.send(pid, victim["token"], kind="switch_endpoint", endpoint="proxy")
    assert own.status_code == 200, "the owner's own switch is their consent"
    assert (await room.send(pid, agent, kind="switch_endpoint", endpoint="agent")).status_code in (200, 409)
    await room.close(pid)
