"""Names and types of the re-index workflow, which fills a new index of one scene and kind, then makes it live."""

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
"""People of one batch, which takes seconds. A retry repeats at most one batch."""


class ModelSpec(Value):
    """The parameters of an encoder with weights, stored with the index, so the same encoder fills and queries it."""

    model: str = Field(description="A name on the model hub, or a folder.")
    dimension: int | None = Field(default=None, ge=1, description="The first so many dimensions only.")
    query_prompt: str | None = None
    document_prompt: str | None = None
    languages: tuple[str, ...] = Field(default=(), description="Of queries it may be asked; none: all.")


class ReindexInput(Value):
    """`model`: None is the model in the worker's settings. `per_second`: most people per second; None: no limit."""

    scene: str
    kind: Kind = "lexical"
    model: ModelSpec | None = None
    refit: bool = False
    per_second: float | None = Field(default=None, gt=0)

    @property
    def workflow_id(self) -> str:
        """The id for scene and kind. A second start finds the first workflow."""
        return f"reindex-{self.scene}-{self.kind}"


class ReindexProgress(Value):
    """Progress: index `index` has `held` of `people`, `batch` of them from the last batch. `live`: it is searched."""

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
