"""Repairs differences between the records and the workflows (docs/operations.md §6)."""

from __future__ import annotations

from temporalio.client import WorkflowExecutionStatus

from tongyao.app.context import AppContext
from tongyao.app.people.erasure import finish_erasures
from tongyao.app.start import start_announced, workflow_status
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value
from tongyao.records.reconcile import Reconciliation

_ENDED = {
    WorkflowExecutionStatus.TERMINATED: Phase.CANCELLED,
    WorkflowExecutionStatus.CANCELED: Phase.CANCELLED,
    WorkflowExecutionStatus.TIMED_OUT: Phase.EXPIRED,
    WorkflowExecutionStatus.FAILED: Phase.FAILED,
}
_GRACE_SECONDS = 30.0
"""A process whose row changed more recently than this is left alone: an update may be on its way."""


class Report(Value):
    """Process ids by what was found. `started` and `ended_outside` were repaired; `lagging` needs a worker."""

    started: tuple[str, ...] = ()
    ended_outside: tuple[str, ...] = ()
    lagging: tuple[str, ...] = ()
    with_holes: tuple[str, ...] = ()
    orphaned_calls: int = 0
    erased: tuple[str, ...] = ()
    histories_deleted: tuple[str, ...] = ()


async def reconcile(context: AppContext, *, older_than: float = _GRACE_SECONDS) -> Report:
    """Start announced processes that were never started, close rows whose workflow ended outside, finish erasures.

    What cannot be repaired is reported.
    """
    found = Reconciliation(context.library.pool)
    started = await start_announced(context, older_than=older_than)
    ended, lagging = [], []
    for drift in await found.silent(older_than):
        status = await workflow_status(context, drift.id)
        if status is None or status in _ENDED:
            await context.library.journal.set_ended(drift.id, _ENDED[status].value if status else Phase.FAILED.value)
            ended.append(drift.id)
        elif status is WorkflowExecutionStatus.COMPLETED:
            lagging.append(drift.id)
    erased, histories = await finish_erasures(context)
    return Report(
        erased=tuple(erased),
        histories_deleted=tuple(histories),
        started=tuple(started),
        ended_outside=tuple(ended),
        lagging=tuple(lagging),
        with_holes=tuple(drift.id for drift in await found.with_holes()),
        orphaned_calls=await found.orphaned_calls(),
    )
