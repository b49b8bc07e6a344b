"""Names and types of the re-index workflow: one scene, one kind of encoder, filled beside the live index, then switched."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from tongyao.protocol.contracts.process import FIELD_QUEUE, ActivityContract
from tongyao.protocol.model.value import Value

REINDEX: Final = "Reindex"
REINDEX_PROGRESS: Final = "progress"
REINDEX_QUEUE: Final = FIELD_QUEUE

Kind = Literal["lexical", "model"]

BATCH: Final[dict[Kind, int]] = {"lexical": 500, "model": 64}
"""People of one batch: seconds of work, so that little is done twice."""


class ModelSpec(Value):
    """The parameters of an encoder with weights; kept with the index, so that the same encoder fills and queries it."""

    model: str = Field(description="A name on the model hub, or a folder.")
    dimension: int | None = Field(default=None, ge=1, description="The first so many dimensions only.")
    query_prompt: str | None = None
    document_prompt: str | None = None
    languages: tuple[str, ...] = Field(default=(), description="Of queries it may be asked; none: all.")


class ReindexInput(Value):
    """`model`: None is the one the worker is set to. `per_second`: people at most; None: as fast as it goes."""

    scene: str
    kind: Kind = "lexical"
    model: ModelSpec | None = None
    refit: bool = False
    per_second: float | None = Field(default=None, gt=0)

    @property
    def workflow_id(self) -> str:
        """One at a time for each scene and kind: a second start finds the first."""
        return f"reindex-{self.scene}-{self.kind}"


class ReindexProgress(Value):
    """Progress of a re-index: `held` of `people` are in index `index`, `batch` of them just now; `live`: it is searched."""

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
