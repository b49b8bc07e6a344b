"""What stays unresolved waits in its scene, and its demander is told when somebody comes: once, and without giving anybody away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mcp.client import Client as McpClient
from temporalio.client import Client

from tests.gateway.conftest import UNLIMITED, GatewayHarness, said_by
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tests.support.until import until
from tests.workflows.test_children import CRANE, left_over
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.people.erasure import erase
from tongyao.app.standing_look import look
from tongyao.field.intent_field import IntentField
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.server import application
from tongyao.protocol.model.observation import Verdict
from tongyao.records.privacy.texts import Texts

ROOM = [
    "I lift crates at the jetty by hand and repair the winch. I can offer two strong arms.",
    "I keep the harbour's timetable and know every skipper. I can offer a list of sailings.",
    "I cook for the crews. I can offer soup at five in the morning.",
]
OPERATOR = "I hold a licence for a harbour crane and have lifted crates from two jetties by machine for nine years. I can offer a crane."
OTHERS = [
    f"I {verb} {what} and can offer {what} every {day}."
    for verb in ("paint", "sell", "collect", "mend", "bake")
    for what in ("clocks", "pears", "stamps", "shoes", "bread", "nets", "maps", "bells", "hats", "jars")
    for day in ("Monday",)
]
RESIDUAL = "plan/1/residual/1"
WEEK = timedelta(days=7)


@pytest.fixture(scope="module")
async def town(temporal: Client, database_url: str) -> AsyncIterator[GatewayHarness]:
    engine = ScriptedEngine(Script(verdicts=[Verdict.EXHAUSTED], rules=[left_over(CRANE)]))
    async with open_stack(temporal, database_url, engine, field=lambda here: IntentField(here.pool)) as stack:
        options = GatewayOptions.model_validate(UNLIMITED)
        context = replace(stack.context, options=options, people_search=IntentField(stack.repositories.pool))
        yield GatewayHarness(stack, context, application(context), engine)


class Ended:
    """A process with a residual that nobody took up, a week ago."""

    def __init__(self, town: GatewayHarness, scene: str, pid: str, token: str, room: list[Any]) -> None:
        self.town, self.scene, self.pid, self.token, self.room = town, scene, pid, token, room
        self.later = datetime.now(UTC) + WEEK

    async def look(self, *, after: timedelta = timedelta(0)) -> dict[str, int]:
        return await look(self.town.context, now=self.later + after)

    async def asked(self) -> list[Any]:
        found = (await self.town.ask("GET", "/inbox", self.token)).json()
        return [ask for ask in found if ask["ask"] == "candidate"]

    async def decide(self, message: Any) -> Any:
        return await self.town.ask("POST", f"/processes/{self.pid}/messages", self.token, json=message)

    async def keep(self, **body: Any) -> Any:
        return await self.town.ask(
            "PUT", f"/processes/{self.pid}/standing", self.token, json={"residual": RESIDUAL, **body}
        )

    async def readable(self, token: str) -> Any:
        return (await self.town.ask("GET", "/standing", token)).json()


async def ended(town: GatewayHarness, *, consent: str = "allow") -> Ended:
    scene = await town.scene()
    room = [await town.join(scene, text, consent=consent) for text in ROOM]
    token = await town.person(f"demander-{scene}")
    body = {
        "intent": "The jetty needs to lift heavy crates in winter.",
        "scene": scene,
        "participants": [one["profile_id"] for one in room],
        "settings": {"auto_confirm": True},
    }
    pid = (await town.ask("POST", "/processes", token, json=body)).json()["id"]
    if consent != "allow":
        for one in room:

            async def invited(one: Any = one) -> Any:
                return (await town.ask("GET", "/inbox", one["token"])).json()

            [asked] = await until(invited, "the question for a consent")
            await town.ask("POST", f"/processes/{pid}/messages", one["token"], json=asked["messages"][0])
    await town.stack.until(pid, "answering")
    await town.ask("POST", f"/processes/{pid}/messages", token, json={"kind": "conclude"})
    await town.stack.until_ended(pid)
    case = Ended(town, scene, pid, token, room)
    await look(town.context)
    return case


async def test_a_week_later_the_right_person_comes_among_fifty_and_the_demander_is_told_once(
    town: GatewayHarness,
) -> None:
    case = await ended(town)
    newcomers = [await town.join(case.scene, text) for text in OTHERS[:25]]
    right = await town.join(case.scene, OPERATOR)
    newcomers += [await town.join(case.scene, text) for text in OTHERS[25:]]
    await case.look()
    asked = await case.asked()
    people = [ask["choices"]["proposals"][0]["profile_id"] for ask in asked]
    assert right["profile_id"] in people
    assert len(people) <= 3, "as often as one may be told in a week"
    await case.look(after=timedelta(hours=1))
    assert [ask["id"] for ask in await case.asked()] == [ask["id"] for ask in asked], "nothing is told twice"

    ask = next(ask for ask in asked if ask["choices"]["proposals"][0]["profile_id"] == right["profile_id"])
    assert ask["choices"]["residual"]["tension"]["transition"] == CRANE["transition"]
    yes, _ = ask["messages"]
    child = (await case.decide(yes)).json()["id"]
    assert child == f"{case.pid}.1-1"
    again = await case.decide(yes)
    assert again.json()["id"] == child, "a repetition begins the same process"
    assert await case.asked() == [], "it waits no longer"
    await town.stack.until_ended(child)
    assert (await town.ask("GET", f"/processes/{child}/plan", case.token)).status_code == 200
    seated = {seat.profile_id for seat in await town.context.repositories.seats.seats(child)}
    assert seated >= {right["profile_id"], *(one["profile_id"] for one in case.room)}, (
        "with those who were there before"
    )
    row = await town.context.repositories.processes.get(child)
    assert row.parent_id == case.pid
    children = (await town.ask("GET", f"/processes?parent={case.pid}", case.token)).json()["processes"]
    assert [one["id"] for one in children] == [child]
    own = (await case.readable(case.token))["own"]
    assert [one["child"] for one in own] == [child]


async def test_a_candidate_who_is_not_wanted_is_not_told_again_also_when_they_change(town: GatewayHarness) -> None:
    case = await ended(town)
    right = await town.join(case.scene, OPERATOR)
    await case.look()
    [ask] = await case.asked()
    assert (await case.decide(ask["messages"][1])).json()["state"] == "applied"
    assert await case.asked() == []
    changed = {"text": OPERATOR + " I have a second crane."}
    assert (await town.ask("PUT", f"/profiles/{right['profile_id']}", right["token"], json=changed)).status_code == 200
    await case.look(after=WEEK)
    assert await case.asked() == []


async def test_what_somebody_said_in_the_room_does_not_leave_it_without_their_consent(town: GatewayHarness) -> None:
    case = await ended(town, consent="ask")
    own = (await case.readable(case.token))["own"]
    assert [one["residual"] for one in own] == ["tension"], "what the demander asked waits in its place"
    assert str(CRANE["transition"]) not in str(own)
    refused = await case.keep()
    assert (refused.status_code, refused.json()["code"]) == (422, "said_in_the_room")
    words = {"transition": "From hands to a crane.", "barriers": ["No licence for a crane."]}
    assert (await case.keep(tension=words)).json()["tension"]["transition"] == words["transition"]


async def test_what_rests_on_somebodys_items_waits_only_while_they_allow_it(town: GatewayHarness) -> None:
    case = await ended(town)
    await case.keep(visible=True)
    reader = await town.join(case.scene, OPERATOR)
    assert len((await case.readable(reader["token"]))["answerable"]) == 1
    for one in case.room:
        path = f"/profiles/{one['profile_id']}/consents/{case.scene}"
        await town.ask("PUT", path, one["token"], json={"consent": "ask"})
    assert (await case.readable(reader["token"]))["answerable"] == []
    await case.look()
    assert await case.asked() == []


async def test_whoever_might_answer_reads_it_with_their_own_sentence_and_steps_forward(town: GatewayHarness) -> None:
    case = await ended(town)
    reader = await town.join(case.scene, OPERATOR)
    assert (await case.readable(reader["token"]))["answerable"] == [], "nobody reads it unless its demander lets them"
    await case.keep(visible=True)
    async with McpClient(make_server(town.context, token=reader["token"])) as agent:
        [found] = said_by(await agent.call_tool("standing", {}))["answerable"]
        assert str(found["sentence"]) in OPERATOR
        await agent.call_tool("step_forward", {"standing_id": found["id"]})
        await agent.call_tool("step_forward", {"standing_id": found["id"]})
    [ask] = await case.asked()
    assert ask["choices"]["proposals"][0]["profile_id"] == reader["profile_id"]
    assert ask["choices"]["proposals"][0]["because"] == []
    await case.look()
    assert len(await case.asked()) == 1, "once, whether they step forward, are found, or both"


async def test_reading_what_waits_gives_away_no_name_no_id_and_nobodys_profile(town: GatewayHarness) -> None:
    case = await ended(town)
    await case.keep(visible=True)
    reader = await town.join(case.scene, OPERATOR)
    shown = str((await case.readable(reader["token"]))["answerable"])
    hidden = [case.pid, f"demander-{case.scene}", *(one["profile_id"] for one in case.room), "Anna Example", *ROOM]
    assert [one for one in hidden if one in shown] == []
    assert set((await case.readable(reader["token"]))["answerable"][0]) == {
        "id",
        "scene",
        "tension",
        "part",
        "sentence",
    }
    unknown = await town.ask("POST", "/standing/s-0123456789abcdef", reader["token"])
    own = (await case.readable(case.token))["own"][0]["id"]
    await case.keep(visible=False)
    closed = await town.ask("POST", f"/standing/{own}", reader["token"])
    assert (
        (closed.status_code, closed.json()["code"])
        == (unknown.status_code, unknown.json()["code"])
        == (404, "no_such_standing_tension")
    )


async def test_nobody_is_found_out_by_changing_ones_own_profile(town: GatewayHarness) -> None:
    """What somebody reads depends on their own profile and on what all may read: another profile changes nothing of it."""
    case = await ended(town)
    await case.keep(visible=True)
    reader = await town.join(case.scene, OPERATOR)
    before = (await case.readable(reader["token"]))["answerable"]
    for _ in range(3):
        await town.join(case.scene, OPERATOR + " I know more of cranes than anybody.")
    assert (await case.readable(reader["token"]))["answerable"] == before
    first = await town.ask("POST", f"/standing/{before[0]['id']}", reader["token"])
    second = await town.ask("POST", f"/standing/{before[0]['id']}", reader["token"])
    assert (first.status_code, first.content) == (second.status_code, second.content) == (204, b"")
    stranger = await town.join(await town.scene(), OPERATOR)
    assert (await town.ask("POST", f"/standing/{before[0]['id']}", stranger["token"])).status_code == 404


async def test_whoever_never_lets_a_proxy_speak_is_no_candidate(town: GatewayHarness) -> None:
    case = await ended(town)
    right = await town.join(case.scene, OPERATOR, consent="never")
    await case.look()
    assert await case.asked() == []
    path = f"/profiles/{right['profile_id']}/consents/{case.scene}"
    await town.ask("PUT", path, right["token"], json={"consent": "ask"})
    await case.look()
    assert len(await case.asked()) == 1, "a no that is taken back is looked at anew"


async def test_an_erased_newcomer_leaves_no_match_and_an_erased_demander_no_standing_tension(
    town: GatewayHarness,
) -> None:
    case = await ended(town)
    right = await town.join(case.scene, OPERATOR)
    await case.look()
    assert len(await case.asked()) == 1
    await erase(town.context, Caller(Role.PERSON, right["profile_id"]), right["profile_id"])
    assert await case.asked() == []
    rows = await town.context.repositories.standing.of_demander(f"demander-{case.scene}")
    assert [await town.context.repositories.standing.matches(row.id) for row in rows] == [[]]
    ids = [row.text_id for row in rows]
    await erase(town.context, Caller(Role.PERSON, f"demander-{case.scene}"), f"demander-{case.scene}")
    assert await town.context.repositories.standing.of_demander(f"demander-{case.scene}") == []
    assert await town.context.repositories.texts.get_many([], known=ids) == {}


async def test_what_nobody_looks_for_any_more_tells_nobody(town: GatewayHarness) -> None:
    case = await ended(town)
    assert (await case.keep(looking=False)).status_code == 200
    await town.join(case.scene, OPERATOR)
    await case.look()
    assert await case.asked() == []
    case = await ended(town)
    await town.join(case.scene, OPERATOR)
    await case.look(after=timedelta(days=90))
    assert await case.asked() == [], "its date is past"


async def test_of_many_who_come_at_once_the_demander_is_told_in_portions(town: GatewayHarness) -> None:
    case = await ended(town)
    await case.keep(visible=True, per_week=1)
    for text in (OPERATOR, OPERATOR + " And two barges.", OPERATOR + " And a yard."):
        one = await town.join(case.scene, text)
        [found] = (await case.readable(one["token"]))["answerable"]
        await town.ask("POST", f"/standing/{found['id']}", one["token"])
    assert len(await case.asked()) == 1
    await case.look(after=timedelta(hours=1))
    assert len(await case.asked()) == 2
    await case.look(after=timedelta(days=1))
    assert len(await case.asked()) == 2
    await case.look(after=WEEK + timedelta(hours=2))
    assert len(await case.asked()) == 3


async def test_looking_at_the_same_time_tells_once(town: GatewayHarness) -> None:
    case = await ended(town)
    await town.join(case.scene, OPERATOR)
    await asyncio.gather(*(case.look() for _ in range(4)))
    assert len(await case.asked()) == 1


async def test_the_page_lists_what_waits_in_both_languages_and_its_buttons_work(town: GatewayHarness) -> None:
    case = await ended(town)
    await case.keep(visible=True)
    reader = await town.join(case.scene, OPERATOR)
    for language, title in (("en", "Open points that wait for somebody"), ("zh", "等人来解决的事")):
        async with town.visitor(reader["token"], language=language) as visitor:
            page = await visitor.get("/standing")
            assert title in page.main.text and str(CRANE["transition"]) in page.main.text
            await visitor.submit("[value=forward]")
    assert len(await case.asked()) == 1
    async with town.visitor(case.token) as visitor:
        inbox = await visitor.get("/")
        assert "Begin with the person who was found for your open point?" in inbox.main.text
        assert reader["profile_id"] in inbox.main.text
        await visitor.get("/standing")
        page = await visitor.submit("[value=close]")
        assert "No point of yours waits here." in page.main.text
    assert await case.asked() == []


async def test_the_buttons_change_only_who_may_read_it(town: GatewayHarness) -> None:
    case = await ended(town)
    assert (await case.keep(days=200, per_week=9)).status_code == 200
    [before] = (await case.readable(case.token))["own"]
    async with town.visitor(case.token) as visitor:
        await visitor.get("/standing")
        for do, visible in (("show", True), ("hide", False)):
            await visitor.submit(f"[value={do}]")
            [after] = (await case.readable(case.token))["own"]
            assert after == {**before, "visible": visible}


async def test_a_yes_while_the_process_still_selects_closes_the_question_at_once(town: GatewayHarness) -> None:
    scene = await town.scene()
    there = await town.join(scene, ROOM[0])
    token = await town.person(f"demander-{scene}")
    body = {
        "intent": "The jetty needs somebody with a licence for a harbour crane, who has lifted crates by machine.",
        "scene": scene,
        "settings": {"auto_confirm": True},
    }
    pid = (await town.ask("POST", "/processes", token, json=body)).json()["id"]
    await town.stack.until(pid, "selecting")
    case = Ended(town, scene, pid, token, [there])
    case.later = datetime.now(UTC)
    await case.look()
    for text in (*OTHERS[:20], OPERATOR):
        await town.join(scene, text)
    await case.look()
    ask = (await case.asked())[0]
    first, second = [await case.decide(ask["messages"][0]) for _ in range(2)]
    assert (first.json()["state"], second.json()["state"]) == ("applied", "applied"), "a repetition begins nothing else"
    assert await case.asked() == []
    assert [one["child"] for one in (await case.readable(token))["own"]] == [pid]
    assert (await town.ask("GET", "/processes", token)).json()["processes"][0]["id"] == pid
    assert len((await town.ask("GET", "/processes", token)).json()["processes"]) == 1


async def test_who_came_while_a_standing_tension_could_not_be_read_is_held_against_it_later(
    town: GatewayHarness,
) -> None:
    case = await ended(town)
    owner = case.room[0]
    path = f"/profiles/{owner['profile_id']}/consents/{case.scene}"
    await town.ask("PUT", path, owner["token"], json={"consent": "ask"})
    right = await town.join(case.scene, OPERATOR)
    await case.look()
    assert await case.asked() == []
    await town.ask("PUT", path, owner["token"], json={"consent": "allow"})
    await case.look()
    [ask] = await case.asked()
    assert ask["choices"]["proposals"][0]["profile_id"] == right["profile_id"]


async def test_who_came_while_nobody_looked_is_held_against_what_waits_again(town: GatewayHarness) -> None:
    case = await ended(town)
    await case.keep(looking=False)
    await town.join(case.scene, OPERATOR)
    await case.look()
    assert await case.asked() == []
    await case.keep()
    await case.look()
    assert len(await case.asked()) == 1


async def test_no_words_of_what_waits_are_read_while_nobody_is_new(
    town: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = await ended(town)
    await town.join(case.scene, OPERATOR)
    await case.look()
    read = list[str]()
    get_texts = Texts.get_many

    async def counted(self: Texts, ids: Any, *, erased: str | None = None, known: Any = ()) -> dict[str, str]:
        read.extend([*ids, *known])
        return await get_texts(self, ids, erased=erased, known=known)

    monkeypatch.setattr(Texts, "get_many", counted)
    await case.look()
    assert read == []
    path = f"/profiles/{case.room[0]['profile_id']}/consents/{case.scene}"
    await town.ask("PUT", path, case.room[0]["token"], json={"consent": "ask"})
    await town.join(case.scene, OTHERS[0])
    await case.look()
    read.clear()
    await case.look()
    assert read == [], "nor of what may not be read now"
