"""One budget per process tree: the most a call can cost is reserved before it, its real cost settled after it (docs/protocol.md §10)."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, RecordsError, Repository, session


class BudgetUnknown(RecordsError):
    """No budget was opened for this root."""


class BudgetExceeded(RecordsError):
    """A limit would be passed by what is settled, reserved and asked for. Nothing was reserved.

    `in_flight`: there would be room without the reservations of others, which may still be released.
    """

    in_flight = False


class Reservation(NamedTuple):
    """The most that a call can use, tokens and US dollars, and what the budget must have left beside it."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    keep: tuple[int, Decimal] = (0, Decimal(0))


NOTHING_RESERVED: Final = Reservation()


class Budget(Value):
    """Limits, reservations and settled amounts of one tree, in tokens of every kind and in US dollars. None: no limit.

    `person`: whose day budget counts too; None for a process that was started on the machine.
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
        """Whether so much more stays within both limits. `beside_reserved`: reservations count as spent."""
        held_tokens, held_cost = (self.reserved_tokens, self.reserved_cost) if beside_reserved else (0, Decimal(0))
        return (self.limit_tokens is None or self.settled_tokens + held_tokens + tokens <= self.limit_tokens) and (
            self.limit_cost is None or self.settled_cost + held_cost + cost <= self.limit_cost
        )

    def exceeded_by(self, asked: Reservation) -> BudgetExceeded:
        """The error of a reservation that has no room."""
        full = BudgetExceeded(
            f"the budget of {self.root_id} has no room for {asked.tokens} tokens and {asked.cost:f} USD: "
            f"spent {self.settled_tokens} and {self.settled_cost:f}, "
            f"reserved {self.reserved_tokens} and {self.reserved_cost:f}, "
            f"limits {self.limit_tokens} and {self.limit_cost}"
        )
        full.in_flight = self.has_room(asked.tokens + asked.keep[0], asked.cost + asked.keep[1], beside_reserved=False)
        return full


class Budgets(Repository):
    """The budgets of all trees, by the id of the root process, and of forks by their own. Changes of one budget are serialised by a row lock."""

    async def open(
        self, root_id: str, *, tokens: int | None = None, cost: Decimal | None = None, person: str | None = None
    ) -> Budget:
        """Open the budget of a tree; what the tree has used already counts. One that is open already is not changed."""
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
        """Replace the limits; one that is None is not changed. Raises `BudgetUnknown`."""
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
        """Raises `BudgetUnknown`."""
        return _known(root_id, await self._one(Budget, "SELECT * FROM budgets WHERE root_id = %s", [root_id]))

    async def of_process(self, process_id: str) -> Budget | None:
        """The budget that a process uses, which is its root's, and of a fork its own; None when its tree has no budget."""
        return await self._one(
            Budget,
            "SELECT b.* FROM budgets b JOIN processes p ON p.budget_id = b.root_id WHERE p.id = %s",
            [process_id],
        )

    async def release(self, process_id: str, key: str) -> None:
        """Release what a process of the tree has reserved for `key`, if anything."""
        async with session(self._pool) as connection:
            await settle(connection, process_id, key)


async def settle(
    connection: Connection, process_id: str, key: str | None = None, *, tokens: int = 0, cost: Decimal = Decimal(0)
) -> None:
    """Release what a process has reserved for `key`, and count what was really used, even beyond a limit.

    Part of the caller's transaction. `key` None: everything that this process has reserved. Where the process's tree has
    no budget yet, nothing is counted: `Budgets.open` does it later.
    """
    await connection.execute("SELECT settle_budget(%s, %s, %s, %s)", [process_id, key, tokens, cost])


def _known(root_id: str, budget: Budget | None) -> Budget:
    if budget is None:
        raise BudgetUnknown(f"no budget was opened for {root_id!r}")
    return budget
