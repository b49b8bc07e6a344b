"""The residual tensions of an ended process for which a new process can be started (docs/protocol.md §7.7)."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field

from tongyao.app.authorization import ProcessAccess
from tongyao.app.context import AppContext
from tongyao.protocol.model.ids import hole_id
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.process_settings import ProcessSettings, Residuals
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Value
from tongyao.records.process.announcements import NotAnnounced, has_room_for_child, not_asked_before, residual_of
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.repositories import Repositories

Closed = Literal["", "off", "depth", "budget"]
"""The reason why no process can be started for any residual: the settings, the number of generations, or the budget."""


async def open_residuals(repositories: Repositories, row: ProcessRow) -> list[Residual]:
    """Return the residuals of the current plan, and the holes of people who declined it. Empty while the process runs.

    Residuals that have a child, or that are nearly the same as the tension of a child, are left out.
    """
    return [] if _closed_by_settings(row) else await left_open(repositories, row)


async def left_open(repositories: Repositories, row: ProcessRow) -> list[Residual]:
    """Like `open_residuals`, but not empty if the settings forbid children."""
    if row.phase != Phase.COMPLETED:
        return []
    record = await repositories.record(row)
    if not record.plans:
        return []
    left = [await residual_of(repositories, row.id, residual.id) for residual in record.plans[-1].residuals]
    left += await _holes(repositories, row, record)
    return await not_asked_before(repositories, row.id, left)


async def holes(repositories: Repositories, row: ProcessRow) -> list[Residual]:
    """Return the holes of the current plan, whether or not a child was started for them."""
    return await _holes(repositories, row, await repositories.record(row))


async def _holes(repositories: Repositories, row: ProcessRow, record: Record) -> list[Residual]:
    if not record.plans:
        return []
    declined = [alias for alias, answer in sorted(record.answers.items()) if answer == "decline"]
    found = []
    for alias in declined:
        try:
            found.append(await residual_of(repositories, row.id, hole_id(record.plans[-1].revision, alias)))
        except NotAnnounced:
            continue  # the person who declined had no part in the plan
    return found


async def closed_because(repositories: Repositories, row: ProcessRow) -> Closed:
    """Return the reason why no child of this process can be started. Empty if a child can be started."""
    return _closed_by_settings(row) or ("" if await has_room_for_child(repositories, row.root_id) else "budget")


def _closed_by_settings(row: ProcessRow) -> Closed:
    settings = ProcessSettings.model_validate(row.settings)
    if settings.residuals is Residuals.OFF:
        return "off"
    return "depth" if row.depth >= settings.depth_limit else ""


_CENT = Decimal("0.01")


class ChildCost(Value):
    """The estimated cost of a child in US dollars: the parent's cost, because a child runs the same steps."""

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
