"""The operators' pages: processes that wait, with the cause; figures; links to the Temporal UI. No text of a person.

Also waiting model calls, and the codec for the Temporal UI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from tongyao.app import calls
from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.errors import BadInput, NotFound, Problem, validated
from tongyao.app.messaging.body_conversion import checked_key
from tongyao.app.operators.in_bulk import resume_all
from tongyao.app.operators.operations import HOURS, decode_payloads, read_operations, read_processes_in
from tongyao.gateway.access.codec_cors import origin_of
from tongyao.gateway.codec import WirePayloads, wired
from tongyao.gateway.console.dates import duration
from tongyao.gateway.console.pages import go_to, in_temporal, page
from tongyao.gateway.console.texts import Language
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in
from tongyao.gateway.problems import HttpProblem
from tongyao.records.operators_overview import ChannelFigures, ProcessState, StepFigures

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
    """Resume all processes that are suspended by this cause. `only`: the id of the single process to resume."""
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


call_routes = APIRouter()

CallId = Annotated[str, Path(pattern=r"^call-[0-9a-f]{10}$")]
LEASE_SECONDS = 4 * 3600
"""A person who answers by hand needs longer than a program."""


@call_routes.get("/calls")
async def show_calls(visit: SignedIn, answered: str = "") -> Response:
    """Show the waiting model calls. `answered`: the call that was answered just now."""
    found = await calls.list_calls(visit.context, visit.caller)
    return page(visit, "calls.html", calls=found, answered=answered[:40], name=visit.caller.login)


@call_routes.get("/calls/{call_id}")
async def show_call(visit: SignedIn, call_id: CallId) -> Response:
    """Show a call and lease it to the visitor for `LEASE_SECONDS`."""
    return await _call_page(visit, call_id)


@call_routes.post("/calls/{call_id}")
async def answer(visit: SignedIn, call_id: CallId, form: Form) -> Response:
    written = text_in(form, "text")
    try:
        if text_in(form, "give_back"):
            await calls.give_back_call(visit.context, visit.caller, call_id)
            return go_to("/calls")
        body = validated(calls.AnswerCallBody, {"text": written})
        await calls.answer_call(visit.context, visit.caller, call_id, body)
    except BadInput as problem:
        return await _call_page(visit, call_id, written=written, problem=problem)
    return go_to(f"/calls?answered={call_id}")


async def _call_page(visit: Visit, call_id: str, *, written: str = "", problem: Problem | None = None) -> Response:
    body = calls.NextCallBody(call=call_id, lease_seconds=LEASE_SECONDS)
    found = (await calls.next_call(visit.context, visit.caller, body)).call
    if found is None:
        raise NotFound("no_such_call", "this call was answered, somebody else took it, or it may not be shown to you")
    return page(visit, "call.html", call=found, written=written, problem=problem)


codec_routes = APIRouter(prefix="/codec")


@codec_routes.post("/decode")
async def decode(request: Request, visit: SignedIn, payloads: WirePayloads) -> WirePayloads:
    _of_the_ui(request, visit)
    return wired(await decode_payloads(visit.context, visit.caller, payloads.read(), via="temporal_ui"))


def _of_the_ui(request: Request, visit: Visit) -> None:
    """Raise `HttpProblem` (403) unless the Web UI sent the request. Browsers send the cookie for any page of a site."""
    permit(visit.caller, Action.DECODE_PAYLOADS)
    ui = origin_of(visit.context.temporal_ui)
    if not ui or request.headers.get("origin") != ui:
        raise HttpProblem(
            403, "not_the_temporal_ui", "only pages at the address in TONGYAO_TEMPORAL_UI_URL may send requests here"
        )
