"""Time (docs/protocol.md §3.3): weeks pass in moments on a server whose clock can be moved."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.scripted import Rule
from tests.support.stack import Stack
from tests.workflows.conftest import TEXTS, Opened
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.process_settings import DAY
from tongyao.protocol.model.projection import EndpointKind, Outcome

WEEKS = 21 * DAY


async def with_a_person(stack: Stack, **wish: Any) -> str:
    """Two proxies and one person, who never says anything."""
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
    kinds = (EndpointKind.PROXY, EndpointKind.HUMAN, EndpointKind.PROXY)
    choices = [Choice(profile_id=one, endpoint=kind) for one, kind in zip(people, kinds, strict=True)]
    return await stack.start(
        choices, **{"auto_confirm": True, "turn_seconds": WEEKS, "process_seconds": 200 * DAY} | wish
    )


async def events_of(stack: Stack, pid: str, *kinds: EventKind) -> list[Event]:
    return [event for event in await stack.repositories.events.events(pid, limit=1_000) if event.kind in kinds]


async def test_a_tension_confirms_itself_after_its_time(skipping: Opened) -> None:
    async with skipping(verdicts=["exhausted"]) as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        pid = await here.start(people)
        record = await here.end(pid)
        confirmed = await events_of(here, pid, EventKind.TENSION_CONFIRMED)
        waited = await events_of(here, pid, EventKind.PHASE_CHANGED)

    assert record.phase is Phase.COMPLETED
    assert confirmed[0].data == {"by": "timer"}
    entered = next(event.at for event in waited if event.data["to"] == "confirming")
    assert 300 <= (confirmed[0].at - entered).total_seconds() < 330


async def test_three_weeks_for_one_person_reminders_escalation_and_then_the_others_go_on(skipping: Opened) -> None:
    async with skipping(verdicts=["exhausted"]) as (here, _):
        pid = await with_a_person(here, max_rounds=2, deciding_seconds=DAY, answering_seconds=DAY)
        record = await here.end(pid)
        told = await events_of(here, pid, EventKind.REMINDER, EventKind.ESCALATED)

    assert [(event.kind.value, event.data["round"], event.data.get("share")) for event in told[:3]] == [
        ("reminder", 1, 0.5),
        ("reminder", 1, 0.9),
        ("escalated", 1, None),
    ]
    assert (told[2].at - told[0].at).days >= 10
    late = {one.outcome for one in record.projections if one.author is not EndpointKind.PROXY}
    lapsed = [one for one in record.projections if one.outcome is Outcome.LAPSED]
    assert len(lapsed) == 2
    assert not late - {Outcome.LAPSED}
    assert record.phase is Phase.COMPLETED


@pytest.mark.parametrize(("fallback", "outcome"), [("proxy", Outcome.REPLIED), ("leave", Outcome.LEFT)])
async def test_at_the_deadline_happens_what_the_person_chose(skipping: Opened, fallback: str, outcome: Outcome) -> None:
    async with skipping(verdicts=["exhausted"]) as (here, _):
        pid = await with_a_person(here, fallback=fallback)
        record = await here.end(pid)
        told = await events_of(here, pid, EventKind.ESCALATED)

    alias = str(told[0].data["alias"])
    assert [one.outcome for one in record.projections if one.alias == alias and one.round == 1] == [outcome]


async def test_an_extension_moves_the_deadline_and_its_reminders(skipping: Opened) -> None:
    async with skipping(verdicts=["exhausted"]) as (here, _):
        pid = await with_a_person(here, max_rounds=2, deciding_seconds=DAY, answering_seconds=DAY)
        await here.until(pid, "crystallizing")
        seats = await here.repositories.seats.seats(pid)
        bo = next(seat.alias for seat in seats if seat.endpoint == "human")
        await here.asked(pid, bo, 1)
        assert (await here.say(pid, "extend_deadline", whom=bo, seconds=10 * DAY)).accepted
        await here.end(pid)
        told = await events_of(here, pid, EventKind.TURN_WAITING, EventKind.REMINDER, EventKind.ESCALATED)

    first = [event for event in told if event.data["round"] == 1]
    assert (first[-1].at - first[0].at).days == 31
    assert [event.kind for event in first[1:]] == [EventKind.REMINDER, EventKind.REMINDER, EventKind.ESCALATED]


async def test_grade_c_never_confirms_itself_and_expires_with_the_process(skipping: Opened) -> None:
    async with skipping(rules=[Rule(step="formulate", do="refused")]) as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        record = await here.end(await here.start(people, intent="Something with boats."))

    assert record.phase is Phase.EXPIRED
    assert not record.projections


async def test_when_nobody_selects_the_process_expires(skipping: Opened) -> None:
    async with skipping() as (here, _):
        await here.people(TEXTS, scene="harbour-expires")
        record = await here.end(await here.start([], scene="harbour-expires", auto_confirm=True))

    assert record.phase is Phase.EXPIRED


async def test_a_plan_is_complete_without_the_answers_that_never_come(skipping: Opened) -> None:
    async with skipping(verdicts=["exhausted"]) as (here, _):
        pid = await with_a_person(here, turn_seconds=DAY)
        record = await here.end(pid)
        phases = [str(event.data["to"]) for event in await events_of(here, pid, EventKind.PHASE_CHANGED)]

    assert phases[-2:] == ["answering", "completed"]
    assert record.plans
    assert not record.answers


async def test_the_time_of_a_person_does_not_run_while_the_process_stands_still(skipping: Opened) -> None:
    rule = Rule(step="project", do="operator_needed", message="no credit", until="paid")
    async with skipping(verdicts=["exhausted"], rules=[rule]) as (here, engine):
        pid = await with_a_person(here, turn_seconds=DAY, max_rounds=2, deciding_seconds=DAY, answering_seconds=DAY)
        await here.until_suspended(pid)
        await here.pass_time(days=30)
        engine.mend("paid")
        assert (await here.say(pid, "resume", role="operator")).accepted
        await here.end(pid)
        told = await events_of(here, pid, EventKind.RESUMED, EventKind.ESCALATED)

    assert told[0].kind is EventKind.RESUMED
    assert (told[1].at - told[0].at).total_seconds() == pytest.approx(DAY, abs=600)
