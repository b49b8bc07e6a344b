"""What model calls may use in one day (UTC), all together and for the processes of one person (docs/protocol.md §10.2)."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tongyao.protocol.model.value import Value


class DayBudgets(BaseModel):
    """The settings `TONGYAO_DAY__…`. Tokens are of every kind, cached ones included."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cost: Decimal = Field(default=Decimal(100), gt=0, description="US dollars a day (UTC), all processes together.")
    tokens: int = Field(default=50_000_000, ge=1, description="Tokens a day (UTC), all processes together.")
    person_cost: Decimal = Field(
        default=Decimal(20), gt=0, description="US dollars a day (UTC) of the processes that one person started."
    )
    person_tokens: int = Field(
        default=10_000_000, ge=1, description="Tokens a day (UTC) of the processes that one person started."
    )


class UsedToday(Value):
    """What the calls claimed on this day (UTC) have used so far. Calls in flight count once they have ended."""

    cost: Decimal = Decimal(0)
    tokens: int = 0
    person_cost: Decimal = Decimal(0)
    person_tokens: int = 0

    def over(self, budgets: DayBudgets, *, person: bool) -> Literal["installation", "person"] | None:
        """Whose day budget is used up, if any. `person`: the person's counts too."""
        if self.cost >= budgets.cost or self.tokens >= budgets.tokens:
            return "installation"
        if person and (self.person_cost >= budgets.person_cost or self.person_tokens >= budgets.person_tokens):
            return "person"
        return None
