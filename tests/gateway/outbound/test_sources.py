"""A person's own agent on a platform: reached over HTTP with a token that ends, and asked when its turn waits."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qs

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import TEXTS, asked
from tests.support.serving import served
from tests.support.until import until
from tongyao.app.people.agents import source_of
from tongyao.app.people.profile_source import ChatMessage, SourceError
from tongyao.gateway.outbound.agents import AgentCaller
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.records.database import session
from tongyao.records.people.sources import SourceUnknown

SECRETS = {"access_token": "old", "refresh_token": "r0", "client_id": "us", "client_secret": "hush"}


class Platform:
    """A platform with agents: tokens end, refresh tokens are good for one renewal, and it can fail in any way."""

    def __init__(self) -> None:
        self.good, self.refresh, self.renewals, self.refused = "a1", "r0", 0, 0
        self.asked: list[list[dict[str, str]]] = []
        self.say: Any = "My owner splices rope, and will not sail in winter."
        self.status, self.wait = 200, 0.0
        self.second_refused, self.send_second = asyncio.Event(), asyncio.Event()
        self.second_late = False  # a renewal waits for the second refusal, which is sent when `send_second` is set

    async def token(self, request: Request) -> Response:
        if self.second_late:
            await self.second_refused.wait()
        form = parse_qs((await request.body()).decode())
        scheme, _, pair = request.headers.get("authorization", "").partition(" ")
        known = scheme == "Basic" and base64.b64decode(pair) == b"us:hush"
        if not known or form != {"grant_type": ["refresh_token"], "refresh_token": [self.refresh]}:
            return JSONResponse({"error": "invalid_grant"}, 400)
        self.renewals += 1
        self.good, self.refresh = f"a{self.renewals + 1}", f"r{self.renewals}"
        return JSONResponse({"access_token": self.good, "refresh_token": self.refresh, "expires_in": 3600})

    async def profile(self, request: Request) -> Response:
        return self._guarded(request) or PlainTextResponse("# Kim\n\nI splice rope and rig boats on the lake.")

    async def chat(self, request: Request) -> Response:
        await asyncio.sleep(self.wait)
        if refused := self._guarded(request):
            self.refused += 1
            if self.second_late and self.refused == 2:
                self.second_refused.set()
                await self.send_second.wait()
            return refused
        self.asked.append((await request.json())["messages"])
        return JSONResponse(self.say if isinstance(self.say, dict) else {"content": self.say}, self.status)

    def _guarded(self, request: Request) -> Response | None:
        return None if request.headers.get("authorization") == f"Bearer {self.good}" else Response(status_code=401)


@asynccontextmanager
async def platform() -> AsyncIterator[tuple[Platform, dict[str, str]]]:
    here = Platform()
    routes = [Route("/token", here.token, methods=["POST"]), Route("/chat", here.chat, methods=["POST"]),
              Route("/me", here.profile)]  # fmt: skip
    async with served(Starlette(routes=routes)) as url:
        yield here, {"profile_url": f"{url}/me", "chat_url": f"{url}/chat", "token_url": f"{url}/token"}


class Keeping:
    """Where the credentials of one agent are kept: `kept`, oldest first."""

    def __init__(self) -> None:
        self.kept: list[dict[str, str]] = []
        self._alone = asyncio.Lock()

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[dict[str, str]]:
        async with self._alone:
            stored = self.kept[-1] if self.kept else SECRETS
            changed = dict(stored)
            yield changed
            if changed != stored:
                self.kept.append(changed)


HELLO = [ChatMessage(role="user", content="hello")]


async def test_a_token_that_has_ended_is_renewed_once_and_the_new_one_kept() -> None:
    keep = Keeping()
    async with platform() as (there, config):
        source = HttpProfileSource(config, SECRETS, keep, private_allowed=True)
        answers = await asyncio.gather(*(source.chat(HELLO) for _ in range(5)))
        assert await source.get_profile() == "# Kim\n\nI splice rope and rig boats on the lake."
    assert set(answers) == {there.say} and there.renewals == 1
    assert [(one["access_token"], one["refresh_token"]) for one in keep.kept] == [("a2", "r1")]
    assert float(keep.kept[0]["expires_at"]) > 0


async def test_a_refusal_of_the_old_token_that_arrives_after_its_renewal_renews_nothing() -> None:
    async with platform() as (there, config):
        there.second_late = True
        source = HttpProfileSource(config, SECRETS, Keeping(), private_allowed=True)
        said = [asyncio.create_task(source.chat(HELLO)) for _ in range(2)]
        await asyncio.wait(said, return_when=asyncio.FIRST_COMPLETED)
        there.send_second.set()
        assert await asyncio.gather(*said) == [there.say] * 2
    assert there.renewals == 1


async def test_what_was_kept_is_what_works_the_next_time() -> None:
    keep = Keeping()
    async with platform() as (there, config):
        await HttpProfileSource(config, SECRETS, keep, private_allowed=True).chat(HELLO)
        await HttpProfileSource(config, keep.kept[-1], keep, private_allowed=True).chat(HELLO)
        there.good = "revoked"
        await HttpProfileSource(config, keep.kept[-1], keep, private_allowed=True).chat(HELLO)
        assert there.renewals == 2
        there.good, there.refresh = "revoked", "revoked"
        with pytest.raises(SourceError) as caught:
            await HttpProfileSource(config, keep.kept[-1], keep, private_allowed=True).chat(HELLO)
    assert (caught.value.code, caught.value.permanent) == ("not_signed_in", True)
    assert "sign in again" in str(caught.value) and "r1" not in str(caught.value)


@pytest.mark.parametrize(
    ("say", "status", "code", "permanent"),
    [
        ("x", 503, "refused", False),
        ("x", 404, "refused", True),
        ({"else": 1}, 200, "unreadable", False),
        ({"content": None}, 200, "unreadable", False),
        ({"choices": []}, 200, "unreadable", False),
    ],
)
async def test_every_way_of_not_answering_has_its_word(say: Any, status: int, code: str, permanent: bool) -> None:
    async with platform() as (there, config):
        there.say, there.status = say, status
        with pytest.raises(SourceError) as caught:
            await HttpProfileSource(config, {**SECRETS, "access_token": "a1"}, Keeping(), private_allowed=True).chat(
                HELLO
            )
    assert (caught.value.code, caught.value.permanent) == (code, permanent)


async def test_an_answer_as_of_chat_completions_is_understood() -> None:
    async with platform() as (there, config):
        there.say = {"choices": [{"message": {"role": "assistant", "content": "I splice."}}]}
        source = HttpProfileSource({**config, "model": "m"}, {"access_token": "a1"}, Keeping(), private_allowed=True)
        assert await source.chat(HELLO) == "I splice."


async def test_an_agent_that_does_not_answer_in_time_is_not_waited_for() -> None:
    async with platform() as (there, config):
        there.wait = 5
        with pytest.raises(SourceError) as caught:
            await HttpProfileSource(config, SECRETS, Keeping(), private_allowed=True, seconds=0.2).chat(HELLO)
    assert caught.value.code == "timed_out"


async def test_nobody_sends_the_installation_into_its_own_network() -> None:
    async with platform() as (there, config):
        with pytest.raises(SourceError) as caught:
            await HttpProfileSource(config, SECRETS, Keeping()).chat(HELLO)
    assert caught.value.code == "address_forbidden" and there.asked == []


@pytest.mark.parametrize("config", [{}, {"chat_url": "file:///etc/passwd"}, {"chat_url": "https://x.y", "more": 1}])
def test_a_config_that_cannot_be_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="for HttpConfig"):
        HttpProfileSource(config, {}, Keeping())


async def agents_room(gateway: GatewayHarness, config: dict[str, str]) -> tuple[str, str, Any]:
    """A process in which the second participant's own agent speaks; returns (id, demander's token, the participant)."""
    scene = await gateway.scene()
    demander = await gateway.join(scene)
    people = [await gateway.join(scene, text) for text in TEXTS]
    path = f"/profiles/{people[1]['profile_id']}/source"
    answer = await gateway.ask("PUT", path, people[1]["token"], json={"config": config, "credentials": SECRETS})
    assert answer.status_code == 200 and "hush" not in answer.text and "r0" not in answer.text
    demand = {
        "intent": "I want to bring an old ferry back onto the lake.",
        "participants": [people[0]["profile_id"], {"profile_id": people[1]["profile_id"], "endpoint": "agent"}],
        "settings": {"auto_confirm": True},
    }
    started = await gateway.ask("POST", "/processes", demander["token"], json=demand)
    return started.json()["id"], demander["token"], people[1]


@pytest.fixture
def gateway(gateway: GatewayHarness) -> GatewayHarness:
    """Doors that know one kind of platform."""
    return gateway.also(profile_sources={"http": partial(HttpProfileSource, private_allowed=True)})


@pytest.fixture
def asking(gateway: GatewayHarness) -> AgentCaller:
    return AgentCaller(gateway.context)


async def asked_until(gateway: GatewayHarness, asking: AgentCaller, pid: str, state: str) -> Any:
    """Ask until the agent's turn in this process has come to this; what was put off comes due at once."""

    async def turns() -> Any:
        async with session(gateway.context.repositories.pool) as connection:
            await connection.execute("UPDATE source_turns SET next_attempt_at = now() WHERE process_id = %s", [pid])
        await asyncio.gather(asking.once(), asking.once())
        seats = await gateway.context.repositories.seats.seats(pid)
        turns = [t for s in seats for t in await gateway.context.repositories.sources.turns(s.person)]
        return [turn for turn in turns if (turn.process_id, turn.state) == (pid, state)]

    return (await until(turns, f"a turn that is {state}"))[0]


async def test_an_agent_is_asked_in_its_turn_and_its_words_are_in_the_record_once(
    gateway: GatewayHarness, asking: AgentCaller
) -> None:
    async with platform() as (there, config):
        pid, _, person = await agents_room(gateway, config)
        await asked_until(gateway, asking, pid, "said")
        await asked(gateway, person["token"], "projection", 2)
        there.say = "nothing new."
        stop = asyncio.Event()
        running = asyncio.create_task(asking.run(stop, idle=0.05))
        await asked(gateway, person["token"], "answer")
        stop.set()
        await running
        answer = {"kind": "answer_plan", "revision": 1, "answer": "commit"}
        await gateway.ask("POST", f"/processes/{pid}/messages", person["token"], json=answer)
        await gateway.stack.end(pid)
    said = [one for one in (await gateway.context.repositories.record(pid)).projections if one.author.value == "agent"]
    assert [one.text for one in said[:1]] == ["My owner splices rope, and will not sail in winter."]
    assert {one.outcome.value for one in said[1:]} == {"nothing_new"}
    assert len(there.asked) == len(said), "asked once for each turn, by two askers"
    told = json.dumps(there.asked[0])
    assert "transition" in told and "P0" in told and "Anna Example" not in told and "wooden boats" not in told


async def test_what_the_person_said_themself_no_agent_corrects(gateway: GatewayHarness, asking: AgentCaller) -> None:
    async with platform() as (there, config):
        pid, demander, person = await agents_room(gateway, config)
        await asked(gateway, person["token"], "projection", 1)
        there.wait = 0.5
        asking_now = asyncio.create_task(asking.once())
        said = {"kind": "submit_projection", "round": 1, "text": "I say it myself."}
        answer = await gateway.ask("POST", f"/processes/{pid}/messages", person["token"], json=said)
        assert answer.status_code == 200
        await asking_now
        await until(lambda: gateway.stack.happened(pid, "observation_ready"), "an observation")
        await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})
        await gateway.stack.end(pid)
    record = await gateway.context.repositories.record(pid)
    assert [one.text for one in record.projections if one.author.value == "agent" and one.round == 1] == [
        "I say it myself."
    ]


async def test_an_agent_that_is_away_is_asked_again_and_one_that_is_signed_out_is_not(
    gateway: GatewayHarness, asking: AgentCaller
) -> None:
    async with platform() as (there, config):
        pid, demander, person = await agents_room(gateway, config)
        await asked(gateway, person["token"], "projection", 1)
        there.status = 503
        await asking.once()
        path = f"/profiles/{person['profile_id']}/source"
        (turn,) = (await gateway.ask("GET", path, person["token"])).json()["turns"]
        assert (turn["state"], turn["why"]) == ("pending", "refused")
        there.status = 200
        assert (await asked_until(gateway, asking, pid, "said")).attempts > 1
        await asked(gateway, person["token"], "projection", 2)
        there.good = there.refresh = "gone"
        failed = await asked_until(gateway, asking, pid, "failed")
        assert (failed.round, failed.why) == (2, "not_signed_in")
        await gateway.ask("POST", f"/processes/{pid}/messages", demander, json={"kind": "cancel"})


async def test_a_profile_is_fetched_from_the_agent_and_kinds_that_are_not_known_are_refused(
    gateway: GatewayHarness,
) -> None:
    async with platform() as (_, config):
        person = await gateway.join(await gateway.scene())
        path = f"/profiles/{person['profile_id']}/source"
        strange = await gateway.ask("PUT", path, person["token"], json={"kind": "magic"})
        assert (strange.status_code, strange.json()["code"]) == (422, "unknown_kind")
        wrong = await gateway.ask("PUT", path, person["token"], json={"config": {"chat_url": "nowhere"}})
        assert wrong.status_code == 422 and "chat_url" in wrong.json()["detail"]
        assert (await gateway.ask("GET", path, person["token"])).status_code == 404
        await gateway.ask("PUT", path, person["token"], json={"config": config, "credentials": SECRETS})
        fetched = await gateway.ask("PUT", f"{path}/profile", person["token"])
        assert fetched.json()["version"] == 2
        text = (await gateway.ask("GET", path.removesuffix("/source"), person["token"])).json()["text"]
        assert text.startswith("# Kim")
        assert (await gateway.ask("DELETE", path, person["token"])).status_code == 204


async def registered(gateway: GatewayHarness, config: dict[str, str]) -> tuple[str, str, str]:
    """A person with an agent; returns (id, path of the agent, token)."""
    person = await gateway.join(await gateway.scene())
    path = f"/profiles/{person['profile_id']}/source"
    answer = await gateway.ask("PUT", path, person["token"], json={"config": config, "credentials": SECRETS})
    assert answer.status_code == 200
    return person["profile_id"], path, person["token"]


async def test_conversations_of_one_person_renew_a_token_once_between_them(gateway: GatewayHarness) -> None:
    async with platform() as (there, config):
        person, _, _ = await registered(gateway, config)
        sources = [await source_of(gateway.context, person) for _ in range(3)]
        assert await asyncio.gather(*(one.chat(HELLO) for one in sources)) == [there.say] * 3
        assert there.renewals == 1
        assert await (await source_of(gateway.context, person)).chat(HELLO) == there.say
        assert there.renewals == 1


async def test_a_renewal_of_an_agent_that_was_replaced_changes_nothing_of_the_new_one(gateway: GatewayHarness) -> None:
    sources = gateway.context.repositories.sources
    async with platform() as (_, config):
        person, path, token = await registered(gateway, config)
        old = await sources.get(person)
        async with sources.renewing(old) as credentials:
            new = {"config": config, "credentials": {"access_token": "of the new agent"}}
            assert (await gateway.ask("PUT", path, token, json=new)).status_code == 200
            credentials["access_token"] = "of the old agent"
        assert await sources.credentials(await sources.get(person)) == {"access_token": "of the new agent"}
        with pytest.raises(SourceUnknown):
            async with sources.renewing(old):
                pass


async def test_a_renewal_of_an_agent_that_was_removed_stores_nothing(gateway: GatewayHarness) -> None:
    repositories = gateway.context.repositories
    async with platform() as (_, config):
        person, path, token = await registered(gateway, config)
        async with repositories.sources.renewing(await repositories.sources.get(person)) as credentials:
            assert (await gateway.ask("DELETE", path, token)).status_code == 204
            credentials["access_token"] = "of nobody"
    async with session(repositories.pool) as connection:
        cursor = await connection.execute(
            "SELECT count(*) AS left FROM texts WHERE owner = %s AND kind = 'credentials' AND body IS NOT NULL",
            [person],
        )
        assert await cursor.fetchone() == {"left": 0}
