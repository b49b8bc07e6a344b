"""One budget per process tree (docs/protocol.md §10).

Before a call the most that it can cost is reserved. After the call its real cost is settled.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, RecordsError, Repository, session


class BudgetUnknown(RecordsError):
    """No budget was opened for this root process."""


class BudgetExceeded(RecordsError):
    """The settled, reserved and requested amounts together exceed a limit. Nothing was reserved.

    `in_flight`: there would be room without reservations of other calls, which may still be released.
    """

    in_flight = False


class Reservation(NamedTuple):
    """The most that a call can use, in tokens and US dollars. `keep`: the amount that must remain in the budget besides."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    keep: tuple[int, Decimal] = (0, Decimal(0))


NOTHING_RESERVED: Final = Reservation()


class Budget(Value):
    """Limits, reservations and settled amounts of one tree, in tokens of every kind and in US dollars. A limit of None
    means no limit.

    `person`: the person whose day budget also applies. None for a process that was started on the machine.
    """

    root_id: str
    person: str | None
    limit_tokens: int | None
    limit_cost: Decimal | None
    reserved_tokens: int
    reserved_cost: Decimal
    settled_tokens: int
    settled_cost: Decimal

    def has_room(self, tokens: int, cost: Decimal, *, beside_reserved: bool = True) -> bool:
        """Whether both limits allow this additional amount. `beside_reserved`: whether reservations count as spent."""
        held_tokens, held_cost = (self.reserved_tokens, self.reserved_cost) if beside_reserved else (0, Decimal(0))
        return (self.limit_tokens is None or self.settled_tokens + held_tokens + tokens <= self.limit_tokens) and (
            self.limit_cost is None or self.settled_cost + held_cost + cost <= self.limit_cost
        )

    def exceeded_by(self, asked: Reservation) -> BudgetExceeded:
        """Make the error for a reservation without room."""
        full = BudgetExceeded(
            f"the budget of {self.root_id} has no room for {asked.tokens} tokens and {asked.cost:f} USD: "
            f"spent {self.settled_tokens} and {self.settled_cost:f}, "
            f"reserved {self.reserved_tokens} and {self.reserved_cost:f}, "
            f"limits {self.limit_tokens} and {self.limit_cost}"
        )
        full.in_flight = self.has_room(asked.tokens + asked.keep[0], asked.cost + asked.keep[1], beside_reserved=False)
        return full


class Budgets(Repository):
    """The budgets of all trees, by the id of the root process. A fork has its own budget, under its own id.

    A row lock serialises the changes of one budget.
    """

    async def open(
        self, root_id: str, *, tokens: int | None = None, cost: Decimal | None = None, person: str | None = None
    ) -> Budget:
        """Open the budget of a tree. Amounts that the tree has already used count. No effect if it is open."""
        await self._run(
            """INSERT INTO budgets (root_id, limit_tokens, limit_cost, person, settled_tokens, settled_cost)
               SELECT %(root)s, %(tokens)s, %(cost)s, %(person)s,
                   COALESCE(sum(m.input_tokens + m.cache_write_tokens + m.cache_read_tokens + m.output_tokens), 0),
                   COALESCE(sum(m.cost), 0)
               FROM model_calls m JOIN processes p ON p.id = m.process_id WHERE p.budget_id = %(root)s
               ON CONFLICT (root_id) DO NOTHING""",
            {"root": root_id, "tokens": tokens, "cost": cost, "person": person},
        )
        return await self.get(root_id)

    async def set_limits(self, root_id: str, *, tokens: int | None = None, cost: Decimal | None = None) -> Budget:
        """Replace the limits. A limit of None stays unchanged. Raises `BudgetUnknown`."""
        return _known(
            root_id,
            await self._one(
                Budget,
                """UPDATE budgets SET limit_tokens = COALESCE(%s, limit_tokens), limit_cost = COALESCE(%s, limit_cost)
                   WHERE root_id = %s RETURNING *""",
                [tokens, cost, root_id],
            ),
        )

    async def get(self, root_id: str) -> Budget:
        """Return the budget of a root process. Raises `BudgetUnknown`."""
        return _known(root_id, await self._one(Budget, "SELECT * FROM budgets WHERE root_id = %s", [root_id]))

    async def of_process(self, process_id: str) -> Budget | None:
        """The budget of a process: its root's budget, or a fork's own budget. None if the tree has no budget."""
        return await self._one(
            Budget,
            "SELECT b.* FROM budgets b JOIN processes p ON p.budget_id = b.root_id WHERE p.id = %s",
            [process_id],
        )

    async def release(self, process_id: str, key: str) -> None:
        """Release the amount that a process of the tree has reserved for `key`, if there is one."""
        async with session(self._pool) as connection:
            await settle(connection, process_id, key)


async def settle(
    connection: Connection, process_id: str, key: str | None = None, *, tokens: int = 0, cost: Decimal = Decimal(0)
) -> None:
    """Release the reservation of a process for `key`, and count the amount really used, even if it exceeds a limit.

    Runs in the caller's transaction. `key` None: all reservations of this process. If the tree has no budget yet,
    nothing is counted now; `Budgets.open` counts it later.
    """
    await connection.execute("SELECT settle_budget(%s, %s, %s, %s)", [process_id, key, tokens, cost])


def _known(root_id: str, budget: Budget | None) -> Budget:
    if budget is None:
        raise BudgetUnknown(f"no budget was opened for {root_id!r}")
    return budget


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
