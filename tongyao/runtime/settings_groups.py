"""Parts of the settings that have a name of their own: `TONGYAO_MODELS__…`, `TONGYAO_FIELD__…`, `TONGYAO_HIGHWAY__…`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tongyao.llm.anthropic.step_settings import DEFAULTS

ENGINES = ("auto", "anthropic", "extractive", "recorded")
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def _engine_name(name: str) -> str:
    if name not in ENGINES and not _FACTORY.fullmatch(name):
        raise ValueError(f"must be one of {', '.join(ENGINES)}, or package.module:factory of an engine of one's own")
    return name


EngineName = Annotated[str, AfterValidator(_engine_name)]


class Models(BaseModel):
    """Which Claude model answers each step: a strong one where all is read, a middle one for the rest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    formulate: str = Field(default=DEFAULTS["formulate"].model, description="The raw intent into a tension.")
    project: str = Field(default=DEFAULTS["project"].model, description="One proxy's turn.")
    observe: str = Field(default=DEFAULTS["observe"].model, description="The catalyst.")
    plan: str = Field(default=DEFAULTS["plan"].model, description="The plan.")
    deliver: str = Field(default=DEFAULTS["deliver"].model, description="Each one's part of the plan.")


class FieldSettings(BaseModel):
    """The field's encoder with weights (docs/field.md §5); a re-index fills an index by it, searches follow the index."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(default=None, description="A model hub's name or a folder; unset: lexical only.")
    dimension: int | None = Field(default=None, ge=1, description="The first so many dimensions only.")
    query_prompt: str | None = Field(default=None, description="Before every query; unset: what the model brings.")
    document_prompt: str | None = Field(default=None, description="Before every profile; unset: what the model brings.")
    languages: tuple[str, ...] = Field(default=(), description="JSON list of the queries' languages, zh or en.")
    threads: int = Field(default=1, ge=1, le=64, description="Batches encoded at a time in one worker.")


class HighwaySettings(BaseModel):
    """Long memories, where the retriever is `highway` or `both` (docs/highway.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: Literal["none", "model"] = Field(
        default="none", description="What gives a seek a weak direction; `model`: the field's encoder with weights."
    )
    most_passes: int = Field(
        default=6, ge=1, le=100, description="Times a profile is recited at most, where a seek finds too little."
    )
