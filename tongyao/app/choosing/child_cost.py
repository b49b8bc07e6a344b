"""The cost of a child process, shown to the demander before they decide on a residual tension."""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field

from tongyao.app.authorization import ProcessAccess
from tongyao.app.context import AppContext
from tongyao.protocol.model.value import Value

_CENT = Decimal("0.01")


class ChildCost(Value):
    """The estimate in US dollars. A child runs the same steps, so the parent's cost is the estimate."""

    usual: Decimal = Field(description="What the parent has cost so far.")
    left: Decimal | None = Field(description="What the budget of the tree has left; None: it has no limit.")


async def child_cost(context: AppContext, access: ProcessAccess) -> ChildCost:
    """Return the estimate for any child of this process."""
    row = access.process
    budget = await context.repositories.budgets.of_process(row.id)
    left = None
    if budget is not None and budget.limit_cost is not None:
        left = max(Decimal(0), budget.limit_cost - budget.settled_cost - budget.reserved_cost).quantize(_CENT)
    return ChildCost(usual=row.cost.quantize(_CENT), left=left)
