"""The residual tensions of a process that has ended for which a process can still be started (docs/protocol.md §7.7)."""

from __future__ import annotations

from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.settings import ProcessSettings, Residuals
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.plans.lineage import child_id, hole_id
from tongyao.records.process.announcements import NotAnnounced, residual_of
from tongyao.records.process.processes import ProcessRow
from tongyao.records.repositories import Repositories


async def open_residuals(repositories: Repositories, row: ProcessRow) -> list[Residual]:
    """Of the plan that holds, with the holes of those who declined it, under aliases. Empty while the process runs."""
    settings = ProcessSettings.model_validate(row.settings)
    if row.phase != Phase.COMPLETED or settings.residuals is Residuals.OFF or row.depth >= settings.depth_limit:
        return []
    record = await repositories.record(row)
    if not record.plans:
        return []
    plan = record.plans[-1]
    declined = [alias for alias, answer in sorted(record.answers.items()) if answer == "decline"]
    started = {child.id for child in await repositories.lineage.children(row.id)}
    found = []
    for residual in [*(one.id for one in plan.residuals), *(hole_id(plan.revision, alias) for alias in declined)]:
        if child_id(row.id, residual) in started:
            continue
        try:
            found.append(await residual_of(repositories, row.id, residual))
        except NotAnnounced:
            continue  # who declined had no part in the plan
    names = read_access.anonymizer(record)
    return [names.model(one) for one in found]
