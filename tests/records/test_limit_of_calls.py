"""The limit of model calls holds for all workers together, and a worker that dies or stops gives its slots back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tongyao.llm.engine import CallKey, Usage
from tongyao.records.database import Pool, one_at_a_time, open_pool
from tongyao.records.model_calls import CallClaim, Ledger, NoSlot
from tongyao.records.process.process_rows import NewProcess, Processes


@pytest.fixture
async def own_pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url, max_size=4)
    yield pool
    await pool.close()


@pytest.fixture
async def other_pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url, max_size=4)
    yield pool
    await pool.close()


async def new_call(pool: Pool) -> CallKey:
    process = f"process-{uuid4().hex[:12]}"
    await Processes(pool).create(NewProcess(id=process, demander="d", language="en", intent_text_id=None))
    return CallKey(process, "project", round=1, alias="P01")


async def claim(
    pool: Pool, key: CallKey, *, most: int | None, worker: str = "w1", seconds: float = 3600
) -> CallClaim | None:
    """Claim a call, or return None if there is no slot."""
    try:
        claimed = await Ledger(pool).claim(
            key, input_hash="h", engine="e", model="m", worker=worker, seconds=seconds, most=most
        )
    except NoSlot:
        return None
    assert isinstance(claimed, CallClaim)
    return claimed


async def test_two_workers_that_claim_at_once_share_one_limit(own_pool: Pool, other_pool: Pool) -> None:
    keys = [await new_call(own_pool) for _ in range(12)]
    claims = await asyncio.gather(
        *(claim((own_pool, other_pool)[n % 2], key, most=3, worker=f"w{n % 2}") for n, key in enumerate(keys))
    )
    taken = [(key, claimed) for key, claimed in zip(keys, claims, strict=True) if claimed]
    assert len(taken) == 3
    ledger, late = Ledger(own_pool), await new_call(own_pool)
    with pytest.raises(NoSlot, match="3 model calls"):
        await ledger.claim(late, input_hash="h", engine="e", model="m", worker="w1", most=3)
    assert await ledger.calls(late.process) == [], "a call without a slot is not claimed"
    await ledger.fail(*taken[0], "overloaded")
    assert await claim(other_pool, late, most=3)


async def test_the_slot_of_a_killed_worker_comes_free_with_the_next_attempt_or_after_its_time(own_pool: Pool) -> None:
    killed, other = await new_call(own_pool), await new_call(own_pool)
    assert await claim(own_pool, killed, most=1)
    assert not await claim(own_pool, other, most=1)
    assert await claim(own_pool, killed, most=1, worker="w2"), "its own lost attempt is in nobody's way"
    assert await claim(own_pool, killed, most=1, worker="w3", seconds=0)
    assert await claim(own_pool, other, most=1), "its time is over"


async def test_a_released_call_is_orphaned_and_holds_no_slot(own_pool: Pool) -> None:
    ledger, cancelled, other = Ledger(own_pool), await new_call(own_pool), await new_call(own_pool)
    await claim(own_pool, cancelled, most=1)
    await ledger.release(cancelled, worker="w1")
    assert [call.state for call in await ledger.calls(cancelled.process)] == ["orphaned"]
    assert await claim(own_pool, other, most=1)


async def test_a_worker_that_lost_its_call_to_another_does_not_release_the_others_attempt(own_pool: Pool) -> None:
    ledger, key = Ledger(own_pool), await new_call(own_pool)
    await claim(own_pool, key, most=1)
    await claim(own_pool, key, most=1, worker="w2")
    await ledger.release(key, worker="w1")
    assert [call.state for call in await ledger.calls(key.process)] == ["orphaned", "claimed"]
    assert not await claim(own_pool, await new_call(own_pool), most=1)


async def test_a_late_cancellation_leaves_the_next_attempt_of_the_same_worker(own_pool: Pool) -> None:
    ledger, key = Ledger(own_pool), await new_call(own_pool)
    await claim(own_pool, key, most=1)
    await claim(own_pool, key, most=1)
    await ledger.release(key, worker="w1", attempt=1)
    assert [call.state for call in await ledger.calls(key.process)] == ["orphaned", "claimed"]


async def test_without_a_limit_no_call_waits_for_another(own_pool: Pool, other_pool: Pool) -> None:
    limited, free = await new_call(own_pool), await new_call(own_pool)
    async with asyncio.timeout(60), one_at_a_time(own_pool, "a claim whose transaction is open"):
        assert await claim(own_pool, limited, most=1)
        assert await claim(other_pool, free, most=None)


async def test_a_settled_answer_needs_no_slot(own_pool: Pool) -> None:
    ledger, key = Ledger(own_pool), await new_call(own_pool)
    claimed = await claim(own_pool, key, most=1)
    assert claimed
    settled = await ledger.settle(
        key, claimed, owner="o", text="t", draft_json="{}", engine="e", model="m", usage=Usage(), cost=None
    )
    assert await claim(own_pool, await new_call(own_pool), most=1)
    assert await ledger.claim(key, input_hash="h", engine="e", model="m", worker="w2", most=1) == settled
