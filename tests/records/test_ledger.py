"""At most one settled answer per model call, and all that was spent on the way (docs/protocol.md §8.1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import psycopg
import pytest

from tests.records.conftest import Announce
from tests.support.erasing import destroy_key
from tongyao.llm.engine import CallKey, Usage
from tongyao.records.budgets import NOTHING_RESERVED, BudgetExceeded, Budgets, Reservation
from tongyao.records.database import Pool, session
from tongyao.records.model_calls import AttemptUnknown, CallClaim, Ledger, RepliedCall, SettledCall, WaitingCall
from tongyao.records.privacy.texts import TextErased
from tongyao.records.process.process_rows import Processes
from tongyao.records.repositories import Repositories

USAGE = Usage(input_tokens=100, cache_write_tokens=20, cache_read_tokens=3, output_tokens=40)


async def claim(
    ledger: Ledger, key: CallKey, worker: str = "w1", *, input_hash: str = "h1", reserve: Reservation = NOTHING_RESERVED
) -> CallClaim:
    claimed = await ledger.claim(
        key, input_hash=input_hash, prompt_hash="p1", engine="scripted", model="m-1", worker=worker,
        owner=f"process:{key.process}", reserve=reserve,
    )  # fmt: skip
    assert isinstance(claimed, CallClaim), "an answer is settled already"
    return claimed


async def settle(
    ledger: Ledger, key: CallKey, claimed: CallClaim, text: str = "an answer", cost: Decimal | None = Decimal("0.0125")
) -> SettledCall:
    return await ledger.settle(
        key, claimed, owner=f"process:{key.process}", text=text, draft_json=f'{{"said": "{text}"}}',
        engine="scripted", model="m-1", usage=USAGE, cost=cost, labels=("short",),
    )  # fmt: skip


async def states(ledger: Ledger, key: CallKey) -> list[str]:
    return [call.state for call in await ledger.calls(key.process)]


async def test_a_settled_answer_is_found_again_whole(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "project", round=2, alias="P03", reask=1)
    assert await ledger.settled(key, "h1") is None
    attempt = await claim(ledger, key)
    assert await ledger.settled(key, "h1") is None
    given = await settle(ledger, key, attempt, "织机 answer")
    found = await ledger.settled(key, "h1")
    assert found == given
    assert (found.text, found.draft_json) == ("织机 answer", '{"said": "织机 answer"}')
    told = (found.attempt, found.input_hash, found.prompt_hash, found.engine, found.model)
    assert told == (1, "h1", "p1", "scripted", "m-1"), "what a fork compares before it takes the answer"
    assert (found.tokens, found.cost, found.cost_known) == (163, Decimal("0.0125"), True)
    assert found.labels == ("short",)
    assert await ledger.settled(replace(key, reask=0), "h1") is None


async def test_whoever_claims_finds_orphans_but_not_those_that_ended(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "observe", round=1)
    first = await claim(ledger, key)
    await ledger.fail(key, first, "overloaded", usage=USAGE)
    second = await claim(ledger, key)
    other = replace(key, round=2)
    await claim(ledger, other)
    third = await claim(ledger, key, worker="w2")
    assert [one.attempt for one in (first, second, third)] == [1, 2, 3]
    rows = [call for call in await ledger.calls(key.process) if call.round == 1]
    assert [(row.state, row.error_reason, row.worker) for row in rows] == [
        ("failed", "overloaded", "w1"),
        ("orphaned", None, "w1"),
        ("claimed", None, "w2"),
    ]


async def test_when_a_process_has_ended_no_call_of_it_is_claimed(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "project", round=3, alias="P05")
    await claim(ledger, key)
    await Repositories(pool).journal.set_ended(key.process, "failed")
    assert await states(ledger, key) == ["orphaned"]


async def test_the_same_settling_again_changes_nothing(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "plan")
    attempt = await claim(ledger, key)
    assert await settle(ledger, key, attempt) == await settle(ledger, key, attempt)
    assert await states(ledger, key) == ["settled"]


async def test_concurrent_claims_settle_once_and_everybody_gets_that_answer(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "project", round=1, alias="P01")

    claims = await asyncio.gather(*(claim(ledger, key, worker=f"w{number}") for number in range(6)))
    answers = await asyncio.gather(*(settle(ledger, key, one, f"answer {one.attempt}") for one in claims))
    assert len({answer.text for answer in answers}) == 1
    rows = await ledger.calls(key.process)
    assert sorted(row.attempt for row in rows) == [1, 2, 3, 4, 5, 6]
    assert [row.state for row in rows].count("settled") == 1
    assert {row.error_reason for row in rows if row.state == "failed"} == {"superseded"}


async def test_a_claim_beside_a_settling_is_an_attempt_of_its_own_or_finds_the_answer(
    pool: Pool, announce: Announce
) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "project", round=1, alias="P01")

    async def call(number: int) -> SettledCall:
        claimed = await ledger.claim(key, input_hash="h1", engine="e", model="m", worker=f"w{number}")
        if isinstance(claimed, SettledCall):
            return claimed
        assert isinstance(claimed, CallClaim)
        return await settle(ledger, key, claimed, f"answer {number}")

    answers = await asyncio.gather(*(call(number) for number in range(6)))
    assert len({answer.text for answer in answers}) == 1
    rows = await ledger.calls(key.process)
    assert [row.state for row in rows].count("settled") == 1
    assert {row.error_reason for row in rows if row.state == "failed"} <= {"superseded"}


async def test_an_orphan_that_comes_back_first_counts_and_the_second_is_superseded(
    pool: Pool, announce: Announce
) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "formulate")
    lost, again = await claim(ledger, key), await claim(ledger, key)
    assert (await settle(ledger, key, lost, "late but first")).text == "late but first"
    assert (await settle(ledger, key, again, "second")).text == "late but first"
    first, second = await ledger.calls(key.process)
    assert (first.state, second.state, second.error_reason) == ("settled", "failed", "superseded")
    assert second.tokens == USAGE.total


async def test_the_database_itself_holds_one_settled_answer_per_key(pool: Pool, announce: Announce) -> None:

    ledger, key = Ledger(pool), CallKey(await announce(), "plan")
    first, _second = await claim(ledger, key), await claim(ledger, key)
    await settle(ledger, key, first)
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with session(pool) as connection:
            await connection.execute(
                """UPDATE model_calls AS c SET state = 'settled', answer_text_id = s.answer_text_id,
                       draft_text_id = s.draft_text_id FROM model_calls s
                   WHERE c.process_id = %s AND c.attempt = 2
                     AND s.process_id = c.process_id AND s.attempt = 1""",
                [key.process],
            )


async def test_what_was_not_claimed_or_has_failed_cannot_be_settled(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "deliver", alias="P02")
    with pytest.raises(AttemptUnknown, match="attempt 1"):
        await settle(ledger, key, CallClaim(1))
    attempt = await claim(ledger, key)
    await ledger.fail(key, attempt, "refused")
    with pytest.raises(AttemptUnknown):
        await settle(ledger, key, attempt)
    assert await states(ledger, key) == ["failed"]


async def test_a_process_of_calls_without_a_price_is_not_free_of_charge(pool: Pool, announce: Announce) -> None:
    ledger, process = Ledger(pool), await announce()
    async with session(pool) as connection:
        await connection.execute("UPDATE processes SET tokens = 163 WHERE id = %s", [process])
    assert not (await Processes(pool).get(process)).price_unknown, "no call has settled"
    key = CallKey(process, "plan")
    await settle(ledger, key, await claim(ledger, key), cost=None)
    assert (await Processes(pool).get(process)).price_unknown


async def test_totals_count_every_attempt_and_say_when_a_price_is_unknown(pool: Pool, announce: Announce) -> None:
    ledger, process = Ledger(pool), await announce()
    assert (await ledger.usage(process)).calls == 0
    project, plan = CallKey(process, "project", round=1, alias="P01"), CallKey(process, "plan")
    await ledger.fail(project, await claim(ledger, project), "cut", usage=USAGE, cost=Decimal("0.01"))
    await settle(ledger, project, await claim(ledger, project))
    known = await ledger.usage(process)
    assert (known.calls, known.settled, known.failed, known.tokens) == (2, 1, 1, 326)
    assert (known.cost, known.cost_known) == (Decimal("0.0225"), True)

    await claim(ledger, plan)
    await settle(ledger, plan, await claim(ledger, plan))
    total = await ledger.usage(process)
    assert (total.orphaned, total.cost, total.cost_known) == (1, Decimal("0.035"), False)

    by_step = await ledger.totals(("step",), process_id=process)
    assert [(row.step, row.calls, row.tokens) for row in by_step] == [("plan", 2, 163), ("project", 2, 326)]
    (day,) = await ledger.totals(("process", "day"), process_id=process)
    assert (day.process_id, day.calls) == (process, 4)
    assert day.day is not None


async def test_an_answer_to_another_input_does_not_count_and_both_stay(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "plan")
    await settle(ledger, key, await claim(ledger, key, input_hash="h1"), "first")
    assert await ledger.settled(key, "h2") is None
    await settle(ledger, key, await claim(ledger, key, input_hash="h2"), "second")
    answers = [await ledger.settled(key, one) for one in ("h1", "h2")]
    assert [one.text for one in answers if one is not None] == ["first", "second"]
    assert await states(ledger, key) == ["settled", "settled"]


async def test_an_erased_answer_says_so(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "plan")
    await settle(ledger, key, await claim(ledger, key))
    await destroy_key(pool, f"process:{key.process}")
    with pytest.raises(TextErased):
        await ledger.settled(key, "h1")


async def test_each_attempt_that_ends_is_counted_once_in_the_budget_of_its_tree(pool: Pool, announce: Announce) -> None:
    ledger, budgets, process = Ledger(pool), Budgets(pool), await announce()
    key, cost = CallKey(process, "observe", round=1), Decimal("0.0125")
    await budgets.open(process)
    most = Reservation(tokens=500, cost=Decimal(1))
    lost, again, failed = [await claim(ledger, key, reserve=most) for _ in range(3)]
    assert (await budgets.get(process)).reserved_tokens == 500, (
        "a call holds one reservation, however often it is claimed"
    )
    await ledger.fail(key, failed, "cut", usage=USAGE, cost=cost)
    budget = await budgets.get(process)
    assert (budget.reserved_tokens, budget.settled_tokens, budget.settled_cost) == (0, USAGE.total, cost)
    for attempt in (lost, again, lost, again):
        await settle(ledger, key, attempt)
    budget, ledger_says = await budgets.get(process), await ledger.usage(process)
    assert (budget.reserved_tokens, budget.reserved_cost) == (0, Decimal(0))
    assert (budget.settled_tokens, budget.settled_cost) == (ledger_says.tokens, ledger_says.cost)
    assert budget.settled_tokens == 3 * USAGE.total


async def test_a_claim_finds_a_settled_answer_or_the_repair_of_it(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "project", round=1, alias="P01")
    repair = replace(key, reask=1)
    mended = await settle(ledger, repair, await claim(ledger, repair, input_hash="unreadable"), "mended")

    async def again(input_hash: str, repair_hash: str = "") -> CallClaim | SettledCall | WaitingCall | RepliedCall:
        return await ledger.claim(
            key, input_hash=input_hash, repair_hash=repair_hash, engine="e", model="m", worker="w2"
        )

    assert await again("h1", "unreadable") == mended
    claimed = await again("h1")
    assert isinstance(claimed, CallClaim)
    given = await settle(ledger, key, claimed)
    assert await again("h1", "unreadable") == given, "the first answer goes before its repair"
    assert isinstance(await again("h2"), CallClaim), "another input is another question"


async def test_concurrent_claims_never_reserve_more_than_the_budget_has(pool: Pool, announce: Announce) -> None:
    ledger, budgets, process = Ledger(pool), Budgets(pool), await announce()
    await budgets.open(process, tokens=1_000)

    async def ask(number: int) -> CallClaim | SettledCall | WaitingCall | RepliedCall:
        key = CallKey(process, "project", round=1, alias=f"P{number:02}")
        most = Reservation(tokens=300, keep=(50, Decimal(0)))
        return await ledger.claim(key, input_hash="h", engine="e", model="m", worker="w", reserve=most)

    asked = await asyncio.gather(*(ask(number) for number in range(10)), return_exceptions=True)
    refused = [one for one in asked if isinstance(one, BudgetExceeded)]
    assert len(refused) == 7 and all(one.in_flight for one in refused)
    assert len(await ledger.calls(process)) == 3, "what has no room is not claimed"
    assert (await budgets.get(process)).reserved_tokens == 900


async def test_nothing_is_settled_for_an_owner_who_was_erased_meanwhile(pool: Pool, announce: Announce) -> None:
    ledger, key = Ledger(pool), CallKey(await announce(), "plan")
    claimed = await claim(ledger, key)
    await settle(ledger, replace(key, revision=2), await claim(ledger, replace(key, revision=2)))  # the owner has a key
    with_key = await claim(ledger, replace(key, revision=3))
    assert claimed.data_key is None and with_key.data_key is not None
    await destroy_key(pool, f"process:{key.process}")
    with pytest.raises(TextErased):
        await settle(ledger, replace(key, revision=3), with_key)
    assert [one.state for one in await ledger.calls(key.process)] == ["claimed", "settled", "claimed"]
