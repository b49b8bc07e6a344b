"""Groups of settings: `TONGYAO_MODELS__…`, `TONGYAO_FIELD__…`, `TONGYAO_HIGHWAY__…`, `TONGYAO_MAINTENANCE__…`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.protocol.contracts.maintenance import Duty

ENGINES = ("auto", "anthropic", "models", "extractive", "delegated", "recorded")
PROVIDERS = (
    "alibaba", "azure", "azure-responses", "bedrock", "cerebras", "cohere", "deepseek", "fireworks", "github", "google",
    "google-cloud", "groq", "heroku", "huggingface", "litellm", "mistral", "moonshotai", "nebius", "ollama", "openai",
    "openai-chat", "openai-responses", "openrouter", "ovhcloud", "sambanova", "together", "vercel", "vllm", "xai", "zai",
)  # fmt: skip
"""Prefixes (before a colon) of models that pydantic-ai calls. Other names may have a colon, too, such as `qwen3:8b`."""

_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def _engine_name(name: str) -> str:
    if name not in ENGINES and not _FACTORY.fullmatch(name):
        raise ValueError(f"must be one of {', '.join(ENGINES)}, or package.module:factory of an engine of one's own")
    return name


EngineName = Annotated[str, AfterValidator(_engine_name)]


class Models(BaseModel):
    """The model of each step: by default a Claude model, otherwise `provider:model`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    formulate: str = Field(default=DEFAULTS["formulate"].model, description="The raw intent into a tension.")
    project: str = Field(default=DEFAULTS["project"].model, description="One proxy's turn.")
    observe: str = Field(default=DEFAULTS["observe"].model, description="The catalyst.")
    plan: str = Field(default=DEFAULTS["plan"].model, description="The plan.")
    deliver: str = Field(default=DEFAULTS["deliver"].model, description="Each participant's part of the plan.")


class FieldSettings(BaseModel):
    """The field's embedding model (docs/field.md §5). A re-index builds an index with it; searches use that index."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(default=None, description="A model hub's name or a folder; unset: lexical only.")
    dimension: int | None = Field(
        default=None, ge=1, description="Number of leading dimensions that are used; unset: all."
    )
    query_prompt: str | None = Field(default=None, description="Text before every query; unset: the model's own.")
    document_prompt: str | None = Field(default=None, description="Text before every profile; unset: the model's own.")
    languages: tuple[str, ...] = Field(default=(), description="JSON list of the queries' languages, zh or en.")
    threads: int = Field(default=1, ge=1, le=64, description="Batches encoded at a time in one worker.")


class HighwaySettings(BaseModel):
    """Settings of the Highway, for the retrievers `highway` and `both` (docs/highway.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: Literal["none", "model"] = Field(
        default="none", description="Weak direction of a seek; `model`: from the field's encoder with weights."
    )
    most_passes: int = Field(
        default=6, ge=1, le=100, description="Times a profile is recited at most, where a seek finds too little."
    )


class MaintenanceSettings(BaseModel):
    """Duties by Temporal Schedules (docs/operations.md §11), which `tongyao prepare` and `tongyao up` update."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sweep_minutes: int = Field(default=5, ge=0, description="Minutes between sweeps; 0: no schedule.")
    reconcile_minutes: int = Field(default=30, ge=0, description="Minutes between reconciliations; 0: no schedule.")
    erasures_minutes: int = Field(
        default=15, ge=0, description="Minutes between checks for interrupted erasures; 0: no schedule."
    )
    retention_minutes: int = Field(
        default=24 * 60, ge=0, description="Minutes between deletions of old rows; 0: no schedule."
    )
    backup_minutes: int = Field(
        default=60, ge=0, description="Minutes between checks of the last backup; 0: no schedule."
    )
    standing_minutes: int = Field(
        default=1, ge=0, description="Minutes between searches of new people for standing tensions; 0: no schedule."
    )
    keep_days: int = Field(
        default=90, ge=1, description="How long ended notifications, ended sessions and drafts of closed asks are kept."
    )
    backup_hours: float = Field(
        default=0, ge=0, description="Largest age of the last noted backup; 0: no backup is expected."
    )

    @property
    def every(self) -> dict[Duty, timedelta]:
        """The interval of each duty, without duties that are turned off."""
        minutes = {duty: getattr(self, f"{duty.value}_minutes") for duty in Duty}
        return {duty: timedelta(minutes=interval) for duty, interval in minutes.items() if interval}

    @property
    def most_backup_age(self) -> timedelta | None:
        return timedelta(hours=self.backup_hours) if self.backup_hours else None
