"""Names and types of maintenance: duties that keep records, workflows and backups in order (docs/operations.md §11).

Each duty has a Temporal Schedule, whose id names the duty. The workflow takes no input. A schedule keeps its action's
input for years, and an encrypted input could not be read after its master key was retired.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field

from tongyao.protocol.contracts.process import PROCESS_QUEUE, ActivityContract
from tongyao.protocol.model.value import Value

MAINTENANCE: Final = "Maintenance"
"""The workflow type of all duties."""

MAINTENANCE_QUEUE: Final = PROCESS_QUEUE
"""The queue of the workers that use only the database and call no outside service."""


class Duty(StrEnum):
    """The duties of maintenance. They are idempotent, so a missed run needs no replacement."""

    SWEEP = "sweep"
    RECONCILE = "reconcile"
    ERASURES = "erasures"
    RETENTION = "retention"
    BACKUP = "backup"
    STANDING = "standing"


PURPOSES: Final[dict[Duty, str]] = {
    Duty.SWEEP: "starts announced processes that were never started, orphans calls of processes that have ended",
    Duty.RECONCILE: "closes rows of processes whose workflow ended behind the records' back, names what lags",
    Duty.ERASURES: "finishes erasures that were interrupted, deletes histories of erased people",
    Duty.RETENTION: "deletes what nobody needs any more: old notifications, sessions, drafts, histories of duties",
    Duty.BACKUP: "fails where the last noted backup is too old",
    Duty.STANDING: "keeps what stayed unresolved in its scene, holds who is new against it, asks its demanders",
}
"""The note of each schedule in the Temporal UI."""


def schedule_id(duty: Duty) -> str:
    """Return the id of the schedule. The ids of its workflows are this id and the time that Temporal appends."""
    return f"tongyao-{duty.value}"


def duty_of(workflow_id: str) -> Duty:
    """Return the duty of a workflow that a schedule started."""
    return Duty(workflow_id.split("-")[1])


class DutyInput(Value):
    duty: Duty


class DutyReport(Value):
    """Counts of a duty, by fixed words. No ids and no texts, because Temporal and metrics show them."""

    counts: dict[str, int] = Field(default_factory=dict)


MAINTAIN: Final = ActivityContract("maintain", DutyInput, DutyReport)
