"""Names and types of maintenance: duties that keep records, workflows and backups in order (docs/operations.md §11).

Each duty has a Temporal Schedule, whose id names it. The workflow takes no input: a schedule keeps its action's input for years, and an
encrypted one could not be read any more after its master key was retired.
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
"""Polled by the role that has the database and calls nobody outside."""


class Duty(StrEnum):
    """The duties of maintenance. Repeating a duty is harmless, so a run that was missed is not made up for."""

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
    """Also the id of the workflows that it starts, before the time that Temporal adds."""
    return f"tongyao-{duty.value}"


def duty_of(workflow_id: str) -> Duty:
    """The duty of a workflow that a schedule has started."""
    return Duty(workflow_id.split("-")[1])


class DutyInput(Value):
    duty: Duty


class DutyReport(Value):
    """Counts of a duty, by closed words. No ids and no texts: Temporal and metrics show them."""

    counts: dict[str, int] = Field(default_factory=dict)


MAINTAIN: Final = ActivityContract("maintain", DutyInput, DutyReport)
