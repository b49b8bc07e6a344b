"""Nobody destroys what others said by having themself erased."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.security.test_consent import Room, by_hand
from tests.support.until import until
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.people.erasure import erase

FIRST = "I restore water wheels with my lathe."
SECOND = "I can also lend two oxen and a waggon until autumn."
TENSION = {"transition": "An old ferry runs again on the lake."}
OF_NOBODY = "I repair roofs. "


async def spoken(
    gateway: GatewayHarness, room: Room, taker: Any, *, first: str = FIRST, **fields: Any
) -> tuple[str, Any]:
    """A process of two rounds in which `taker` sits and says nothing, or which they started; its id, and somebody who spoke in it."""
    others = [await room.person() for _ in range(2)]
    people = others if taker is room.stranger else [*others, taker]
    pid = await room.demand(*map(by_hand, people), settings={"answering_seconds": 1}, tension=TENSION, **fields)
    for number, words in ((1, first), (2, SECOND)):
        for person in people:
            await asked(gateway, person["token"], "projection", number)
            said = {"nothing_new": True} if person is taker else {"text": words}
            sent = await room.send(pid, person["token"], kind="submit_projection", round=number, **said)
            assert sent.status_code == 200, sent.text
    await gateway.stack.end(pid)
    return pid, others[0]


async def left(gateway: GatewayHarness, pid: str, person: Any) -> list[str]:
    """What the person reads of their own words."""
    view = (await gateway.ask("GET", f"/processes/{pid}", person["token"])).json()
    return [item["text"] for turn in view["own"] for item in turn["items"]]


async def erased(gateway: GatewayHarness, person: Any) -> None:
    id = person["profile_id"]
    done = await erase(gateway.context, Caller(role=Role.PERSON, person=id), id, patience=60)
    assert done.steps_under_way == 0


async def test_not_under_a_name_that_was_taken_after_the_room_was_seated(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    taker = await gateway.join(room.scene, OF_NOBODY, name="Moritz Kahn")
    pid, other = await spoken(gateway, room, taker)
    renamed = {"text": OF_NOBODY, "name": "wheels"}
    answer = await gateway.ask("PUT", f"/profiles/{taker['profile_id']}", taker["token"], json=renamed)
    assert answer.status_code == 200, answer.text
    await erased(gateway, taker)
    assert await left(gateway, pid, other) == [FIRST, SECOND]


async def test_not_by_a_name_that_another_process_stored(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    taker = await gateway.join(room.scene, OF_NOBODY, name="Moritz Kahn")
    pid, other = await spoken(gateway, room, taker)
    renamed = {"text": OF_NOBODY, "name": "wheels"}
    await gateway.ask("PUT", f"/profiles/{taker['profile_id']}", taker["token"], json=renamed)
    await spoken(gateway, room, taker)
    await erased(gateway, taker)
    assert await left(gateway, pid, other) == [FIRST, SECOND]


async def test_not_by_a_profile_that_no_process_could_read(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    taker = await gateway.join(room.scene, OF_NOBODY)
    pid, other = await spoken(gateway, room, taker)
    answer = await gateway.ask("PUT", f"/profiles/{taker['profile_id']}", taker["token"], json={"text": SECOND * 3})
    assert answer.status_code == 200, answer.text
    await erased(gateway, taker)
    assert await left(gateway, pid, other) == [FIRST, SECOND]


@pytest.mark.parametrize("demands", [False, True])
async def test_not_by_a_profile_full_of_words_that_others_say_without_having_read_them(
    gateway: GatewayHarness, demands: bool
) -> None:
    room = await Room.open(gateway)
    taker = await gateway.join(room.scene, OF_NOBODY + FIRST + SECOND)
    if demands:
        room.stranger = taker
    pid, other = await spoken(gateway, room, taker)
    await erased(gateway, taker)
    assert await left(gateway, pid, other) == [FIRST, SECOND]


async def test_not_by_an_intent_full_of_words_that_nobody_else_had_read(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    room.stranger = taker = await gateway.join(room.scene, OF_NOBODY)
    pid, other = await spoken(gateway, room, taker, intent=f"I want the ferry to run. {FIRST} {SECOND}")
    await erased(gateway, taker)
    assert await left(gateway, pid, other) == [FIRST, SECOND]


async def test_not_what_others_answered_to_a_plan_without_having_read_these_words(gateway: GatewayHarness) -> None:
    answer = "Please wait until the harvest is finished, then begin."
    room = await Room.open(gateway)
    taker = await gateway.join(room.scene, OF_NOBODY + answer)
    others = [await room.person() for _ in range(2)]
    pid = await room.demand(*map(by_hand, [*others, taker]), tension=TENSION)
    for number, words in ((1, FIRST), (2, SECOND)):
        for person in (*others, taker):
            await asked(gateway, person["token"], "projection", number)
            said = {"nothing_new": True} if person is taker or number == 2 else {"text": words}
            sent = await room.send(pid, person["token"], kind="submit_projection", round=number, **said)
            assert sent.status_code == 200, sent.text
    await asked(gateway, others[0]["token"], "answer")
    told = {"kind": "answer_plan", "revision": 1, "answer": "propose", "text": answer}
    assert (await room.send(pid, others[0]["token"], **told)).status_code == 200

    async def answer_words() -> Any:
        return (await gateway.ask("GET", f"/processes/{pid}", room.stranger["token"])).json()["answer_words"]

    assert list((await until(answer_words)).values()) == [answer]
    await erased(gateway, taker)
    assert list((await answer_words()).values()) == [answer]
    await room.close(pid)
