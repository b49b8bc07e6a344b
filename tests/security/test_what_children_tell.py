"""Whoever is asked in a child process learns no name that was hidden in its parent, and nothing of somebody who had themself erased."""

from __future__ import annotations

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.gateway.test_choosing import TEXTS
from tongyao.protocol.model.tension import MISSING, Lineage, Tension
from tongyao.protocol.rules.redaction import ERASED, Erasure

TENSION = {
    "transition": "The ferry of Rosa Feldman crosses the lake again",
    "initial_state": "Rosa Feldman, my aunt, has debts, and Piet Haan stopped paying in May",
    "barriers": ["nobody can lift the ferry"],
    "exchange": "Piet Haan gives a year of free crossings",
    "names": [{"name": "Rosa Feldman", "kind": "person"}, {"name": "Piet Haan", "kind": "person"}],
}

NAMES = ("Jo Vandal", "Kim Astor", "Lev Brandt")


async def test_who_is_asked_to_fill_a_hole_reads_marks_for_the_names_of_the_first_tension(
    gateway: GatewayHarness,
) -> None:
    scene = await gateway.scene()
    demander = (await gateway.join(scene, name="Ida Quist"))["token"]
    people = [
        await gateway.join(scene, text, name=name, consent="ask") for text, name in zip(TEXTS, NAMES, strict=True)
    ]
    chosen = [{"profile_id": one["profile_id"], "endpoint": "human"} for one in people[:2]]
    demand = {
        "intent": "I want the ferry back. Rosa Feldman owns it, and Piet Haan pays for it.",
        "scene": scene,
        "tension": TENSION,
        "participants": chosen,
        "settings": {"auto_confirm": True, "max_rounds": 2, "quorum": 1},
    }
    pid = (await gateway.ask("POST", "/processes", demander, json=demand)).json()["id"]
    for number in (1, 2):
        for one in people[:2]:
            await asked(gateway, one["token"], "projection", number)
            said = {"kind": "submit_projection", "round": number, "text": "I can offer the slipway of four metres."}
            await gateway.ask("POST", f"/processes/{pid}/messages", one["token"], json=said)
    await asked(gateway, demander, "decision", 2)
    as_it_is = {"kind": "decide", "decision": "accept_as_is"}
    await gateway.ask("POST", f"/processes/{pid}/messages", demander, json=as_it_is)
    await asked(gateway, people[1]["token"], "answer", 1)
    read = (await gateway.ask("GET", f"/processes/{pid}", people[1]["token"])).json()["tension"]
    assert "[person 1]" in read["initial_state"] and "Feldman" not in str(read)
    declined = {"kind": "answer_plan", "revision": 1, "answer": "decline"}
    await gateway.ask("POST", f"/processes/{pid}/messages", people[1]["token"], json=declined)
    hole = await asked(gateway, demander, "hole")
    approved = {"kind": "approve_residual", "residual": hole["subject"]}
    await gateway.ask("POST", f"/processes/{pid}/messages", demander, json=approved)
    select = await asked(gateway, demander, "select_participants")
    choice = {"kind": "select_participants", "participants": [people[2]["profile_id"]]}
    await gateway.ask("POST", f"/processes/{select['process_id']}/messages", demander, json=choice)
    tension = (await asked(gateway, people[2]["token"], "consent"))["consent"]["tension"]
    assert "Feldman" not in str(tension) and "Haan" not in str(tension)
    assert tension == hole["choices"]["residual"]["tension"], "the demander saw what would be read"
    for one in (pid, select["process_id"]):
        await gateway.ask("POST", f"/processes/{one}/messages", demander, json={"kind": "cancel"})


def test_what_an_erased_person_was_to_give_leaves_the_child_also_where_others_use_all_its_words() -> None:
    hole = Tension(
        transition="Somebody who does this: “I can lift the ferry”",
        initial_state="The rest of the plan stands. The ferry lies on the shore.",
        barriers=("Missing: “I can lift the ferry”",),
        exchange="“I need a room at the shore”",
        lineage=Lineage(root="p", parent="p", residual="plan/1/hole/P02", depth=1),
    )

    def left(alias: str) -> Tension:
        return Erasure("p.1-P02", {"p": alias}).tension(hole)

    theirs = left("P02")
    assert (theirs.transition, theirs.barriers, theirs.exchange) == (ERASED, (MISSING,), MISSING)
    assert theirs.initial_state == hole.initial_state, "the rest of the plan is no part of theirs"
    assert left("P01") == hole
