"""One person may not take the time, the memory or the storage that belong to all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import GatewayHarness, gateway
from tests.gateway.outbound.test_sources import SECRETS, platform
from tests.security.test_consent import Room
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, QuotaReached, Unavailable
from tongyao.app.feedback import FeedbackBody, give_feedback
from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.people import profile_versions
from tongyao.app.people.agents import SourceBody, fetch_profile, set_source
from tongyao.app.people.profile_source import ChatMessage
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.records.privacy.texts import Texts

__all__ = ["gateway"]


def with_options(context: AppContext, **options: Any) -> AppContext:
    return replace(context, options=context.options.model_copy(update=options))


async def test_ones_own_page_does_not_hold_all_versions_in_memory(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = await gateway.join(await gateway.scene())
    place = f"/profiles/{joined['profile_id']}"
    for number in range(14):
        assert (await gateway.ask("PUT", place, joined["token"], json={"text": f"I keep {number} goats."})).is_success
    at_once: list[int] = []
    read = Texts.get_many

    async def noted(self: Texts, ids: Iterable[str], *, erased: str | None = None) -> dict[str, str]:
        wanted = list(ids)
        at_once.append(len(wanted))
        return await read(self, wanted, erased=erased)

    async with gateway.client() as http:
        await _sign_in(http, joined["token"])
        monkeypatch.setattr(Texts, "get_many", noted)
        shown = await http.get("/console/me")
    assert shown.status_code == 200 and "I keep 13 goats." in shown.text
    assert max(at_once) == 1


async def _sign_in(http: httpx.AsyncClient, secret: str) -> None:
    form = (await http.get("/console/enter")).text.split('name="form_token" value="', 1)[1].split('"', 1)[0]
    answer = await http.post("/console/enter", data={"form_token": form, "secret": secret})
    assert answer.status_code == 303


async def test_a_profile_from_an_agent_keeps_to_the_quotas_of_its_owner(gateway: GatewayHarness) -> None:
    sources = {"http": partial(HttpProfileSource, private_allowed=True)}
    options = GatewayOptions(most_versions=1, join_rate="100000/minute")
    narrow = gateway.also(profile_sources=sources, options=options)
    rare = gateway.also(profile_sources=sources, options=GatewayOptions(join_rate="2/hour"))
    async with platform() as (_, config):
        for house, codes in ((narrow, ["too_many_versions"]), (rare, [None, "too_often"])):
            joined = await house.join(await house.scene())
            place = f"/profiles/{joined['profile_id']}/source"
            named = await house.ask("PUT", place, joined["token"], json={"config": config, "credentials": SECRETS})
            assert named.status_code == 200
            answers = [await house.ask("PUT", f"{place}/profile", joined["token"]) for _ in codes]
            assert [one.json().get("code") for one in answers] == codes


async def test_what_came_of_a_plan_keeps_to_the_quota_of_its_author(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    people = [await room.person("allow"), await room.person("allow")]
    pid = await room.demand(*people)
    await gateway.stack.end(pid)
    seats = await gateway.context.repositories.seats.seats(pid)
    author = Caller(Role.PERSON, seats[0].person)
    context = with_options(gateway.context, most_stored_chars=100_000)
    body = FeedbackBody(alias=seats[0].alias, outcome="done", text="x" * 99_900)
    with pytest.raises(QuotaReached):
        await give_feedback(context, author, pid, body)
    kept = await give_feedback(gateway.context, author, pid, body)
    assert kept.revision == 1


class SlowAgent:
    """Gives a profile when it is told to."""

    def __init__(self) -> None:
        self.asked, self.answers = asyncio.Event(), asyncio.Event()

    async def get_profile(self) -> str:
        self.asked.set()
        await self.answers.wait()
        return "I splice rope, and rig boats on the lake."

    async def chat(self, messages: Sequence[ChatMessage]) -> str:
        return ""


async def test_ones_profile_is_fetched_from_ones_agent_once_at_a_time(gateway: GatewayHarness) -> None:
    """Twenty at once, of eight megabytes each, took a gigabyte."""
    slow = SlowAgent()
    context = replace(gateway.context, profile_sources={"slow": lambda *_: slow})
    joined = await gateway.join(await gateway.scene())
    person = joined["profile_id"]
    caller = Caller(Role.PERSON, person)
    await set_source(context, caller, person, SourceBody(kind="slow"))
    first = asyncio.create_task(fetch_profile(context, caller, person))
    async with asyncio.timeout(60):
        await slow.asked.wait()
        with pytest.raises(Unavailable) as refused:
            await fetch_profile(context, caller, person)
        assert refused.value.code == "fetched_already"
        slow.answers.set()
        assert (await first).version == 2
        assert (await fetch_profile(context, caller, person)).version == 2


async def test_a_profile_that_is_too_long_waits_for_no_thread(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long texts are read one after the other: those that wait are in memory."""
    context = replace(gateway.context, profile_max_chars=1_000)
    joined = await gateway.join(await gateway.scene())
    monkeypatch.setattr(profile_versions, "_read", None)
    with pytest.raises(BadInput, match="2,001 characters"):
        await profile_versions.register_profile(context, joined["profile_id"], scene="", name="", text="x" * 2_001)
