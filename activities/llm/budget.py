"""Budgets, one per tree: reserves the most that a call can cost (docs/protocol.md §10.2). The ledger settles the actual cost."""

from __future__ import annotations

import asyncio
import time

from tongyao.llm.engine import Bound, CallKey
from tongyao.llm.errors import DayBudgetUsed, OutOfBudget
from tongyao.protocol.contracts.process import ActivityInput
from tongyao.records.budgets import BudgetExceeded, Budgets
from tongyao.records.day_budgets import DayBudgets, UsedToday
from tongyao.records.model_calls import Ledger, call_name

POLL_SECONDS = 0.5
"""How often a call looks again whether calls in flight have released what they did not use."""

FRESH_SECONDS = 5.0
"""How old what is known of a day's use may be. A day budget can be passed by the calls of so many seconds."""
MOST_SEEN = 1_000
"""People whose use is remembered at a time."""


class BudgetReservations:
    """What the trees of processes may still spend. For a tree without a budget nothing is reserved."""

    def __init__(self, budgets: Budgets, ledger: Ledger, *, day: DayBudgets | None = None) -> None:
        """`day`: what may be used per day (UTC); None: no limit."""
        self._budgets, self._ledger, self._day = budgets, ledger, day
        self._seen: dict[str, tuple[float, UsedToday]] = {}

    async def set_limits(self, what: ActivityInput) -> None:
        """Open the budget of a tree, or bring its limits to what the demander set last."""
        if what.token_budget is None and what.cost_budget is None:
            return
        budget = await self._budgets.open(what.process_id, tokens=what.token_budget, cost=what.cost_budget)
        if (budget.limit_tokens, budget.limit_cost) != (what.token_budget, what.cost_budget):
            await self._budgets.set_limits(what.process_id, tokens=what.token_budget, cost=what.cost_budget)

    async def root(self, process_id: str) -> str | None:
        """The root whose budget pays for the calls of a process; None where its tree has none.

        Raises `DayBudgetUsed` when the day's budget of the installation, or of whoever started the tree, is used up.
        """
        budget = await self._budgets.of_process(process_id)
        await self._within_the_day(budget.person if budget else None)
        return budget.root_id if budget else None

    async def reserve(self, root: str, key: CallKey, bound: Bound, *, seconds: float, keep: Bound) -> None:
        """Reserve `bound` for `key` such that `keep` is still left.

        Where room is lacking only because of calls in flight, waits for them, at most `seconds`. Raises `OutOfBudget`.
        """
        until = time.monotonic() + seconds
        while True:
            try:
                return await self._budgets.reserve(
                    root, call_name(key), tokens=bound.tokens, cost=bound.cost, keep=(keep.tokens, keep.cost)
                )
            except BudgetExceeded as full:
                if not full.in_flight or time.monotonic() >= until:
                    raise OutOfBudget(str(full)) from None
            await asyncio.sleep(POLL_SECONDS)

    async def release(self, key: CallKey) -> None:
        """Release what is reserved for a call that did not end: it was cancelled, or was never made."""
        await self._budgets.release(key.process, call_name(key))

    async def _within_the_day(self, person: str | None) -> None:
        if self._day is None:
            return
        used = await self._used_today(person or "")
        over = used.over(self._day, person=person is not None)
        if over is not None:
            raise DayBudgetUsed(f"the day budget of the {over} is used up: calls are made again tomorrow (UTC)")

    async def _used_today(self, person: str) -> UsedToday:
        """What the ledger said at most `FRESH_SECONDS` ago: the sum goes over all calls of the day, too many for each call."""
        now = time.monotonic()
        at, used = self._seen.get(person, (float("-inf"), UsedToday()))
        if now - at > FRESH_SECONDS:
            used = await self._ledger.used_today(person)
            if len(self._seen) > MOST_SEEN:
                self._seen.clear()
            self._seen[person] = now, used
        return used
