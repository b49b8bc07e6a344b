"""The Claude model of each step and its limits (docs/models.md §1). This module imports no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STRONG: Final = "claude-opus-5-5"
MIDDLE: Final = "claude-sonnet-5-5"


@dataclass(frozen=True)
class StepSettings:
    """Settings of one step.

    `max_tokens` is `limit` plus `limit_each` for every unit of the step (`Step.units`). Thinking counts towards it, so
    it is several times the size of the answer. `effort` is sent to models that support it. If it is empty, the model
    decides.
    """

    model: str
    limit: int
    limit_each: int = 0
    effort: str = ""


DEFAULTS: Final[Mapping[str, StepSettings]] = {
    "formulate": StepSettings(MIDDLE, 6_000, effort="medium"),
    "project": StepSettings(MIDDLE, 10_000, effort="medium"),
    "observe": StepSettings(STRONG, 14_000, 700, effort="high"),
    "plan": StepSettings(STRONG, 16_000, 2_000, effort="medium"),
    "deliver": StepSettings(MIDDLE, 6_000, effort="low"),
}
"""The strong model makes relations and the plan. The middle model does all other steps."""
