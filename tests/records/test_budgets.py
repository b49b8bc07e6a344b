"""One budget for a tree: reserved before, settled after, never beyond the limit by what was reserved."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from tests.records.conftest import Announce, NewId
from tongyao.records.budgets import Budget, Budgets, settle
from tongyao.records.database import Pool, session, transaction
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import NewProcess, Processes
from tongyao.records.reconcile import Reconciliation


def sums(budget: Budget) -> tuple[object, ...]:
    return (budget.reserved_tokens, budget.reserved_cost, budget.settled_tokens, budget.settled_cost)


async def reserve(pool: Pool, root: str, key: str, *, tokens: int = 0, cost: Decimal = Decimal(0)) -> bool | None:
    """As claiming a call does. None: this root has no budget."""
    async with session(pool) as connection:
        cursor = await connection.execute(
            "SELECT reserve_budget(%s, %s, %s, %s, 0, 0) AS reserved", [root, key, tokens, cost]
        )
        row = await cursor.fetchone()
    reserved: bool | None = row["reserved"] if row else None
    return reserved


async def used(pool: Pool, process: str, tokens: int = 0, cost: Decimal = Decimal(0)) -> None:
    async with transaction(pool) as connection:
        await settle(connection, process, f"{process}/call", tokens=tokens, cost=cost)


async def test_what_is_reserved_is_freed_and_what_was_used_is_counted(pool: Pool, announce: Announce) -> None:
    budgets, root = Budgets(pool), await announce()
    await budgets.open(root, tokens=1_000, cost=Decimal("1"))
    await reserve(pool, root, f"{root}/call", tokens=800, cost=Decimal("0.5"))
    assert sums(await budgets.get(root)) == (800, Decimal("0.5"), 0, 0)
    await used(pool, root, 300, Decimal("0.1"))
    assert sums(await budgets.get(root)) == (0, 0, 300, Decimal("0.1"))


async def test_opening_reserving_and_releasing_again_changes_nothing(pool: Pool, announce: Announce) -> None:
    budgets, root = Budgets(pool), await announce()
    await budgets.open(root, tokens=1_000)
    await budgets.open(root, tokens=5)
    for _ in range(3):
        await reserve(pool, root, f"{root}/call", tokens=600)
    assert (await budgets.get(root)).reserved_tokens == 600
    for _ in range(3):
        await budgets.release(root, f"{root}/call")
    budget = await budgets.get(root)
    assert budget.limit_tokens == 1_000
    assert sums(budget) == (0, 0, 0, 0)


async def test_another_attempt_reserves_again_and_both_count(pool: Pool, announce: Announce) -> None:
    budgets, root = Budgets(pool), await announce()
    await budgets.open(root, tokens=1_000)
    for tokens in (100, 250):
        await reserve(pool, root, f"{root}/call", tokens=600)
        await used(pool, root, tokens)
    assert sums(await budgets.get(root)) == (0, 0, 350, 0)


async def test_when_a_process_ends_what_it_holds_is_released_and_what_others_hold_is_not(
    pool: Pool, announce: Announce
) -> None:
    budgets, root = Budgets(pool), await announce()
    child = f"{root}.1-1"
    await Processes(pool).create(
        NewProcess(id=child, demander="somebody", language="en", intent_text_id=None, root_id=root, parent_id=root)
    )
    await budgets.open(root, tokens=1_000)
    for key in (f"{root}/call", f"{child}/one", f"{child}/two"):
        await reserve(pool, root, key, tokens=100)
    await Journal(pool).set_ended(child, "failed")
    assert (await budgets.get(root)).reserved_tokens == 100
    await reserve(pool, root, f"{child}/late", tokens=100)  # a step that had not heard of the end
    await Reconciliation(pool).orphaned_calls()
    assert (await budgets.get(root)).reserved_tokens == 100


@pytest.mark.parametrize(("tokens", "cost"), [(201, Decimal("0.1")), (10, Decimal("0.201"))], ids=["tokens", "dollars"])
async def test_what_would_pass_a_limit_is_refused_whole(pool: Pool, new_id: NewId, tokens: int, cost: Decimal) -> None:
    budgets, root = Budgets(pool), new_id("root")
    await budgets.open(root, tokens=1_000, cost=Decimal("1"))
    await reserve(pool, root, "first", tokens=800, cost=Decimal("0.8"))
    before = await budgets.get(root)
    assert await reserve(pool, root, "second", tokens=tokens, cost=cost) is False
    assert await budgets.get(root) == before
    await reserve(pool, root, "second", tokens=200, cost=Decimal("0.2"))


async def test_concurrent_reservations_never_pass_the_limit_together(pool: Pool, new_id: NewId) -> None:
    budgets, root = Budgets(pool), new_id("root")
    await budgets.open(root, tokens=1_000)

    granted = await asyncio.gather(*(reserve(pool, root, f"call {number}", tokens=300) for number in range(10)))
    assert granted.count(True) == 3
    assert (await budgets.get(root)).reserved_tokens == 900


async def test_a_limit_can_be_raised_and_no_limit_does_not_limit(pool: Pool, new_id: NewId) -> None:
    budgets, root, free = Budgets(pool), new_id("root"), new_id("root")
    await budgets.open(root, tokens=10, cost=Decimal("1"))
    assert (await budgets.set_limits(root, tokens=500)).limit_cost == Decimal("1")
    await reserve(pool, root, "call", tokens=500)
    await budgets.open(free)
    await reserve(pool, free, "call", tokens=10**12, cost=Decimal("1e6"))


async def test_without_a_budget_or_a_reservation_there_is_nothing_to_do(pool: Pool, announce: Announce) -> None:
    budgets, root = Budgets(pool), await announce()
    assert await reserve(pool, root, "call", tokens=1) is None
    await used(pool, root, 1)
    await budgets.release(root, f"{root}/call")
