"""Records and workflows brought together again (docs/operations.md §6): a command, and at every start of the service."""

from __future__ import annotations

from temporalio.client import WorkflowExecutionStatus

from tongyao.app.erasure import Erasing
from tongyao.app.start import Starting
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value
from tongyao.records.library import Library
from tongyao.records.reconcile import Reconciliation

_ENDED = {
    WorkflowExecutionStatus.TERMINATED: Phase.CANCELLED,
    WorkflowExecutionStatus.CANCELED: Phase.CANCELLED,
    WorkflowExecutionStatus.TIMED_OUT: Phase.EXPIRED,
    WorkflowExecutionStatus.FAILED: Phase.FAILED,
}
_SETTLING_SECONDS = 30.0
"""What moved more recently than this is left alone: it may just be on its way."""


class Report(Value):
    """Ids by what was found. The first two were mended; `lagging` needs a worker, `with_holes` a look."""

    started: tuple[str, ...] = ()
    ended_outside: tuple[str, ...] = ()
    lagging: tuple[str, ...] = ()
    with_holes: tuple[str, ...] = ()
    orphaned_calls: int = 0
    erased: tuple[str, ...] = ()
    histories_deleted: tuple[str, ...] = ()


async def reconcile(
    library: Library, starting: Starting, *, erasing: Erasing | None = None, settled_for: float = _SETTLING_SECONDS
) -> Report:
    """Start what was announced and never started; close what was ended behind the records' back; name the rest.

    With `erasing`, erasures that were interrupted are finished as well.
    """
    found = Reconciliation(library.pool)
    started = await starting.sweep(older_than=settled_for)
    ended, lagging = [], []
    for drift in await found.silent(settled_for):
        status = await starting.status(drift.id)
        if status is None or status in _ENDED:
            await library.journal.set_ended(drift.id, _ENDED[status].value if status else Phase.FAILED.value)
            ended.append(drift.id)
        elif status is WorkflowExecutionStatus.COMPLETED:
            lagging.append(drift.id)
    erased, histories = await erasing.sweep() if erasing else ([], [])
    return Report(
        erased=tuple(erased),
        histories_deleted=tuple(histories),
        started=tuple(started),
        ended_outside=tuple(ended),
        lagging=tuple(lagging),
        with_holes=tuple(drift.id for drift in await found.with_holes()),
        orphaned_calls=await found.orphaned_calls(),
    )
