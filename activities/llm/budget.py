"""Limits of model calls: the budget of a tree, and the day budgets (docs/protocol.md §10.2).

The ledger reserves and counts the tokens and cost of each call (`tongyao.records.model_calls`).
"""

from __future__ import annotations

import time

from tongyao.llm.errors import DayBudgetUsed
from tongyao.protocol.contracts.process import ActivityInput
from tongyao.records.budgets import Budgets, DayBudgets, UsedToday
from tongyao.records.model_calls import Ledger
from tongyao.records.process.process_rows import StepRow

FRESH_SECONDS = 5.0
"""Seconds for which a day's sum of tokens and cost is cached. Calls during this time can exceed a day budget."""
MOST_SEEN = 1_000
"""Most entries of each cache: the sums of the day by person, and the paying persons by process."""


class SpendingLimits:
    """Checks the budgets of trees of processes, and the day budgets."""

    def __init__(self, budgets: Budgets, ledger: Ledger, *, day: DayBudgets | None = None) -> None:
        """`day`: the limits per day (UTC); None means no limit."""
        self._budgets, self._ledger, self._day = budgets, ledger, day
        self._seen: dict[str, tuple[float, UsedToday]] = {}
        self._payers: dict[str, str | None] = {}

    async def set_for(self, what: ActivityInput, row: StepRow) -> None:
        """Open the budget of the tree, or set its limits to the demander's last values. `row`: the process's row."""
        wanted = (what.token_budget, what.cost_budget)
        if wanted == (None, None) or (row.has_budget and (row.limit_tokens, row.limit_cost) == wanted):
            return
        if not row.has_budget:
            await self._budgets.open(what.process_id, tokens=what.token_budget, cost=what.cost_budget)
        await self._budgets.set_limits(what.process_id, tokens=what.token_budget, cost=what.cost_budget)

    async def check_day(self, process_id: str) -> None:
        """Raise `DayBudgetUsed` if the day budget of the installation, or of the person who pays, is used up."""
        if self._day is None:
            return
        person = await self._payer(process_id)
        over = (await self._used_today(person or "")).over(self._day, person=person is not None)
        if over is not None:
            raise DayBudgetUsed(f"the day budget of the {over} is used up: calls are made again tomorrow (UTC)")

    async def _payer(self, process_id: str) -> str | None:
        """Return the person who started the tree and pays; None if the tree was started on the machine."""
        if process_id not in self._payers:
            budget = await self._budgets.of_process(process_id)
            if budget is None:
                return None
            if len(self._payers) > MOST_SEEN:
                self._payers.clear()
            self._payers[process_id] = budget.person
        return self._payers[process_id]

    async def _used_today(self, person: str) -> UsedToday:
        """Return the day's tokens and cost, at most `FRESH_SECONDS` old. To sum them for each call would be too
        slow."""
        now = time.monotonic()
        at, used = self._seen.get(person, (float("-inf"), UsedToday()))
        if now - at > FRESH_SECONDS:
            used = await self._ledger.used_today(person)
            if len(self._seen) > MOST_SEEN:
                self._seen.clear()
            self._seen[person] = now, used
        return used
