"""A fork without a change goes the way of its origin: decisions, people who come and go, a conclusion. It asks nothing (docs/forks.md)."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.forks.test_forks import ended, forked, said_in
from tests.support.scripted import ScriptedEngine
from tests.support.stack import Stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tests.workflows.test_gaps import ASKS, started
from tests.workflows.test_people import with_people
from tongyao.app.forks import Forked
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome

COURSE = {
    EventKind.ROUND_OPENED: ("round", "aliases"),
    EventKind.PARTICIPANT_JOINED: ("alias", "round"),
    EventKind.PARTICIPANT_LEFT: ("alias", "round"),
    EventKind.DECIDED: ("decision",),
    EventKind.CONCLUDED: ("round", "phase"),
    EventKind.CONVERGED: ("round", "reason"),
    EventKind.PLAN_READY: ("revision", "claims"),
}


async def course(here: Stack, process: str) -> list[Any]:
    """What happened in a process up to its first plan."""
    events = await here.repositories.events.events(process, limit=1_000)
    told = [(one.kind, *(one.data[key] for key in COURSE[one.kind])) for one in events if one.kind in COURSE]
    told = told[: 1 + next(at for at, one in enumerate(told) if one[0] is EventKind.PLAN_READY)]
    return sorted(told, key=lambda one: one[0])  # who left while a decision was waited for leaves a fork after it


async def has_spoken(here: Stack, process: str, alias: str) -> bool:
    return any(row.alias == alias for row in await here.repositories.rounds.projections(process))


async def is_the_same(here: Stack, engine: ScriptedEngine, origin: str, **change: Any) -> Forked:
    """Fork a process without a change: nothing is asked, and the course and the record are those of the origin."""
    asked = len(engine.received)
    fork = await forked(here, origin, **change)
    record = await ended(here, fork)
    assert [call.key for call in engine.received[asked:]] == []
    assert await course(here, fork.id) == await course(here, origin)
    assert said_in(record) == said_in(await here.repositories.record(origin, before_plan=2))
    assert record.phase is Phase.COMPLETED
    return fork


async def test_the_quorum_is_waived_and_rounds_are_added_as_in_the_origin(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, engine):
        origin, seats = await with_people(here, quorum=3, max_rounds=2, correcting_seconds=0)
        await here.asked(origin, seats["bo"], 1)
        assert (await here.say(origin, "leave", alias=seats["bo"])).accepted
        await here.until(origin, "deciding", round_number=1)
        assert (await here.say(origin, "decide", decision="extend")).accepted
        await here.until(origin, "deciding", round_number=4)
        assert (await here.say(origin, "decide", decision="extend")).accepted
        await here.until(origin, "deciding", round_number=6)
        assert (await here.say(origin, "decide", decision="accept_as_is")).accepted
        await here.end(origin)

        fork = await is_the_same(here, engine, origin)
        await is_the_same(here, engine, origin, round=4)
        await is_the_same(here, engine, fork.id)
        decided = [one[1] for one in await course(here, fork.id) if one[0] is EventKind.DECIDED]
        assert decided == ["extend", "extend", "accept_as_is"]


async def test_people_join_and_leave_where_they_did_in_the_origin(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, engine):
        people = await here.people(TEXTS, scene="forks-come-and-go")
        human = Choice(profile_id=people[1], endpoint=EndpointKind.HUMAN)
        origin = await here.start(
            [people[0], human, people[2]],
            scene="forks-come-and-go",
            auto_confirm=True,
            max_rounds=2,
            correcting_seconds=0,
        )
        await here.until(origin, "crystallizing")
        seats = {seat.person: seat.alias for seat in await here.repositories.seats.seats(origin)}
        bo = seats[people[1]]
        await here.asked(origin, bo, 1)
        assert (await here.speak(origin, bo, 1, "I can drive on Tuesdays.")).accepted
        await here.asked(origin, bo, 2)
        assert (await here.speak(origin, bo, 2, None)).accepted
        await here.until(origin, "deciding")
        assert (await here.say(origin, "leave", alias=bo)).accepted
        newcomer = [{"profile_id": people[3]}]
        assert (await here.say(origin, "decide", decision="add_participants", participants=newcomer)).accepted
        await here.until(origin, "deciding", round_number=4)
        await here.say(origin, "decide", decision="accept_as_is")
        await here.end(origin)

        fork = await is_the_same(here, engine, origin)
        told = await course(here, fork.id)
        assert (EventKind.PARTICIPANT_LEFT, bo, 2) in told
        assert (EventKind.PARTICIPANT_JOINED, "P04", 3) in told
        await is_the_same(here, engine, origin, round=3)
        await is_the_same(here, engine, fork.id)

        alone = await ended(here, await forked(here, origin, without=("P04",)))
        assert "P04" not in {one.alias for one in alone.projections}
        assert max(one.round for one in alone.projections) == 4, "the rounds that were added stay"


async def test_who_leaves_in_their_turn_or_after_the_plan_does_so_in_the_fork(stack: Opened) -> None:
    async with stack(verdicts=["more", "more", "exhausted"]) as (here, engine):
        origin, seats = await with_people(here, humans=("bo", "cy"), correcting_seconds=0)
        bo, cy = seats["bo"], seats["cy"]
        for alias in (bo, cy):
            await here.asked(origin, alias, 1)
            assert (await here.speak(origin, alias, 1, "I can drive on Tuesdays.")).accepted
        await here.asked(origin, bo, 2)
        assert (await here.say(origin, "leave", alias=bo)).accepted
        await here.asked(origin, cy, 2)
        await here.speak(origin, cy, 2, None)
        await here.asked(origin, cy, 4)
        await here.speak(origin, cy, 4, None)
        await here.until(origin, "answering")
        assert (await here.say(origin, "leave", alias=cy)).accepted
        await here.end(origin)

        fork = await is_the_same(here, engine, origin)
        rows = await here.repositories.rounds.projections(fork.id)
        assert [(one.round, one.outcome) for one in rows if one.alias == bo] == [
            (1, Outcome.REPLIED),
            (2, Outcome.LEFT),
        ]
        seated = {seat.alias: seat.active for seat in await here.repositories.seats.seats(fork.id)}
        assert seated == {seats["ada"]: True, bo: False, cy: True}


async def test_who_takes_over_from_their_proxy_does_so_in_forks_and_their_forks(stack: Opened) -> None:
    async with stack(verdicts=["more", "more", "exhausted"]) as (here, engine):
        origin, seats = await with_people(here, correcting_seconds=0)
        bo, cy = seats["bo"], seats["cy"]
        await here.asked(origin, bo, 1)
        await until(partial(has_spoken, here, origin, cy), "the proxy's first turn")
        assert (await here.say(origin, "switch_endpoint", alias=cy, endpoint="human")).accepted
        await here.speak(origin, bo, 1, "I can drive on Tuesdays.")
        await here.asked(origin, cy, 2)
        assert (await here.speak(origin, cy, 2, "I have a van as well.")).accepted
        await here.finish(origin, bo, cy)

        fork = await is_the_same(here, engine, origin)
        again = await is_the_same(here, engine, fork.id)
        rows = await here.repositories.rounds.projections(again.id)
        assert [one.author.value for one in rows if one.alias == cy][:2] == ["proxy", "human"]
        assert not any(one.guards.get("no_words_in_origin") for one in rows)


async def test_the_rounds_end_where_the_demander_ended_them(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, engine):
        origin, seats = await with_people(here, correcting_seconds=0)
        for number in (1, 2):
            await here.asked(origin, seats["bo"], number)
            if number == 2:
                assert (await here.say(origin, "conclude", ask="conclude/crystallizing/2")).accepted
            await here.speak(origin, seats["bo"], number, f"I can drive on Tuesday {number}.")
        await here.finish(origin, seats["bo"])

        fork = await is_the_same(here, engine, origin)
        await is_the_same(here, engine, fork.id)
        rounds = {one.round for one in await here.repositories.rounds.observations(fork.id)}
        assert rounds == {1, 2}


async def test_what_the_demander_answered_to_a_gap_stands_in_the_fork(stack: Opened) -> None:
    async with stack(**ASKS) as (here, engine):
        origin = await started(here, humans=True, correcting_seconds=0)
        for alias in ("P01", "P02"):
            await here.asked(origin, alias, 1)
            await here.speak(origin, alias, 1, "I can offer the slipway.")
        await here.asked(origin, DEMANDER, 2, what="gap")
        await here.asked(origin, "P02", 2)
        assert (await here.speak(origin, "P02", 2, None)).accepted
        await here.asked(origin, "P01", 2)
        assert (await here.speak(origin, DEMANDER, 2, "The timetable is for the winter.")).accepted
        await here.finish(origin, "P01", "P02")

        fork = await is_the_same(here, engine, origin)
        await is_the_same(here, engine, fork.id)
        alone = await ended(here, await forked(here, origin, without=("P02",), settings={"quorum": 1}))
        assert [one.text for one in alone.projections if one.alias == DEMANDER] == ["The timetable is for the winter."]
