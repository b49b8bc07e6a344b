"""The duties of maintenance (docs/operations.md §11). All of them are bounded and may be repeated at any time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.client import Client

from tongyao.app.context import AppContext
from tongyao.app.operators.reconcile import ReconcileReport, mend_drift, sweep
from tongyao.app.people.erasure import finish_erasures
from tongyao.app.standing_look import look
from tongyao.app.temporal_answers import delete_history
from tongyao.protocol.contracts.maintenance import MAINTENANCE, Duty, DutyReport
from tongyao.records.maintenance import Backups, DutyFailed, delete_old_rows

ERASURES_AT_ONCE: Final = 20
"""Limits of one run: the number of people, and the seconds to wait for running steps of each person."""
ERASURE_SECONDS: Final = 60.0

HISTORY_DAYS: Final = 7
"""Age in days after which histories of duties are deleted. Temporal would keep them as long as those of processes."""
MOST_HISTORIES: Final = 2_000

RunDuty = Callable[[], Awaitable[DutyReport]]


def duties(context: AppContext, *, keep: timedelta, most_backup_age: timedelta | None) -> Mapping[Duty, RunDuty]:
    """Return the function of each duty. `keep`: age at which ended notifications, sessions and drafts are deleted.
    `most_backup_age`: None if no backup is expected."""

    async def sweeping() -> DutyReport:
        return _counts(await sweep(context), "started", "orphaned_calls")

    async def reconciling() -> DutyReport:
        found = await mend_drift(context)
        return _counts(found, "ended_outside", "projected_again", "lagging", "without_workflow", "with_holes")

    async def erasing() -> DutyReport:
        people, histories = await finish_erasures(context, patience=ERASURE_SECONDS, most=ERASURES_AT_ONCE)
        return DutyReport(counts={"people": len(people), "histories_deleted": len(histories)})

    async def retaining() -> DutyReport:
        deleted = await delete_old_rows(context.repositories.pool, keep)
        return DutyReport(counts={**deleted, "histories": await delete_duty_histories(context.client)})

    async def standing() -> DutyReport:
        return DutyReport(counts=await look(context))

    async def checking_backup() -> DutyReport:
        return await check_backup(Backups(context.repositories.pool), most_backup_age)

    return {
        Duty.SWEEP: sweeping,
        Duty.RECONCILE: reconciling,
        Duty.ERASURES: erasing,
        Duty.RETENTION: retaining,
        Duty.BACKUP: checking_backup,
        Duty.STANDING: standing,
    }


def _counts(report: ReconcileReport, *names: str) -> DutyReport:
    found = {name: getattr(report, name) for name in names}
    return DutyReport(
        counts={name: counted if isinstance(counted, int) else len(counted) for name, counted in found.items()}
    )


async def check_backup(backups: Backups, most_age: timedelta | None) -> DutyReport:
    """Raises `DutyFailed` if a backup is expected and none was noted within `most_age`."""
    last = await backups.last()
    if most_age is not None:
        hours = most_age.total_seconds() / 3600
        if last is None:
            raise DutyFailed(
                "no_backup",
                "no backup was ever noted: back up, then `tongyao note-backup FILE…` (docs/operations.md §7)",
            )
        if last.age > most_age.total_seconds():
            raise DutyFailed(
                "backup_too_old", f"the last backup was noted {last.age / 3600:.0f} h ago, more than {hours:g} h"
            )
    return DutyReport(counts={"noted": 0 if last is None else 1, "hours": 0 if last is None else int(last.age // 3600)})


async def delete_duty_histories(client: Client, *, days: float = HISTORY_DAYS) -> int:
    """Delete histories of duties that ended more than `days` ago, at most `MOST_HISTORIES`. Returns their number."""
    until = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    query = f"WorkflowType = '{MAINTENANCE}' AND ExecutionStatus != \"Running\" AND CloseTime < '{until}'"
    deleted = 0
    async for execution in client.list_workflows(query, limit=MOST_HISTORIES):
        await delete_history(client, execution.id, execution.run_id)
        deleted += 1
    return deleted
