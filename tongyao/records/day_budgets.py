"""Daily limits (UTC) for model calls: for all processes together, and for the processes of one person (docs/protocol.md §10.2)."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tongyao.protocol.model.value import Value


class DayBudgets(BaseModel):
    """The settings `TONGYAO_DAY__…`. Tokens of every kind count, also cached ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cost: Decimal = Field(
        default=Decimal(100), gt=0, description="US dollars per day (UTC) for all processes together."
    )
    tokens: int = Field(default=50_000_000, ge=1, description="Tokens per day (UTC) for all processes together.")
    person_cost: Decimal = Field(
        default=Decimal(20), gt=0, description="US dollars per day (UTC) for the processes that one person started."
    )
    person_tokens: int = Field(
        default=10_000_000, ge=1, description="Tokens per day (UTC) for the processes that one person started."
    )


class UsedToday(Value):
    """Usage of the calls that were claimed on this day (UTC). Calls in flight count after they have ended."""

    cost: Decimal = Decimal(0)
    tokens: int = 0
    person_cost: Decimal = Decimal(0)
    person_tokens: int = 0

    def over(self, budgets: DayBudgets, *, person: bool) -> Literal["installation", "person"] | None:
        """Return the scope of a day budget that is used up, if there is one. `person`: the person's budget counts too."""
        if self.cost >= budgets.cost or self.tokens >= budgets.tokens:
            return "installation"
        if person and (self.person_cost >= budgets.person_cost or self.person_tokens >= budgets.person_tokens):
            return "person"
        return None
