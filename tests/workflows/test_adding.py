"""At a limit the demander sees who could be added for what is open, and adds them or others (docs/protocol.md §3.8)."""

from __future__ import annotations

from typing import Any

import pytest
from temporalio.client import Client

from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.workflows.conftest import TEXTS, Opened
from tongyao.app.errors import BadInput
from tongyao.field.intent_field import IntentField
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules.consent import Consent

PEOPLE = {
    "ada": "I repair tide gauges by the harbour. I can offer ten years of readings of the tides. I want to learn boats.",
    "bo": "I sail a small ferry. I can offer two mornings a week on the water. I do not sail in a storm.",
    "cy": "I teach arithmetic at the school. I can offer to draw up a timetable. I cannot come on Sundays.",
    "di": "I hold a licence for harbour cranes and can lift crates of ninety kilograms onto a jetty.",
    "ed": "I bake bread before sunrise. I can offer a warm room and two ovens. I will not deliver.",
}
GAP = {
    "kind": "gap",
    "about": ["B1"],
    "text": "Nobody here has a licence for a crane or can lift crates onto the jetty.",
}
LIMIT: dict[str, Any] = {"auto_confirm": True, "max_rounds": 2}


async def at_the_limit(here: Stack, scene: str, *, named: int = 3, **wish: Any) -> tuple[str, list[str]]:
    """A process of the first `named` people of a scene, at its limit; returns its id and the ids of all."""
    people = await here.people(PEOPLE, scene=scene)
    pid = await here.start(people[:named], scene=scene, **LIMIT | wish)
    await here.until(pid, "deciding")
    return pid, people


async def test_the_field_proposes_whom_the_gap_asks_for(temporal: Client, database_url: str) -> None:
    engine = ScriptedEngine(
        Script.model_validate({"verdicts": ["more"], "rules": [Rule(step="observe", round=2, draft={"notes": [GAP]})]})
    )
    async with open_stack(
        temporal, database_url, engine, field=lambda repositories: IntentField(repositories.pool)
    ) as here:
        pid, people = await at_the_limit(here, "adding-by-field")
        found = await here.repositories.seats.candidates(pid)
        crane = people[3]
        assert (
            await here.say(pid, "decide", decision="add_participants", participants=[{"profile_id": crane}])
        ).accepted
        await here.until(pid, "deciding", round_number=4)
        await here.say(pid, "decide", decision="accept_as_is")
        record = await here.end(pid)

    assert {one.profile_id for one in found} <= set(people[3:]), "who takes part is not proposed"
    assert {one.round for one in found} == {2}
    complement = [one for one in found if one.perspective == "complement"]
    assert complement[0].profile_id == crane, "the gap, not the whole tension, is what is asked with"
    assert complement[0].reasons[0]["part"].startswith("R2/n"), "the reason names the gap it answers to"
    assert record.participant("P04").profile is not None
    assert {said.round for said in record.projections if said.alias == "P04"} == {3, 4}


async def test_who_left_and_who_brought_the_intent_are_not_proposed(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        people = await here.people(PEOPLE, scene="adding-excluded")
        pid = await here.start(people[:3], scene="adding-excluded", demander=people[4], **LIMIT)
        await here.until(pid, "crystallizing")
        gone = (await here.repositories.seats.seats(pid))[0]
        await here.say(pid, "leave", alias=gone.alias)
        await here.until(pid, "deciding")
        assert [one.profile_id for one in await here.repositories.seats.candidates(pid)] == [people[3]]
        await here.say(pid, "decide", decision="abandon")
        await here.end(pid)


async def test_anybody_else_may_be_added_and_is_read_as_they_are_then(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, _people = await at_the_limit(here, "adding-others")
        elsewhere = (await here.people({"fay": TEXTS["di"]}, scene="adding-others-2"))[0]
        await here.register(
            elsewhere, scene="adding-others-2", name="Fay", text=f"{TEXTS['di']} I weave baskets on Mondays."
        )
        await here.repositories.consents.put(elsewhere, "adding-others", Consent.ALLOW)
        chosen = {"profile_id": elsewhere}
        assert (await here.say(pid, "decide", decision="add_participants", participants=[chosen])).accepted
        await here.until(pid, "deciding", round_number=4)
        seat = (await here.repositories.seats.seats(pid))[-1]
        await here.say(pid, "decide", decision="accept_as_is")
        await here.end(pid)

    assert (seat.alias, seat.profile_version, seat.joined_round) == ("P04", 2, 3)


async def test_nobody_unknown_is_added(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, _people = await at_the_limit(here, "adding-unknown")
        chosen = [{"profile_id": "nobody-of-this-id"}]
        with pytest.raises(BadInput, match="nobody-of-this-id"):
            await here.say(pid, "decide", decision="add_participants", participants=chosen)
        assert (await here.repositories.processes.get(pid)).phase == "deciding", "and the process waits as before"
        await here.say(pid, "decide", decision="abandon")
        await here.end(pid)


async def test_without_a_scene_or_without_a_free_place_nobody_is_proposed(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        people = await here.people(PEOPLE, scene="adding-none")
        nowhere = await here.start(people[:3], **LIMIT)
        full = await here.start(people[:3], scene="adding-none", max_participants=3, **LIMIT)
        for pid in (nowhere, full):
            await here.until(pid, "deciding")
            assert await here.repositories.seats.candidates(pid) == []
            await here.say(pid, "decide", decision="accept_as_is")
            await here.end(pid)


class NoField:
    """A field that cannot be asked."""

    def __init__(self, repositories: object) -> None: ...

    async def discover(self, *_: object, **__: object) -> Any:
        from temporalio.exceptions import ApplicationError

        raise ApplicationError("the index is gone", type="IndexGone", non_retryable=True)


async def test_a_field_that_cannot_be_asked_keeps_nobody_from_deciding(temporal: Client, database_url: str) -> None:
    engine = ScriptedEngine(Script.model_validate({"verdicts": ["more"]}))
    async with open_stack(temporal, database_url, engine, field=NoField) as here:
        pid, _people = await at_the_limit(here, "adding-no-field")
        await here.say(pid, "decide", decision="accept_as_is")
        record = await here.end(pid)
        events = await here.repositories.events.events(pid, limit=500)

    assert record.phase is Phase.COMPLETED
    assert [event.data["step"] for event in events if event.kind is EventKind.STEP_SKIPPED] == ["propose"]
