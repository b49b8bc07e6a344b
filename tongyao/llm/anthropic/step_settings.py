"""The Claude model of each step and its limits (docs/models.md §1). Imports no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STRONG: Final = "claude-opus-5-5"
MIDDLE: Final = "claude-sonnet-5-5"


@dataclass(frozen=True)
class StepSettings:
    """Settings of one step.

    `limit` and `limit_each` make up `max_tokens`: the second is added for every unit of the step (`Step.units`).
    Thinking counts towards it, so it is several times the answer's size. `effort` goes with models that know it;
    empty leaves it to the model.
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
"""The strong model where relations and the plan are made, the middle one for the rest."""
