"""Whoever looks for people may not test words on the profiles of those who let nobody speak for them."""

from __future__ import annotations

from datetime import UTC, datetime

from psycopg.types.json import Jsonb

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tongyao.app.choosing.candidates import Because, found_people
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.process.seats import CandidateRow


def test_a_proposal_tells_neither_where_in_a_profile_a_word_stands_nor_how_well_it_matches() -> None:
    reason = {"part": "B1", "facet": "offers", "score": 1.0, "start": 120, "end": 180}
    row = CandidateRow(perspective="complement", rank=1, profile_id="p-1", score=1.0, reasons=[reason])
    [told] = found_people([row], {"B1": "No nets."})
    assert told.because == (Because(perspective="complement", part="B1", part_text="No nets.", facet="offers"),)
    assert not {"score", "start", "end"} & {*told.model_dump(), *told.because[0].model_dump()}


def test_the_event_of_the_search_tells_whom_it_found_and_not_how_well_they_match() -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    found = Event(seq=4, kind=EventKind.FIELD_ACTIVATED, at=at, data={"candidates": [["p-1", "complement", 6.22]]})
    told = event_for_party(found, role="demander")
    assert told is not None and told.data["candidates"] == [["p-1", "complement"]]


async def test_the_sentence_that_a_candidate_allows_names_nobody_whom_their_profile_names(
    gateway: GatewayHarness,
) -> None:
    scene = await gateway.scene()
    demander = await gateway.join(scene, "I fish for pike. I want nets mended before the ice goes.", name="Nils Aaker")
    for number, owner in enumerate(("Tove Lund", "Arne Moe", "Siri Dahl", "Per Berg")):
        text = f"Ilse Baptiste and I mend nets and sails in winter. We have {number + 2} benches. I will not work on Sundays."
        await gateway.join(scene, text, name=owner)
    demand = {"intent": "I want somebody to mend nets in winter.", "scene": scene, "settings": {"auto_confirm": True}}
    started = await gateway.ask("POST", "/processes", demander["token"], json=demand)
    assert started.status_code == 201, started.text
    await asked(gateway, demander["token"], "select_participants")
    pid, reason = started.json()["id"], {"part": "T", "facet": "offers", "score": 1.0, "start": 4, "end": 40}
    async with gateway.context.repositories.pool.connection() as connection:  # as a field with an index finds them
        await connection.execute("UPDATE candidates SET reasons = %s WHERE process_id = %s", [Jsonb([reason]), pid])
    found = await gateway.ask("GET", f"/processes/{pid}/candidates", demander["token"])
    sentences = [reason["sentence"] for one in found.json() for reason in one["because"] if reason["sentence"]]
    assert any("mend nets and sails" in one for one in sentences), found.text
    assert "Baptiste" not in found.text and "Ilse" not in found.text
    await gateway.stack.handle(pid).cancel()


async def test_a_person_whose_file_was_named_for_a_process_is_quoted_to_searchers_once_they_allow_it(
    gateway: GatewayHarness,
) -> None:
    """Whoever ran the machine named the file for one process (`--human FILE`): nobody said that a search may quote it."""
    scene = await gateway.scene()
    demander = await gateway.join(scene)
    person, text = f"file-{scene}", "I mend nets and sails in winter. We have two benches."
    await gateway.stack.register(person, scene=scene, name="Tove Lund", text=text)

    async def sentences() -> set[str | None]:
        demand = {
            "intent": "I want somebody to mend nets in winter.",
            "scene": scene,
            "settings": {"auto_confirm": True},
        }
        pid = (await gateway.ask("POST", "/processes", demander["token"], json=demand)).json()["id"]
        await gateway.stack.until(pid, "selecting")
        reason = {"part": "T", "facet": "offers", "score": 1.0, "start": 0, "end": 30}
        row = CandidateRow(perspective="complement", rank=1, profile_id=person, score=1.0, reasons=[reason])
        await gateway.context.repositories.seats.find(pid, [row])
        found = (await gateway.ask("GET", f"/processes/{pid}/candidates", demander["token"])).json()
        await gateway.stack.handle(pid).cancel()
        return {reason["sentence"] for one in found for reason in one["because"]}

    assert await sentences() == {None}
    path = f"/profiles/{person}/consents/{scene}"
    token = await gateway.person(person)
    assert (await gateway.ask("PUT", path, token, json={"consent": "allow"})).status_code == 200
    [said] = await sentences()
    assert said is not None and "mend nets" in said


async def test_of_who_said_never_a_process_does_not_tell_which_part_of_a_tension_matches_them(
    gateway: GatewayHarness,
) -> None:
    scene = await gateway.scene()
    demander = (await gateway.join(scene))["token"]
    told = {}
    for consent, text in (("ask", "I mend nets and sails."), ("never", "I mend nets and had a bankruptcy.")):
        told[(await gateway.join(scene, text, consent=consent))["profile_id"]] = consent
    tension = {"transition": "nets are mended", "barriers": ["bankruptcy", "sails"]}
    demand = {"intent": "I want nets.", "scene": scene, "tension": tension, "settings": {"auto_confirm": True}}
    pid = (await gateway.ask("POST", "/processes", demander, json=demand)).json()["id"]
    await asked(gateway, demander, "select_participants")
    reason = {"part": "B1", "facet": "offers", "score": 1.0, "start": 4, "end": 10}
    async with gateway.context.repositories.pool.connection() as connection:  # as a field with an index finds them
        await connection.execute("UPDATE candidates SET reasons = %s WHERE process_id = %s", [Jsonb([reason]), pid])
    proposals = (await asked(gateway, demander, "select_participants"))["choices"]["proposals"]
    candidates = (await gateway.ask("GET", f"/processes/{pid}/candidates", demander)).json()
    for one in (*proposals, *candidates):
        assert bool(one["because"]) is (told[one["profile_id"]] == "ask"), one
    assert {one["profile_id"] for one in candidates} == set(told), "that they were found is told"
    await gateway.stack.handle(pid).cancel()
