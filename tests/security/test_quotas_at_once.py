"""No quota is passed by asking for many things at the same time."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter

import httpx
import pytest

from tests.gateway.conftest import GatewayHarness, gateway
from tests.security.conftest import limited
from tongyao.records.database import one_at_a_time, session
from tongyao.records.privacy.texts import text_id

__all__ = ["gateway"]

AT_ONCE = 12


def _of(answers: list[httpx.Response]) -> Counter[int]:
    return Counter(one.status_code for one in answers)


async def test_processes_started_at_once_are_no_more_than_the_quota(gateway: GatewayHarness) -> None:
    few = limited(gateway, most_open_processes=2)
    scene = await few.scene()
    joined, *others = [await few.join(scene) for _ in range(3)]
    said = {
        "intent": "I want a boat.",
        "participants": [{"profile_id": one["profile_id"], "endpoint": "human"} for one in others],
    }
    answers = await asyncio.gather(*(few.ask("POST", "/processes", joined["token"], json=said) for _ in range(AT_ONCE)))
    assert _of(answers) == {201: 2, 409: AT_ONCE - 2}
    assert await few.context.repositories.processes.count_open(joined["profile_id"]) == 2


async def test_tokens_made_at_once_are_no_more_than_the_quota(gateway: GatewayHarness) -> None:
    few = limited(gateway, most_tokens=3)
    joined = await few.join(await few.scene())
    answers = await asyncio.gather(
        *(few.ask("POST", "/tokens", joined["token"], json={"role": "person"}) for _ in range(AT_ONCE))
    )
    assert _of(answers) == {201: 2, 409: AT_ONCE - 2}


async def test_versions_and_characters_written_at_once_are_no_more_than_the_quota(gateway: GatewayHarness) -> None:
    few = limited(gateway, most_versions=3, most_large=AT_ONCE)
    joined = await few.join(await few.scene())
    place = f"/profiles/{joined['profile_id']}"
    answers = await asyncio.gather(
        *(few.ask("PUT", place, joined["token"], json={"text": f"I keep {number} goats."}) for number in range(AT_ONCE))
    )
    assert _of(answers) == {200: 2, 409: AT_ONCE - 2}

    kept = await few.context.repositories.texts.stored_chars(joined["profile_id"])
    size = len(json.dumps({"addition": "x" * 80 + "10", "answerers": [], "never": [], "topics": []}))
    most = kept + 2 * size + size // 2
    small = limited(gateway, most_stored_chars=most)
    place = f"/profiles/{joined['profile_id']}/mandate"
    answers = await asyncio.gather(
        *(
            small.ask("PUT", place, joined["token"], json={"addition": "x" * 80 + str(number)})
            for number in range(AT_ONCE)
        )
    )
    assert _of(answers)[200] == 2
    assert await few.context.repositories.texts.stored_chars(joined["profile_id"]) <= most


async def test_messages_sent_at_once_are_no_more_than_the_characters_of_a_person(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    kim, jo, mo = [await gateway.join(scene) for _ in range(3)]
    said = {
        "intent": "I want bread.",
        "participants": [{"profile_id": one["profile_id"], "endpoint": "human"} for one in (jo, mo)],
        "settings": {"auto_confirm": True},
    }
    pid = (await gateway.ask("POST", "/processes", kim["token"], json=said)).json()["id"]
    await gateway.stack.until(pid, "crystallizing")
    texts = gateway.context.repositories.texts
    kept = await texts.stored_chars(jo["profile_id"])
    few = limited(gateway, most_stored_chars=kept + 1_000)
    words = {"kind": "submit_projection", "round": 1, "text": "I bake. " * 50}
    answers = await asyncio.gather(
        *(few.ask("POST", f"/processes/{pid}/messages", jo["token"], json=words) for _ in range(AT_ONCE))
    )
    assert sum(one.is_success for one in answers) == 2, _of(answers)
    await gateway.ask("POST", f"/processes/{pid}/messages", kim["token"], json={"kind": "cancel"})


async def test_what_fails_in_the_block_leaves_nothing_and_lets_the_next_one_in(gateway: GatewayHarness) -> None:
    pool, texts = gateway.context.repositories.pool, gateway.context.repositories.texts
    id = text_id("of the test", uuid.uuid4())

    async def fails() -> None:
        async with one_at_a_time(pool, "x"):
            await texts.put("somebody-new", "note", "not kept", id=id)
            raise LookupError

    with pytest.raises(LookupError):
        await fails()
    async with one_at_a_time(pool, "x"):
        assert await texts.get_many([], known=[id]) == {}
    async with session(pool) as connection:
        assert not connection.info.transaction_status
