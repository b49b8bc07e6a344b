"""What the operators' pages show of figures: ages, shares, cells. Pure but for the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from tongyao.gateway.console.dates import duration
from tongyao.gateway.console.texts import Language
from tongyao.records.overview import ChannelFigures, StepFigures

ERRORS_THAT_COUNT: Final = 0.02
"""The share of failed calls from which on a figure is marked."""


@dataclass(frozen=True)
class StepCells:
    """One row of the table of models. `share`: failed calls in whole percent; `marked`: more than usual."""

    figures: StepFigures
    share: int
    marked: bool


def now_utc() -> datetime:
    return datetime.now(UTC)


def in_temporal(ui: str, process: str, run: str = "") -> str:
    """The page of a workflow in Temporal's Web UI; empty where that is not known."""
    if not ui:
        return ""
    return f"{ui}/{quote(process, safe='')}" + (f"/{quote(run, safe='')}/history" if run else "")


def age(at: datetime, language: Language) -> str:
    """How long ago, in its greatest unit."""
    return duration(max(0.0, (now_utc() - at).total_seconds()), language)


def step_shares(steps: Sequence[StepFigures]) -> list[StepCells]:
    return [
        StepCells(one, round(100 * one.failed / one.calls), one.failed / one.calls >= ERRORS_THAT_COUNT)
        for one in steps
        if one.calls
    ]


def used_channels(channels: Sequence[ChannelFigures]) -> list[ChannelFigures]:
    """The channels that told anybody anything."""
    return [one for one in channels if one.sent or one.failed or one.pending]
