"""Forks on real servers: what is taken from the origin, what is asked, who may see it (docs/forks.md)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.support.kept import notifications_of
from tests.support.scripted import Rule, Script
from tests.support.stack import OPERATOR, Stack
from tests.workflows.conftest import TEXTS, Opened
from tests.workflows.test_people import with_people
from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.errors import NotAllowed, NotFound
from tongyao.app.forks import ForkBody, Forked, LocalChanges, fork_process
from tongyao.app.notifications.notices import create_notices
from tongyao.app.people.erasure import erase
from tongyao.llm import prompts
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.record import Record

CANARY = "Zwieback lighthouse"
OWN_WORDS = "copper tide gauge"
SAID = "I can drive on Tuesdays, but not before nine."


async def forked(
    here: Stack, origin: str, *, caller: Caller = OPERATOR, local: LocalChanges | None = None, **change: Any
) -> Forked:
    return await fork_process(here.context, caller, origin, ForkBody(**change), key=uuid4().hex, local=local)


async def ended(here: Stack, fork: Forked) -> Record:
    await here.until_ended(fork.id)
    return await here.repositories.record(fork.id)


async def room(here: Stack) -> tuple[str, dict[str, str]]:
    """Three people, of whom bo speaks for himself: once in words, then that there is nothing new. Returns it with name → alias."""
    pid, seats = await with_people(here, residuals="ask")
    bo = seats["bo"]
    await here.asked(pid, bo, 1)
    assert (await here.speak(pid, bo, 1, SAID)).accepted
    await here.finish(pid, bo)
    return pid, seats


def said_in(record: Record) -> Any:
    """What a record says, without what names its process."""
    plans = [plan.model_dump(exclude={"residuals": {"__all__": {"tension": {"lineage"}}}}) for plan in record.plans]
    return record.tension, record.projections, record.observations, plans


async def test_a_fork_without_a_change_asks_nothing_and_another_prompt_asks_that_step_and_what_follows(
    stack: Opened,
) -> None:
    gap = Rule(step="observe", round=1, relate={"P01-P03": "aligned"})
    async with stack(verdicts=["more", "more", "exhausted"], rules=[gap], residuals=1) as (here, engine):
        origin, seats = await room(here)
        before = len(engine.received)

        same = await forked(here, origin)
        record = await ended(here, same)
        assert len(engine.received) == before, [call.key for call in engine.received[before:]]
        assert said_in(record) == said_in(await here.repositories.record(origin))
        used = await here.repositories.ledger.usage(same.id)
        assert used.taken == used.settled > 6
        assert used.tokens == 0
        assert record.phase is Phase.COMPLETED
        assert not record.deliveries
        assert not await here.repositories.inbox.of_process(same.id)
        await create_notices(here.repositories)
        assert not await notifications_of(here.repositories.pool, same.id)
        assert not await here.repositories.lineage.children(same.id)
        row = await here.repositories.processes.get(same.id)
        assert (row.forked_from, row.fork_round) == (origin, 1)

        engine.script.rules.insert(0, Rule(step="observe", draft={"words": "Seen otherwise under another prompt."}))
        shown = prompts.load("observe", "en").text
        other = await forked(here, origin, local=LocalChanges(prompts={"observe": f"{shown}\nOne thing more."}))
        await ended(here, other)
        asked = {(call.key.step, call.key.round) for call in engine.received[before:]}
        assert not [key for key in asked if key == ("project", 1)], "round 1 was said before the first observation"
        assert ("observe", 1) in asked
        calls = await here.repositories.ledger.usage(other.id)
        assert calls.taken == 2, "the proxies of round 1"
        assert calls.settled - calls.taken == len(engine.received) - before

        later = len(engine.received)
        third = await forked(here, origin, round=3, local=LocalChanges(again="observe"))
        record = await ended(here, third)
        asked = {(call.key.step, call.key.round) for call in engine.received[later:]}
        assert ("observe", 3) in asked
        assert not [key for key in asked if key[1] in (1, 2) or key == ("project", 3)]
        words = [(one.round, one.text, one.author.value) for one in record.projections if one.alias == seats["bo"]]
        assert words[0] == (1, SAID, "human")


async def test_who_is_left_out_appears_nowhere_in_the_fork(stack: Opened) -> None:
    async with stack(verdicts=["more", "exhausted"]) as (here, engine):
        texts = {**TEXTS, "ada": f"I can lend a {OWN_WORDS}. I will not travel in winter. I want to learn boats."}
        people = await here.people({**texts, "eve": f"I keep the {CANARY}. I can offer a lamp. I will not leave it."})
        origin = await here.start(people, auto_confirm=True)
        await here.end(origin)
        seats = {seat.person.split("-")[0]: seat.alias for seat in await here.repositories.seats.seats(origin)}
        before = len(engine.received)
        fork = await forked(here, origin, without=(seats["eve"],), round=3)
        record = await ended(here, fork)
        asked = engine.received[before:]
        used = await here.repositories.ledger.usage(fork.id)
        await erase(here.context, OPERATOR, people[0])
        erased = await here.repositories.record(fork.id)

    assert OWN_WORDS in record.model_dump_json()
    assert OWN_WORDS not in erased.model_dump_json()
    assert not [one for one in erased.projections if one.alias == seats["ada"] and one.items]
    assert fork.round == 1, "later observations speak of those who are left out"
    assert used.taken >= 4, "what the others said in round 1"
    assert not [
        call.key for call in asked if call.mentions(CANARY) or call.mentions(seats["eve"]) or call.mentions("Eve")
    ]
    text = record.model_dump_json(exclude={"others"})
    assert CANARY not in text
    assert seats["eve"] not in text
    assert "Eve" not in text


async def test_people_whose_consent_ended_are_not_in_a_fork_and_only_the_demander_sees_it(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        people = await here.people(TEXTS)
        demander = "person-of-the-harbour"
        origin = await here.start(people, auto_confirm=True, demander=demander)
        await here.end(origin)
        seats = {seat.person: seat.alias for seat in await here.repositories.seats.seats(origin)}
        await here.repositories.mandate_rows.put(people[0], may_speak=False)
        fork = await forked(here, origin, caller=Caller(Role.PERSON, person=demander))
        record = await ended(here, fork)
        assert fork.left_out == (seats[people[0]],)
        assert seats[people[0]] not in {one.alias for one in record.participants}

        participant, stranger = Caller(Role.PERSON, person=people[1]), Caller(Role.PERSON, person="nobody")
        with pytest.raises(NotAllowed):
            await forked(here, origin, caller=participant)
        for caller in (participant, stranger):
            with pytest.raises(NotFound):
                await authorize_in_process(here.repositories, caller, fork.id, Action.READ_PROCESS)
        with pytest.raises(NotFound):
            await forked(here, origin, caller=stranger)
        assert not (await here.repositories.processes.list(participant=people[1], origin=origin)).rows


async def test_a_person_of_whom_a_fork_wants_new_words_lapses_and_the_fork_says_so(stack: Opened) -> None:
    async with stack(verdicts=["more", "more", "exhausted"]) as (here, engine):
        origin, seats = await room(here)
        engine.script = Script(
            verdicts=["more", "more", "more", "more", "exhausted"],
            rules=[Rule(step="observe", round=4, gaps=[seats["bo"]])],
        )
        fork = await forked(here, origin, round=3, local=LocalChanges(again="observe"))
        record = await ended(here, fork)
        rows = await here.repositories.rounds.projections(fork.id)

    spoken = {one.round for one in (record.projections) if one.alias == seats["bo"] and one.outcome is Outcome.LAPSED}
    marked = {row.round for row in rows if row.guards.get("no_words_in_origin")}
    assert marked
    assert marked == spoken
