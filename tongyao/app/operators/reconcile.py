"""Repairs differences between the records and the workflows (docs/operations.md §6)."""

from __future__ import annotations

from temporalio.client import WorkflowExecutionStatus

from tongyao.app.context import AppContext
from tongyao.app.errors import Unavailable
from tongyao.app.operators.project_again import project_again
from tongyao.app.people.erasure import finish_erasures
from tongyao.app.start import start_announced, workflow_status
from tongyao.app.try_each import try_each
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value
from tongyao.records.privacy.erasure import Erasing
from tongyao.records.reconcile import Reconciliation

_ENDED = {
    WorkflowExecutionStatus.TERMINATED: Phase.CANCELLED,
    WorkflowExecutionStatus.CANCELED: Phase.CANCELLED,
    WorkflowExecutionStatus.TIMED_OUT: Phase.EXPIRED,
    WorkflowExecutionStatus.FAILED: Phase.FAILED,
}
"""Phase of a process by the status of a workflow that could not report its end."""

_GRACE_SECONDS = 30.0
"""Processes whose row changed more recently are skipped, because an update may be in progress."""


class ReconcileReport(Value):
    """Process ids by finding. The first three were repaired. Processes in `lagging` need a worker.

    `without_workflow`: processes unknown to Temporal, after a change of namespace, a lost server, or expiry.
    """

    started: tuple[str, ...] = ()
    ended_outside: tuple[str, ...] = ()
    projected_again: tuple[str, ...] = ()
    lagging: tuple[str, ...] = ()
    without_workflow: tuple[str, ...] = ()
    with_holes: tuple[str, ...] = ()
    orphaned_calls: int = 0
    erased: tuple[str, ...] = ()
    histories_deleted: tuple[str, ...] = ()


async def reconcile(
    context: AppContext, *, older_than: float = _GRACE_SECONDS, dry_run: bool = False
) -> ReconcileReport:
    """Run all repairs: `sweep`, `mend_drift`, and interrupted erasures. `dry_run`: only report the repairs."""
    if dry_run:
        return await _would_repair(context, older_than)
    swept = await sweep(context, older_than=older_than)
    drift = await mend_drift(context, older_than=older_than)
    erased, histories = await finish_erasures(context)
    return drift.model_copy(
        update={
            "started": swept.started,
            "orphaned_calls": swept.orphaned_calls + await Reconciliation(context.repositories.pool).orphaned_calls(),
            "erased": tuple(erased),
            "histories_deleted": tuple(histories),
        }
    )


async def _would_repair(context: AppContext, older_than: float) -> ReconcileReport:
    found, erasing = Reconciliation(context.repositories.pool), Erasing(context.repositories.pool)
    drift = await mend_drift(context, older_than=older_than, dry_run=True)
    return drift.model_copy(
        update={
            "started": tuple(process.id for process in await found.never_started(older_than)),
            "orphaned_calls": await found.calls_to_orphan(),
            "erased": tuple(await erasing.unfinished()),
            "histories_deleted": tuple(await erasing.histories()),
        }
    )


async def sweep(context: AppContext, *, older_than: float = _GRACE_SECONDS) -> ReconcileReport:
    """Start announced processes that were never started. Orphan claimed calls of processes that have ended."""
    orphaned = await Reconciliation(context.repositories.pool).orphaned_calls()
    started = await start_announced(context, older_than=older_than)
    return ReconcileReport(started=tuple(started), orphaned_calls=orphaned)


async def mend_drift(
    context: AppContext, *, older_than: float = _GRACE_SECONDS, dry_run: bool = False
) -> ReconcileReport:
    """Close rows whose workflow ended without a report. Find processes that lag, whose events have gaps, or that have
    no workflow.

    A row is closed only if its workflow is closed and did not continue as new. A completed workflow is queried for its
    state. Findings that cannot be repaired are reported. If a repair fails, its error is raised after all were tried.
    """
    found = Reconciliation(context.repositories.pool)
    ended: list[str] = []
    projected: list[str] = []
    lagging: list[str] = []
    without_workflow: list[str] = []

    async def mend(process_id: str) -> None:
        status = await workflow_status(context, process_id)
        if status is None:
            without_workflow.append(process_id)
        elif status in _ENDED:
            if not dry_run:
                await context.repositories.journal.set_ended(process_id, _ENDED[status].value)
            ended.append(process_id)
        elif status is WorkflowExecutionStatus.COMPLETED:
            try:
                if not dry_run:
                    await project_again(
                        context.repositories, context.client, process_id, login="reconcile", via="reconcile"
                    )
                projected.append(process_id)
            except Unavailable:
                lagging.append(process_id)

    await try_each([drift.id for drift in await found.silent(older_than)], mend, what="the repair of a process")
    return ReconcileReport(
        ended_outside=tuple(ended),
        projected_again=tuple(projected),
        lagging=tuple(lagging),
        without_workflow=tuple(without_workflow),
        with_holes=tuple(drift.id for drift in await found.with_holes()),
    )
