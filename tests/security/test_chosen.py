"""Nobody fills a person's inbox by choosing them as `human` or `agent`, alone or with many accounts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.security.test_consent import Room, by_hand
from tests.support.until import until
from tongyao.records.people.consents import ConsentQuotas

QUOTAS = ConsentQuotas(chosen_per_day=2, chosen_pair_per_day=2)


async def start(gateway: GatewayHarness, demander: Any, *people: Any) -> Any:
    body = {"intent": "I want to sail.", "participants": list(people), "settings": {"auto_confirm": True}}
    return await gateway.ask("POST", "/processes", demander["token"], json=body)


async def waits(gateway: GatewayHarness, pid: str, person: Any) -> None:
    """Return when this process waits for the person."""

    async def waits_for_them() -> bool:
        return pid in {one["process_id"] for one in (await gateway.ask("GET", "/inbox", person["token"])).json()}

    await until(waits_for_them)


@pytest.mark.parametrize(
    ("quotas", "same"),
    [(QUOTAS, False), (ConsentQuotas(chosen_pair_per_day=2), True), (ConsentQuotas(most_turns=2), False)],
)
async def test_who_was_chosen_too_often_is_not_chosen_again_and_the_demander_is_told(
    gateway: GatewayHarness, quotas: ConsentQuotas, same: bool
) -> None:
    bounded = gateway.also(consent_quotas=quotas)
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    demanders = [room.stranger if same else await room.person() for _ in range(3)]
    started = []
    for demander in demanders[:2]:
        answer = await start(bounded, demander, by_hand(victim), other["profile_id"])
        assert answer.status_code == 201, answer.text
        started.append(answer.json()["id"])
        await waits(gateway, started[-1], victim)
    refused = await start(bounded, demanders[2], by_hand(victim), other["profile_id"])
    assert (refused.status_code, refused.json()["code"]) == (409, "chosen_too_often")
    assert victim["profile_id"] in refused.json()["detail"] and other["profile_id"] not in refused.json()["detail"]
    by_proxy = await start(bounded, demanders[2], victim["profile_id"], other["profile_id"])
    assert by_proxy.status_code == 201, "a proxy is asked for, which has a quota of its own"
    for pid in (*started, by_proxy.json()["id"]):
        await room.close(pid)


async def test_the_records_refuse_what_slipped_through_the_door(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    consents = gateway.context.repositories.consents
    pid = (await start(gateway, room.stranger, by_hand(victim), other["profile_id"])).json()["id"]
    await waits(gateway, pid, victim)
    once = ConsentQuotas(chosen_per_day=1)
    ids = [victim["profile_id"], other["profile_id"]]
    assert await consents.chosen_too_often("somebody", ids, once) == (victim["profile_id"],)
    assert await consents.chosen_too_often("somebody", ids, ConsentQuotas()) == ()
    await room.close(pid)


async def test_processes_that_have_not_seated_anybody_yet_count_as_well(gateway: GatewayHarness) -> None:
    bounded = gateway.also(consent_quotas=QUOTAS)
    room = await Room.open(gateway)
    victim, other = await room.person(), await room.person("allow")
    people = [by_hand(victim), other["profile_id"]]
    body = {"intent": "I want to sail.", "participants": people, "settings": {"confirm_seconds": 3_600}}
    answers = [await bounded.ask("POST", "/processes", room.stranger["token"], json=body) for _ in range(3)]
    assert [one.status_code for one in answers] == [201, 201, 409]
    for one in answers[:2]:
        await room.close(one.json()["id"])
