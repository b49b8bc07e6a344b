"""A storm: three calls in ten go wrong in one of eleven ways, and every process finishes with every guarantee held."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from temporalio.client import Client

from tests.support.messages_api.faults import Fault, storm
from tests.support.messages_api.fixtures import Engines, Serve
from tests.support.messages_api.responder import Responder
from tests.support.stack import Stack, open_stack
from tongyao.protocol.guards.advice import breach_of
from tongyao.protocol.guards.checks import sentences
from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Record
from tongyao.protocol.rules.standing import not_examined, rounds_of, standing

WEATHER = (
    Fault.RATE_LIMITED,
    Fault.OVERLOADED,
    Fault.SERVER_ERROR,
    Fault.CUT_STREAM,
    Fault.STALLED_STREAM,
    Fault.INVALID_JSON,
    Fault.WRONG_SCHEMA,
    Fault.TRUNCATION,
    Fault.MISSING_PAIR,
    Fault.INVENTED_QUOTE,
    Fault.RECOMMENDATION,
)
SHARE = 0.3
TRADES = ("mends nets", "keeps bees", "tunes pianos", "drives a ferry", "binds books")


def profile(trade: str, number: int) -> str:
    lines = (
        f"I am one who {trade} on pier {number}.",
        f"Every morning before six the {number} boats pass my door empty.",
        "In winter I close for eleven weeks and lend out what I do not need.",
        f"I look for somebody who counts what goes missing, at least {number} times a month.",
        "I will not work on the water after dark, nor for anybody who asks for a list.",
        f"My own change is from piece work to a round of {number} houses that pay by the year.",
    )
    return " ".join(lines)


@pytest.mark.parametrize(
    ("processes", "people"),
    [pytest.param(3, 3, id="a squall"), pytest.param(20, 5, id="the storm", marks=pytest.mark.slow)],
)
@pytest.mark.timeout(600)
async def test_every_process_finishes_and_every_guarantee_holds(
    temporal: Client, fresh_database_url: str, serve: Serve, engine_at: Engines, processes: int, people: int
) -> None:
    rates = {fault: SHARE / len(WEATHER) for fault in WEATHER}
    server = serve(respond=Responder(rounds=2), faults=storm(rates, seed=7), deltas=4)
    async with open_stack(temporal, fresh_database_url, engine_at(server, idle=3.0)) as stack:
        started = [await begin(stack, number, people) for number in range(processes)]
        await asyncio.gather(*(stack.end(one, seconds=500) for one in started))
        for one in started:
            record = await stack.repositories.record(one)
            texts = {
                person.alias: await stack.repositories.profile_text(person.profile)
                for person in record.participants
                if person.profile
            }
            guarantees(record, texts, people)
        calls = [call for one in started for call in await stack.repositories.ledger.calls(one)]

    met = Counter(served.fault for served in server.served if served.fault)
    assert SHARE / 2 < sum(met.values()) / len(server.served) < 2 * SHARE
    if processes == 20:
        assert set(met) == set(WEATHER), "every kind of weather was met"
    settled = Counter(
        (call.process_id, call.step, call.round, call.alias, call.revision, call.reask)
        for call in calls
        if call.state == "settled"
    )
    assert set(settled.values()) == {1}
    assert {call.state for call in calls} == {"settled", "failed"}
    silent = sum(call.error_reason in ("broken", "stalled") for call in calls)
    unreached = silent - met[Fault.CUT_STREAM] - met[Fault.STALLED_STREAM]  # at most: of connections closed by then
    assert unreached >= 0
    sent = sum(call.requests for call in calls)
    assert len(server.served) <= sent <= len(server.served) + unreached, "every request is in the ledger"


async def begin(stack: Stack, number: int, people: int) -> str:
    ids = await stack.people({f"p{at}": profile(trade, 10 * number + at) for at, trade in enumerate(TRADES[:people])})
    return await stack.start(
        ids,
        intent=f"I want {number} small repairs to reach me without a shop of my own. I tried a box.",
        auto_confirm=True,
    )


def guarantees(record: Record, texts: dict[str, str], people: int) -> None:
    assert record.phase is Phase.COMPLETED
    assert record.tension is not None
    known = record.item_ids()
    for said in record.projections:
        assert len({item.id for item in said.items}) == len(said.items)
        for item in said.items:
            assert all(quote in texts[said.alias] for quote in item.quotes) and item.quotes, "an item has its quote"
            assert "nobody has written" not in item.text
    contributors: set[str] = set()
    for seen in record.observations:
        contributors |= {said.alias for said in record.projections if said.round <= seen.round and said.items}
        state = standing(rounds_of(record.projections, record.observations)[: seen.round])
        assert not (seen.statements or seen.none) or not not_examined(state, contributors), "all pairs"
        for relation in seen.relations:
            assert set(relation.sources) <= set(known)
            sides = {alias for alias in relation.between if alias.startswith("P")}
            assert sides <= {speaker_of(source) for source in relation.sources}
        texts_of_catalyst = [*seen.texts().values(), seen.words, seen.why]
        found = [breach_of(sentence) for text in texts_of_catalyst for sentence in sentences(text)]
        assert not any(found), "it stops at visibility"
    assert contributors == {f"P{number:02}" for number in range(1, people + 1)}
    (plan,) = record.plans
    assert plan.claims(), "never empty"
    assert all(set(claim.sources) <= set(known) and (claim.sources or not claim.supported) for claim in plan.claims())
    assert {delivery.alias for delivery in record.deliveries} == contributors
