"""The operators' pages: processes that wait, with the cause; figures; links to the Temporal UI. No text of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from tongyao.app.messaging.wire import checked_key
from tongyao.app.operators.in_bulk import resume_all
from tongyao.app.operators.operations import HOURS, read_operations, read_processes_in
from tongyao.gateway.console.dates import duration
from tongyao.gateway.console.pages import go_to, in_temporal, page
from tongyao.gateway.console.texts import Language
from tongyao.gateway.console.visit import Form, SignedIn, text_in
from tongyao.records.overview import ChannelFigures, ProcessState, StepFigures

router = APIRouter()

ERRORS_THAT_COUNT: Final = 0.02
"""A step with at least this share of failed calls is marked."""


@dataclass(frozen=True)
class StepCells:
    """One row of the table of models. `share`: failed calls in percent. `marked`: at least `ERRORS_THAT_COUNT`."""

    figures: StepFigures
    share: int
    marked: bool


@router.get("/operators")
async def show_operators(
    visit: SignedIn,
    resumed: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    waits: Annotated[int, Query(ge=0, le=100_000)] = 0,
    refused: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Response:
    """Show the overview. `resumed`, `waits`, `refused`: the results of the last resume, for the line at the top."""
    shown = await read_operations(visit.context, visit.caller)
    return page(
        visit,
        "operators.html",
        shown=shown,
        hours=HOURS,
        now=datetime.now(UTC),
        age=lambda at: age(at, visit.language),
        temporal=partial(in_temporal, visit.context.temporal_ui),
        temporal_list=visit.context.temporal_ui,
        day_budget=visit.context.day_budgets.cost,
        steps=step_shares(shown.steps),
        channels=used_channels(shown.channels),
        resumed=resumed,
        waits=waits,
        refused=refused,
    )


@router.get("/operators/{state}")
async def show_processes_in(visit: SignedIn, state: ProcessState) -> Response:
    lines = await read_processes_in(visit.context, visit.caller, state)
    return page(
        visit,
        "operators_list.html",
        state=state,
        lines=lines,
        age=lambda at: age(at, visit.language),
        temporal=partial(in_temporal, visit.context.temporal_ui),
    )


@router.post("/operators/resume")
async def resume(visit: SignedIn, form: Form) -> Response:
    """Resume all processes that are suspended by a cause, or the process `only`."""
    done = await resume_all(
        visit.context,
        visit.caller,
        key=checked_key(text_in(form, "key")),
        cause=text_in(form, "cause") or None,
        only=text_in(form, "only") or None,
        via="console",
    )
    results = [resumed.result for resumed in done]
    applied, waits = results.count("applied"), results.count("waiting")
    return go_to(f"/operators?resumed={applied}&waits={waits}&refused={len(results) - applied - waits}")


def age(at: datetime, language: Language) -> str:
    """Return the time since `at` in its greatest unit."""
    return duration(max(0.0, (datetime.now(UTC) - at).total_seconds()), language)


def step_shares(steps: Sequence[StepFigures]) -> list[StepCells]:
    return [
        StepCells(step, round(100 * step.failed / step.calls), step.failed / step.calls >= ERRORS_THAT_COUNT)
        for step in steps
        if step.calls
    ]


def used_channels(channels: Sequence[ChannelFigures]) -> list[ChannelFigures]:
    """Return the channels with sent, failed or pending notifications."""
    return [channel for channel in channels if channel.sent or channel.failed or channel.pending]
