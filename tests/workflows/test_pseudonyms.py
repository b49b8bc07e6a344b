"""Names in a process: hidden from everybody else from the tension to the profiles, the same mark in all of them (docs/protocol.md §6.3)."""

from __future__ import annotations

from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tests.workflows.conftest import PROFILE
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.messaging.messages import send_message
from tongyao.protocol.model.messages import ReviseTensionBody, TensionBody
from tongyao.protocol.model.requests import EndpointRequest

INTENT = "I want the readings that Tomasz Kowal kept at Skye to be read by strangers."
PROFILES = {
    "ada": f"Tomasz Kowal taught me. {PROFILE}",
    "bo": f"I cook at the Fennel Kitchen. {PROFILE}",
    "cy": f"Rosa Lund and Tomasz Kowal own my boat. {PROFILE}",
}


async def test_a_name_has_one_mark_in_the_tension_and_in_every_profile(temporal: Client, database_url: str) -> None:
    engine = ScriptedEngine(Script(verdicts=["exhausted"]))
    async with open_stack(temporal, database_url, engine) as here:
        pid = await here.start(await here.people(PROFILES), intent=INTENT, auto_confirm=False)
        await here.until(pid, "confirming")
        before = (await here.repositories.record(pid, own=["P00"])).own_tension
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
        await here.end(pid)
        after = (await here.repositories.record(pid, own=["P00"])).own_tension

    shown = [one.request for one in engine.received if isinstance(one.request, EndpointRequest)]
    assert all(one.tension.transition == "to have the readings of [person 1] on Skye read" for one in shown)
    materials = {one.material.text.split(PROFILE)[0].strip() for one in shown}
    assert materials == {
        "[person 1] taught me.", "I cook at the Fennel Kitchen.", "Rosa Lund and [person 1] own my boat."
    }, "the names of the tension are marked in every profile, and firms stay"  # fmt: skip
    assert after is not None
    assert after.names == before.names, "a revision that says nothing of names hides the same ones"


async def test_a_name_that_a_proxy_lists_is_a_mark_for_everybody_else(temporal: Client, database_url: str) -> None:
    engine = ScriptedEngine(Script(verdicts=["exhausted"], names=["Rosa Lund"]))
    async with open_stack(temporal, database_url, engine) as here:
        profiles = {name: f"Rosa Lund owns my boat. {text}" for name, text in PROFILES.items()}
        pid = await here.start(await here.people(profiles), intent=INTENT, auto_confirm=True)
        record = await here.end(pid)
        items = [item for said in record.projections for item in said.items]
    read = "".join(one.request.model_dump_json() for one in engine.received if one.key.step in ("observe", "plan"))
    assert "Rosa" not in read and "Lund" not in read
    assert items and "Rosa" not in str(items)
