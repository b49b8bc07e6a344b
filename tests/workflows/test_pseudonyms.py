"""Names in a process: hidden from everybody else from the tension to the profiles, the same mark in all of them (docs/protocol.md §6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tests.workflows.conftest import PROFILE
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.messaging.messages import send_message
from tongyao.app.messaging.wire import ReviseTensionBody, TensionBody
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.protocol.model.tension import NameFound

KNOWN = ("Tomasz Kowal", "Fennel Kitchen", "Rosa Lund")
INTENT = "I want the readings that Tomasz Kowal kept at Skye to be read by strangers."
PROFILES = {
    "ada": f"Tomasz Kowal taught me. {PROFILE}",
    "bo": f"I cook at the Fennel Kitchen. {PROFILE}",
    "cy": f"Rosa Lund and Tomasz Kowal own my boat. {PROFILE}",
}


def find_names(text: str) -> Sequence[NameFound]:
    return [NameFound(name=name, kind="firm" if "Kitchen" in name else "person") for name in KNOWN if name in text]


async def test_a_name_has_one_mark_in_the_tension_and_in_every_profile(temporal: Client, database_url: str) -> None:
    engine = ScriptedEngine(Script(verdicts=["exhausted"]))
    async with open_stack(temporal, database_url, engine, find_names=find_names) as here:
        pid = await here.start(await here.people(PROFILES), intent=INTENT, auto_confirm=False)
        await here.until(pid, "confirming")
        before = (await here.repositories.record(pid)).tension
        assert before is not None
        assert [one.name for one in before.names] == ["Tomasz Kowal"]
        demander = (await here.repositories.processes.get(pid)).demander
        revised = TensionBody(transition="to have the readings of Tomasz Kowal on Skye read", initial_state="a shed")
        await send_message(
            here.context,
            Caller(Role.PERSON, demander),
            pid,
            ReviseTensionBody(kind="revise_tension", tension=revised),
            key="k",
            via="api",
        )
        await here.say(pid, "confirm_tension")
        record = await here.end(pid)

    shown = [one.request for one in engine.received if isinstance(one.request, EndpointRequest)]
    assert all(one.tension.transition == "to have the readings of [person 1] on Skye read" for one in shown)
    leaked = [(one.alias, one.round, name) for one in shown for name in KNOWN if name in one.model_dump_json()]
    assert not leaked, (leaked, [one.material.text for one in shown if one.round == 1])
    materials = {one.material.text.split(PROFILE)[0].strip() for one in shown}
    assert "[person 1] taught me." in materials
    assert sorted(one.name for one in record.names) == sorted(KNOWN)
    numbers = {one.name: one.number for one in record.names}
    assert f"I cook at the [firm {numbers['Fennel Kitchen']}]." in materials
    assert f"[person {numbers['Rosa Lund']}] and [person 1] own my boat." in materials
    assert record.tension is not None
    assert record.tension.names == before.names, "a revision that says nothing of names hides the same ones"


async def test_the_names_in_a_profile_are_looked_for_once_however_often_its_owner_is_seated(
    temporal: Client, database_url: str
) -> None:
    looked = Counter[str]()

    def look(text: str) -> Sequence[NameFound]:
        looked[text] += 1
        return find_names(text)

    engine = ScriptedEngine(Script(verdicts=["exhausted"]))
    async with open_stack(temporal, database_url, engine, find_names=look) as here:
        people = await here.people(PROFILES)
        for intent in (INTENT, f"{INTENT} On paper."):
            pid = await here.start(people, intent=intent, auto_confirm=False)
            await here.until(pid, "confirming")
            await here.say(pid, "confirm_tension")
            record = await here.end(pid)
            assert sorted(one.name for one in record.names) == sorted(KNOWN)

    assert {name: looked[text] for name, text in PROFILES.items()} == dict.fromkeys(PROFILES, 1)
