"""Names and types of the workflows beside the process: maintenance, recitation and re-indexing.

Maintenance has duties that keep records, workflows and backups in order (docs/operations.md §11).

Each duty has a Temporal Schedule, whose id names the duty. The workflow takes no input, because a schedule keeps its
input for years, and an encrypted input could not be read after its master key was retired.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final, Literal

from pydantic import Field

from tongyao.protocol.contracts.process import FIELD_QUEUE, PROCESS_QUEUE, ActivityContract
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
    """Return the id of the schedule. Temporal makes the id of each workflow from this id and the time of the start."""
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


RECITATION: Final = "Recitation"
RECITE_LEVEL: Final = "recite_level"
RECITATION_PROGRESS: Final = "progress"
RECITATION_QUEUE: Final = FIELD_QUEUE


class RecitationInput(Value):
    """A profile and its version. The text stays in the records.

    `passes`, `encoder`: the values that a search requested (docs/highway.md); by default those of the installation.
    """

    profile_id: str
    version: int
    passes: int = 0
    encoder: str = ""

    @property
    def workflow_id(self) -> str:
        """The workflow id: profile, version, encoder, passes. A second start with this id finds the first workflow."""
        parts = ["recitation", self.profile_id, str(self.version)]
        if self.encoder:
            parts.append(hashlib.blake2b(self.encoder.encode(), digest_size=4).hexdigest())
        if self.passes:
            parts.append(f"passes{self.passes}")
        return "-".join(parts)


class RecitationProgress(Value):
    """`level`: name of the last indexed level (empty: none yet). `done`: whether the profile can be searched."""

    level: str = ""
    done: bool = False


REINDEX: Final = "Reindex"
REINDEX_PROGRESS: Final = "progress"
REINDEX_QUEUE: Final = FIELD_QUEUE

Kind = Literal["lexical", "model"]

BATCH: Final[dict[Kind, int]] = {"lexical": 500, "model": 64}
"""Number of people in a batch, by kind of index. A batch takes seconds. A retry repeats at most one batch."""


class ModelSpec(Value):
    """The parameters of an encoder with weights. They are stored with the index, which only this encoder fills and
    queries."""

    model: str = Field(description="A name on the model hub, or a folder.")
    dimension: int | None = Field(default=None, ge=1, description="The first so many dimensions only.")
    query_prompt: str | None = None
    document_prompt: str | None = None
    languages: tuple[str, ...] = Field(default=(), description="Of queries it may be asked; none: all.")


class ReindexInput(Value):
    """`model`: None means the model in the worker's settings. `per_second`: most people per second; None: no limit."""

    scene: str
    kind: Kind = "lexical"
    model: ModelSpec | None = None
    refit: bool = False
    per_second: float | None = Field(default=None, gt=0)

    @property
    def workflow_id(self) -> str:
        """The workflow id: scene and kind. A second start with this id finds the first workflow."""
        return f"reindex-{self.scene}-{self.kind}"


class ReindexProgress(Value):
    """Progress of an index. `held`: indexed people, of `people` in all. `batch`: people in the last batch. `live`: in
    use."""

    index: int = 0
    encoder: str = ""
    held: int = 0
    people: int = 0
    batch: int = 0
    live: bool = False


class FillInput(Value):
    index: int
    most: int = Field(ge=1, description="People of one batch.")


OPEN_INDEX: Final = ActivityContract("open_index", ReindexInput, ReindexProgress)
FILL_INDEX: Final = ActivityContract("fill_index", FillInput, ReindexProgress)
SWITCH_INDEX: Final = ActivityContract("switch_index", FillInput, ReindexProgress)
