"""The life of a process (docs/protocol.md §3), on a real server with real records; the script plays the models."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.workflows.conftest import SILENT, TEXTS, Opened
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Outcome


async def three(stack: Stack, **wish: Any) -> str:
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
    return await stack.start(people, auto_confirm=True, **wish)


async def test_two_exhausted_verdicts_in_a_row_converge_and_a_plan_is_delivered(stack: Opened) -> None:
    async with stack(verdicts=["more", "more", "exhausted", "exhausted"]) as (here, _):
        record = await here.end(await three(here))

    assert record.phase is Phase.COMPLETED
    assert [seen.round for seen in record.observations] == [1, 2, 3, 4]
    assert record.plans[-1].claims() and all(claim.supported for claim in record.plans[-1].claims())
    assert {delivery.alias for delivery in record.deliveries} == {"P01", "P02", "P03"}


async def test_an_exhausted_verdict_before_the_third_round_does_not_count(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        record = await here.end(await three(here))

    assert record.observations[-1].round == 4
    assert [seen.verdict.value for seen in record.observations] == ["more", "more", "exhausted", "exhausted"]


async def test_rounds_end_when_everyone_says_that_there_is_nothing_new(stack: Opened) -> None:
    rules = [Rule(step="project", round=2, draft=SILENT)]
    async with stack(verdicts=["more"], rules=rules) as (here, _):
        pid = await three(here)
        record = await here.end(pid)
        events = await here.repositories.events.events(pid, limit=500)

    assert [seen.round for seen in record.observations] == [1, 2], "the catalyst still observes the last round"
    assert [event.data["reason"] for event in events if event.kind is EventKind.CONVERGED] == ["all_silent"]


async def test_failed_turns_never_accelerate(stack: Opened) -> None:
    rules = [
        Rule(step="project", round=2, alias="P01", do="step_failed"),
        Rule(step="project", round=2, draft=SILENT),
    ]
    async with stack(verdicts=["more", "more", "exhausted"], rules=rules) as (here, _):
        record = await here.end(await three(here))

    assert record.observations[-1].round == 4


async def test_at_the_limit_the_demander_decides_and_silence_accepts(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid = await three(here, max_rounds=2, deciding_seconds=1)
        record = await here.end(pid)

    assert record.phase is Phase.COMPLETED
    assert [seen.round for seen in record.observations] == [1, 2]


@pytest.mark.parametrize(("decision", "rounds"), [("accept_as_is", 2), ("extend", 4)])
async def test_at_the_limit_the_demander_may_accept_or_extend(stack: Opened, decision: str, rounds: int) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid = await three(here, max_rounds=2)
        await here.until(pid, "deciding")
        assert (await here.say(pid, "decide", decision=decision)).accepted
        if decision == "extend":
            await here.until_round(pid, "deciding", 4)
            await here.say(pid, "decide", decision="accept_as_is")
        record = await here.end(pid)

    assert record.round == rounds


async def test_at_the_limit_the_demander_may_abandon(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid = await three(here, max_rounds=2)
        await here.until(pid, "deciding")
        await here.say(pid, "decide", decision="abandon")
        record = await here.end(pid)

    assert record.phase is Phase.ABANDONED
    assert not record.plans


async def test_people_added_at_the_limit_join_under_new_aliases_for_two_more_rounds(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid = await three(here, max_rounds=2)
        newcomer = await here.people({"di": TEXTS["di"]})
        await here.until(pid, "deciding")
        await here.say(pid, "decide", decision="add_participants", participants=[{"profile_id": newcomer[0]}])
        await here.until_round(pid, "deciding", 4)
        await here.say(pid, "decide", decision="accept_as_is")
        record = await here.end(pid)

    assert [p.alias for p in record.participants] == ["P01", "P02", "P03", "P04"]
    assert {said.round for said in record.projections if said.alias == "P04"} == {3, 4}


async def test_the_demander_may_conclude_the_rounds_early(stack: Opened) -> None:
    async with stack(verdicts=["more"], seconds=0.2) as (here, _):
        pid = await three(here)
        await here.until(pid, "crystallizing")
        assert (await here.say(pid, "conclude")).accepted
        record = await here.end(pid)

    assert record.phase is Phase.COMPLETED
    assert record.round == 1


async def test_one_failed_endpoint_does_not_stop_the_others(stack: Opened) -> None:
    async with stack(rules=[Rule(step="project", alias="P02", do="refused")]) as (here, _):
        record = await here.end(await three(here))

    assert record.phase is Phase.COMPLETED
    assert {said.outcome for said in record.projections if said.alias == "P02"} == {Outcome.FAILED}
    assert record.contributors() == ("P01", "P03")


async def test_when_one_proxy_is_asked_again_those_who_have_answered_are_not(stack: Opened) -> None:
    passing = Rule(step="project", round=1, alias="P02", do="transient", attempt=[1, 2], retry_after=0.1)
    async with stack(verdicts=["exhausted"], rules=[passing]) as (here, _):
        pid = await three(here)
        record = await here.end(pid)
        calls = await here.repositories.ledger.calls(pid)

    asked = Counter(one.alias for one in calls if (one.step, one.round) == ("project", 1))
    assert asked == {"P01": 1, "P02": 3, "P03": 1}
    assert {one.outcome for one in record.projections if one.round == 1} == {Outcome.REPLIED}


async def test_when_every_endpoint_fails_for_one_cause_nothing_is_catalysed_before_it_is_mended(stack: Opened) -> None:
    async with stack(rules=[Rule(step="project", do="step_failed", until="mended")]) as (here, engine):
        pid = await three(here)
        await here.until_suspended(pid)
        assert not (await here.repositories.record(pid)).observations
        assert "every endpoint failed" in (await here.repositories.processes.get(pid)).suspended_reason
        engine.mend("mended")
        assert (await here.say(pid, "resume", role="operator")).accepted
        record = await here.end(pid)

    assert record.phase is Phase.COMPLETED
    assert len(record.contributors()) == 3


@pytest.mark.parametrize("step", ["formulate", "project", "observe", "plan", "deliver"])
async def test_what_only_an_operator_can_mend_suspends_and_loses_nothing(stack: Opened, step: str) -> None:
    rule = Rule(step=step, do="operator_needed", message="the key has expired", until="key")
    async with stack(rules=[rule]) as (here, engine):
        pid = await three(here)
        await here.until_suspended(pid)
        assert (await here.repositories.processes.get(pid)).suspended_reason == "the key has expired"
        engine.mend("key")
        await here.say(pid, "resume", role="operator")
        record = await here.end(pid)
        calls = await here.repositories.ledger.calls(pid)

    assert record.phase is Phase.COMPLETED
    keys = [(c.step, c.round, c.alias, c.revision, c.reask) for c in calls if c.state == "settled"]
    assert len(keys) == len(set(keys)), "one settled answer per key"


async def test_an_intent_that_cannot_be_formulated_stands_as_it_is_and_waits_for_a_yes(stack: Opened) -> None:
    async with stack(rules=[Rule(step="formulate", do="refused")]) as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        pid = await here.start(people, intent="Something with boats, I do not know.", confirm_seconds=1)
        await here.until(pid, "confirming")
        record = await here.repositories.record(pid, own=["P00"])
        assert record.tension is None, "nobody else reads it before it is confirmed"
        assert record.own_tension is not None
        assert record.own_tension.grade.value == "C"
        assert record.own_tension.transition == "Something with boats, I do not know."
        assert (await here.say(pid, "confirm_tension")).accepted
        assert (await here.end(pid)).phase is Phase.COMPLETED


async def test_a_revised_tension_is_the_one_that_is_answered(stack: Opened) -> None:
    async with stack() as (here, engine):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo")})
        pid = await here.start(people)
        await here.until(pid, "confirming")
        verdict = await here.revise(pid, transition="From guessing tides to knowing them.", initial_state="One gauge.")
        assert verdict.accepted
        assert (await here.say(pid, "confirm_tension")).accepted
        await here.end(pid)

    asked = [one for one in engine.received if one.key.step == "project"]
    assert asked and all(one.mentions("From guessing tides to knowing them.") for one in asked)


async def test_cancelling_ends_it_and_what_was_said_stays(stack: Opened) -> None:
    async with stack(verdicts=["more"], seconds=0.3) as (here, _):
        pid = await three(here)
        await here.until_round(pid, "crystallizing", 2)
        assert (await here.say(pid, "cancel")).accepted
        record = await here.end(pid)

    assert record.phase is Phase.CANCELLED
    assert record.contributors()


async def test_aliases_are_given_in_random_order(stack: Opened) -> None:
    orders = set()
    async with stack(verdicts=["exhausted"]) as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
        for _attempt in range(6):
            record = await here.end(await here.start(people, auto_confirm=True))
            orders.add(tuple(p.profile.profile_id for p in record.participants if p.profile))

    assert len(orders) > 1


async def test_a_process_without_named_participants_takes_the_nearest_of_its_scene(stack: Opened) -> None:
    async with stack() as (here, _):
        await here.people(TEXTS, scene="harbour-auto")
        pid = await here.start([], scene="harbour-auto", auto_confirm=True, auto_start=True, max_participants=3)
        record = await here.end(pid)

    assert record.phase is Phase.COMPLETED
    assert len(record.participants) == 3


async def test_the_demander_selects_among_the_found(stack: Opened) -> None:
    async with stack() as (here, _):
        people = await here.people(TEXTS, scene="harbour-select")
        pid = await here.start([], scene="harbour-select", auto_confirm=True)
        await here.until(pid, "selecting")
        assert len(await here.repositories.seats.candidates(pid)) == 4
        chosen = [{"profile_id": one} for one in people[:2]]
        assert (await here.say(pid, "select_participants", participants=chosen)).accepted
        record = await here.end(pid)

    assert len(record.participants) == 2


async def test_a_delivery_that_was_written_stands_when_another_one_is_tried_again(stack: Opened) -> None:
    """The first could not be read and was assembled from the plan; asked again it would be another text."""
    rules = [
        Rule(step="deliver", alias="P01", do="unreadable", attempt=1),
        Rule(step="deliver", alias="P02", do="transient", attempt=[1, 2]),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, _):
        pid = await three(here)
        record = await here.end(pid)
        calls = [one for one in await here.repositories.ledger.calls(pid) if one.step == "deliver"]

    assert record.phase is Phase.COMPLETED
    assert sorted(one.alias for one in record.deliveries) == ["P01", "P02", "P03"]
    assert {one.alias: one.state for one in calls} == {"P01": "failed", "P02": "settled", "P03": "settled"}


class NoMemory:
    """A memory that cannot be strengthened."""

    async def strengthen(self, *_: object) -> None:
        raise ApplicationError("the memory is gone", type="MemoryGone", non_retryable=True)


async def test_a_memory_that_cannot_be_strengthened_stops_no_process(temporal: Client, database_url: str) -> None:
    engine = ScriptedEngine(Script.model_validate({"verdicts": ["exhausted"]}))
    async with open_stack(temporal, database_url, engine, memory=NoMemory()) as here:
        long = TEXTS["ada"] + " The harbour has many tides." * 2_000
        people = await here.people({"ada": long, "bo": TEXTS["bo"]})
        pid = await here.start(people, auto_confirm=True)
        record = await here.end(pid)
        events = await here.repositories.events.events(pid, limit=500)

    assert record.phase is Phase.COMPLETED
    assert [event.data["step"] for event in events if event.kind is EventKind.STEP_SKIPPED] == ["remember"]
