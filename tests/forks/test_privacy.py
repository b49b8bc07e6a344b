"""Forks open nothing: what a fork may show, who is left out, which names stay hidden, what an erasure reaches (docs/forks.md §2)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.forks.test_course import is_the_same
from tests.forks.test_forks import ended, forked
from tests.support.scripted import Rule
from tests.support.stack import OPERATOR, Stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tests.workflows.test_people import with_people
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.errors import BadInput
from tongyao.app.forks import LocalChanges
from tongyao.app.messaging.messages import send_message
from tongyao.app.people.erasure import erase
from tongyao.protocol.model.messages import SubmitProjectionBody
from tongyao.protocol.model.process import DEMANDER, Choice
from tongyao.protocol.model.projection import EndpointKind

CANARY = "Zwieback lighthouse"


async def texts_of(here: Stack, owners: list[str]) -> Mapping[str, str]:
    """Every text that can be opened of these owners, by id."""
    async with here.repositories.pool.connection() as connection:
        cursor = await connection.execute("SELECT id FROM texts WHERE owner = ANY(%s)", [owners])
        ids = [row["id"] for row in await cursor.fetchall()]
    return await here.repositories.texts.get_many(ids, erased="")


async def everywhere(here: Stack, fork: str) -> str:
    """All that is kept of a fork under its own name: texts, manifest, events, and Temporal's history."""
    manifest = await here.repositories.seats.manifest(fork)
    events = await here.repositories.events.events(fork, limit=1_000)
    history = await here.handle(fork).fetch_history()
    texts = await texts_of(here, [f"process:{fork}"])
    return "\n".join((*texts.values(), repr(manifest), repr([one.data for one in events]), history.to_json()))


async def test_a_person_who_is_left_out_stands_nowhere_in_what_is_kept_of_a_fork(stack: Opened) -> None:
    async with stack(verdicts=["more", "exhausted"]) as (here, _):
        people = await here.people(
            {**TEXTS, "eve": f"I keep the {CANARY}. I can offer a lamp. I will not leave it. I want to learn boats."}
        )
        choices = [Choice(profile_id=one, endpoint=EndpointKind.PROXY) for one in people[:4]]
        choices.append(Choice(profile_id=people[4], endpoint=EndpointKind.HUMAN))
        origin = await here.start(choices, auto_confirm=True, correcting_seconds=0)
        await here.until(origin, "crystallizing")
        seats = {seat.person: seat.alias for seat in await here.repositories.seats.seats(origin)}
        eve = seats[people[4]]
        await here.asked(origin, eve, 1)
        assert (await here.speak(origin, eve, 1, f"The {CANARY} needs new glass.")).accepted
        await here.finish(origin, eve)
        fork = await forked(here, origin, without=(eve,))
        await ended(here, fork)
        kept = await everywhere(here, fork.id)
        assert "tide gauges" in kept
        for trace in (CANARY, people[4], f'"{eve}"', f"/{eve}/", f"'{eve}'", "Eve Example"):
            assert trace not in kept, trace


async def test_nothing_of_a_person_is_taken_where_another_profile_speaks(stack: Opened) -> None:
    async with stack(verdicts=["more", "exhausted"]) as (here, _):
        origin, seats = await with_people(here, correcting_seconds=0)
        bo = seats["bo"]
        await here.asked(origin, bo, 1)
        await here.speak(origin, bo, 1, f"The {CANARY} needs new glass.")
        await here.finish(origin, bo)
        [other] = await here.people({"eve": TEXTS["di"]})
        fork = await forked(here, origin, round=3, local=LocalChanges(replaced={bo: other}))
        record = await ended(here, fork)
        assert fork.round == 1
        assert {one.author.value for one in record.projections if one.alias == bo} == {"proxy"}
        assert CANARY not in await everywhere(here, fork.id)
        assert not [text for text in (await texts_of(here, [other])).values() if CANARY in text]


async def test_a_fork_is_no_way_to_read_what_was_said_before_the_plan_or_in_a_closed_record(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        demander = "person-of-the-harbour"
        caller = Caller(Role.PERSON, person=demander)
        origin, seats = await with_people(here, demander=demander, open_record=False)
        await here.asked(origin, seats["bo"], 1)
        for who in (caller, OPERATOR):
            with pytest.raises(BadInput) as refused:
                await forked(here, origin, caller=who)
            assert refused.value.code == "fork_too_early"
        await here.speak(origin, seats["bo"], 1, "I can drive on Tuesdays.")
        await here.finish(origin, seats["bo"])

        fork = await forked(here, origin, caller=caller, settings={"open_record": True, "max_rounds": 5})
        record = await ended(here, fork)
        assert not record.open_record
        cancelled = await here.start(await here.people(TEXTS), auto_confirm=True, demander=demander)
        await here.until(cancelled, "crystallizing")
        await here.say(cancelled, "cancel")
        await here.until_ended(cancelled)
        if (await here.repositories.processes.get(cancelled)).phase == "cancelled":
            with pytest.raises(BadInput):
                await forked(here, cancelled, caller=caller)


async def test_a_word_that_its_author_confirmed_as_a_name_stays_hidden_in_a_fork(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, engine):
        origin, seats = await with_people(here, correcting_seconds=0)
        bo = seats["bo"]
        await here.asked(origin, bo, 1)
        body = SubmitProjectionBody.model_validate(
            {
                "kind": "submit_projection",
                "round": 1,
                "text": "Baker brings the van. We ask Baker first.",
                "names": ["Baker"],
            }
        )
        person = next(one.person for one in await here.repositories.seats.seats(origin) if one.alias == bo)
        await send_message(here.context, Caller(Role.PERSON, person=person), origin, body, key="baker", via="test")
        await here.finish(origin, bo)
        there = next(one.text for one in (await here.repositories.record(origin)).projections if one.alias == bo)
        assert "Baker" not in there

        fork = await is_the_same(here, engine, origin)
        again = await is_the_same(here, engine, fork.id)
        for one in (fork, again):
            record = await here.repositories.record(one.id)
            assert next(said.text for said in record.projections if said.alias == bo) == there


async def test_the_demander_reads_the_tension_of_a_fork_of_a_child_as_that_of_the_child(stack: Opened) -> None:
    residual = {
        "title": "A crane", "transition": "Somebody lifts the crates that Maria Flores keeps", "initial_state": "The crates are heavy.",
        "barriers": ["Nobody here has a licence."], "exchange": "[data_insufficient]", "sources": [],
    }  # fmt: skip
    rule = Rule(step="plan", process="c-????????????????", revision=1, draft={"residuals": [residual]})
    async with stack(verdicts=["exhausted"], rules=[rule]) as (here, engine):
        await here.people(TEXTS, scene="forks-of-children")
        parent = await here.start([], scene="forks-of-children", auto_confirm=True, auto_start=True, max_participants=3)
        await here.until(parent, "answering")
        assert (await here.say(parent, "approve_residual", residual="plan/1/residual/1")).accepted
        await until(lambda: here.repositories.lineage.children(parent), "a child")
        [child] = await here.repositories.lineage.children(parent)
        await here.until_ended(child.id)
        await here.end(parent)

        fork = await is_the_same(here, engine, child.id)
        await is_the_same(here, engine, parent)
        of_child, of_fork = [await here.repositories.record(one, own=(DEMANDER,)) for one in (child.id, fork.id)]
        assert of_fork.demanders_tension == of_child.demanders_tension
        assert not of_fork.tension_is_own


async def test_what_an_erasure_takes_from_an_origin_it_takes_from_its_forks(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        people = await here.people({**TEXTS, "eve": f"I keep the {CANARY}. I can offer a lamp. I will not leave it."})
        demander, *room = people
        origin = await here.start(
            room, demander=demander, auto_confirm=True, intent="I want to learn whether my copper kettle ferry works."
        )
        await here.end(origin)
        fork = await forked(here, origin)
        again = await forked(here, (await ended(here, fork)).process_id)
        await ended(here, again)
        processes = [origin, fork.id, again.id]
        owners = [*people, *(f"process:{one}" for one in processes)]

        async def holding(words: str) -> list[str]:
            return [text for text in (await texts_of(here, owners)).values() if words in text]

        assert len(await holding(CANARY)) >= 3
        await erase(here.context, OPERATOR, people[-1])
        assert await holding(CANARY) == []
        assert len(await holding("copper kettle")) >= 3
        await erase(here.context, OPERATOR, demander)
        assert await holding("copper kettle") == []
        for one in processes:
            record = await here.repositories.record(one)
            assert record.tension is None
        with pytest.raises(BadInput):
            await forked(here, origin)
