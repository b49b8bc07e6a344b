"""What a participant or a demander tried in a room, and may not: hide the words of others, read somebody who was erased, outlive a credential."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness, gateway
from tests.gateway.test_api import asked
from tests.gateway.test_choosing import TEXTS
from tests.security.test_consent import Room, by_hand
from tests.security.test_credentials_at_the_write import PLACE, held
from tests.security.test_erasing_others import TENSION, erased
from tests.support.scripted import Rule
from tongyao.app.people.sessions import open_session
from tongyao.records.database import session
from tongyao.records.privacy.erasure import Erasing

__all__ = ["gateway"]

SAID = "I met Weber once, and can lend two oxen."


async def read_by_others(gateway: GatewayHarness, pid: str) -> list[str]:
    """The texts of all items, as others read them."""
    record = await gateway.context.repositories.record(pid)
    return [item.text for turn in record.projections for item in turn.items]


async def spoken(gateway: GatewayHarness, room: Room, people: list[Any], *, leaves: Any = None) -> str:
    """A process of two rounds in which everybody says `SAID`, and has no name in it hidden. `leaves`: after the first round."""
    pid = await room.demand(*map(by_hand, people), settings={"answering_seconds": 1}, tension=TENSION)
    for number in (1, 2):
        for person in people:
            await asked(gateway, person["token"], "projection", number)
            said: dict[str, Any] = {"kind": "submit_projection", "round": number, "text": SAID, "names": []}
            gone = number == 2 and person is leaves
            sent = await room.send(pid, person["token"], **({"kind": "leave"} if gone else said))
            assert sent.status_code == 200, sent.text
    await gateway.stack.end(pid)
    return pid


async def test_a_word_that_one_proxy_lists_as_a_name_stays_in_what_other_proxies_say(gateway: GatewayHarness) -> None:
    """The attack: names that one profile made its proxy list counted for all proxies whose turns were written together."""
    room = await Room.open(gateway.with_aliases_as_named())
    people = [await room.person("allow") for _ in range(2)]
    rule = Rule(step="project", alias="P01", draft={"names": ["boats"]})
    gateway.engine.script.rules.append(rule)
    try:
        pid = await room.demand(*people, settings={"answering_seconds": 1}, tension=TENSION)
        await gateway.stack.end(pid)
    finally:
        gateway.engine.script.rules.remove(rule)
    said = " ".join(await read_by_others(gateway, pid))
    assert "wooden boats" in said.partition("P02")[2], said


async def test_words_that_no_longer_count_hide_nothing_in_what_others_said(gateway: GatewayHarness) -> None:
    """The attack: names of a message were hidden before it was refused, also long after the end, and by somebody who had left."""
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(3)]
    pid = await spoken(gateway, room, people, leaves=people[2])
    for person in people:
        for words in (
            {"kind": "submit_projection", "round": 1},
            {"kind": "answer_plan", "revision": 1, "answer": "propose"},
        ):
            sent = await room.send(pid, person["token"], **words, text="Weber", names=["Weber"])
            assert sent.status_code == 409, sent.text
    assert set(await read_by_others(gateway, pid)) == {SAID}


async def test_feedback_hides_nothing_in_the_plan_and_is_told_without_names(gateway: GatewayHarness) -> None:
    """The attack: each new feedback, as often as one likes, hid 200 further names in all that had been said."""
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    pid = await spoken(gateway, room, people)
    told = {"text": "It went well, says Mr. Weber."}
    sent = await gateway.ask("PUT", f"/processes/{pid}/feedback", people[0]["token"], json=told)
    assert sent.status_code == 200, sent.text
    assert set(await read_by_others(gateway, pid)) == {SAID}
    feedback = gateway.context.repositories.feedback
    [row] = await feedback.of_process(pid)
    assert await feedback.words(pid, row.alias, 1, shared=True) == "It went well, says […]."


async def test_nobody_takes_a_phrase_out_of_what_others_say_by_being_called_so(gateway: GatewayHarness) -> None:
    """The attack: "… but not for less than 3000 crowns" read "… but [person 2]"."""
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    names = ("lend two oxen", "not for less than 3000 crowns")
    hostile = [await gateway.join(room.scene, name=one) for one in names]
    pid = await room.demand(*map(by_hand, (*people, *hostile)), settings={"deciding_seconds": 600}, tension=TENSION)
    words = "I can lend two oxen, but not for less than 3000 crowns. Lend Two Oxen knows it."
    for person in (*people, *hostile):
        await asked(gateway, person["token"], "projection", 1)
        sent = await room.send(pid, person["token"], kind="submit_projection", round=1, text=words, names=[])
        assert sent.status_code == 200, sent.text
    await asked(gateway, people[0]["token"], "projection", 2)
    for said in await read_by_others(gateway, pid):
        assert said.startswith("I can lend two oxen, but not for less than 3000 crowns. ") and "Oxen" not in said
    await room.close(pid)


async def test_what_somebody_said_is_read_by_nobody_as_soon_as_their_erasure_begins(gateway: GatewayHarness) -> None:
    """The attack: shared texts are of the process, and stood until the erasure came to them, however long Temporal was away."""
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    pid = await spoken(gateway, room, people)
    person = people[0]["profile_id"]
    await Erasing(gateway.context.repositories.pool).begin(person)
    assert await read_by_others(gateway, pid) == [SAID, SAID], "of the other one"
    await erased(gateway, people[0])


ZEPPELIN = "lend a zeppelin"


async def child_of_a_hole(gateway: GatewayHarness) -> tuple[str, Any, list[Any]]:
    """A child that has ended and asked for what the second of a process declined to give; its id, the demander, and the people."""
    scene = await gateway.scene()
    demander = await gateway.join(scene, name="Ida Quist")
    people = [await gateway.join(scene, TEXTS[number % 3]) for number in range(4)]
    settings = {"auto_confirm": True, "max_rounds": 2, "quorum": 1}
    body: dict[str, Any] = {
        "intent": "I want the ferry back.",
        "scene": scene,
        "tension": TENSION,
        "settings": settings,
    }
    body["participants"] = [by_hand(one) for one in people[:2]]
    gateway = gateway.with_aliases_as_named()
    pid = (await gateway.ask("POST", "/processes", demander["token"], json=body)).json()["id"]

    async def send(process: str, person: Any, **message: Any) -> None:
        sent = await gateway.ask("POST", f"/processes/{process}/messages", person["token"], json=message)
        assert sent.status_code == 200, sent.text

    for number in (1, 2):
        for one in people[:2]:
            await asked(gateway, one["token"], "projection", number)
            words = f"I can {ZEPPELIN}." if one is people[1] else "I have a barn."
            await send(pid, one, kind="submit_projection", round=number, text=words)
    await asked(gateway, demander["token"], "decision", 2)
    await send(pid, demander, kind="decide", decision="accept_as_is")
    await asked(gateway, people[1]["token"], "answer", 1)
    await send(pid, people[1], kind="answer_plan", revision=1, answer="decline")
    hole = await asked(gateway, demander["token"], "hole")
    await send(pid, demander, kind="approve_residual", residual=hole["subject"])
    child = (await asked(gateway, demander["token"], "select_participants"))["process_id"]
    chosen = [one["profile_id"] for one in people[2:]]
    await send(child, demander, kind="select_participants", participants=chosen)
    await asked(gateway, demander["token"], "decision")
    await send(child, demander, kind="decide", decision="accept_as_is")
    await gateway.stack.end(child)
    return child, demander, people


async def test_what_a_child_made_of_a_tension_that_an_erasure_took_goes_with_it(gateway: GatewayHarness) -> None:
    """The attack: the child's tension read `[erased]`, and its plan, which quotes and cites that tension, was not touched."""
    tasks = [{"id": "task/1", "title": ZEPPELIN, "assignee": "P02", "sources": ["R1/P02/1"]}]
    rule = Rule(step="plan", process=f"c-{'?' * 16}", draft={"tasks": tasks})
    gateway.engine.script.rules.append(rule)
    try:
        child, demander, people = await child_of_a_hole(gateway)
    finally:
        gateway.engine.script.rules.remove(rule)
    assert ZEPPELIN in (await gateway.ask("GET", f"/processes/{child}", people[2]["token"])).text
    await erased(gateway, people[1])
    for reader in (demander, people[2]):
        view = await gateway.ask("GET", f"/processes/{child}", reader["token"])
        assert view.status_code == 200 and "zeppelin" not in view.text
    repositories = gateway.context.repositories
    async with session(repositories.pool) as connection:
        found = await connection.execute("SELECT id FROM texts WHERE owner = %s", [f"process:{child}"])
        ids = [row["id"] for row in await found.fetchall()]
    assert "zeppelin" not in str((await repositories.texts.get_many(ids, erased="")).values())


@pytest.mark.parametrize("what", ["feedback", "contact"])
async def test_nothing_is_told_after_a_plan_with_a_token_that_was_revoked_meanwhile(
    gateway: GatewayHarness, what: str
) -> None:
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    pid = await spoken(gateway, room, people)
    issued = await gateway.context.repositories.tokens.issue("person", person=people[0]["profile_id"])
    revoke = partial(gateway.context.repositories.tokens.revoke, issued.token.id)
    headers = {"authorization": f"Bearer {issued.secret}", "content-type": "application/json"}
    path = f"/processes/{pid}/{what}"
    status, _, answer = await held(gateway, "PUT", path, revoke, body=b'{"text": "At the quay."}', headers=headers)
    assert (status, json.loads(answer)["code"]) == (401, "token_revoked")
    assert await gateway.context.repositories.feedback.of_process(pid) == []
    assert await gateway.context.repositories.contacts.of_person(people[0]["profile_id"]) == {}


async def test_a_session_that_is_closed_while_the_form_is_on_its_way_keeps_no_draft(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    pid = await room.demand(*map(by_hand, people), tension=TENSION)
    ask = await asked(gateway, people[0]["token"], "projection", 1)
    repositories = gateway.context.repositories
    for page, field in ((f"/console/asks/{pid}/{ask['id']}", "words"), ("/console/start", "intent")):
        opened = await open_session(gateway.context, people[0]["token"], place=PLACE)
        cookie = f"tongyao_session={opened.secret}"
        shown = (await gateway.ask("GET", page, headers={"Cookie": cookie})).text
        mark = shown.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        headers = {"cookie": cookie, "content-type": "application/x-www-form-urlencoded"}
        form = f"form_token={mark}&do=keep&{field}=I+have+a+barn".encode()
        revoke = partial(repositories.tokens.revoke, opened.token.id)
        status, _, _ = await held(gateway, "POST", page, revoke, body=form, headers=headers)
        assert status in (303, 401)
    async with session(repositories.pool) as connection:
        found = await connection.execute("SELECT ask FROM drafts WHERE owner = %s", [people[0]["profile_id"]])
        assert await found.fetchall() == []
    await room.close(pid)
