"""Pages to answer model calls by hand: the list of waiting calls, and one call with its request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response

from tongyao.app import calls
from tongyao.app.errors import BadInput, NotFound, Problem, validated
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in

router = APIRouter()

CallId = Annotated[str, Path(pattern=r"^call-[0-9a-f]{10}$")]
LEASE_SECONDS = 4 * 3600
"""A person who answers by hand needs longer than a program."""


@router.get("/calls")
async def show_calls(visit: SignedIn, answered: str = "") -> Response:
    """`answered`: the call that was answered just now."""
    found = await calls.list_calls(visit.context, visit.caller)
    return page(visit, "calls.html", calls=found, answered=answered[:40], name=visit.caller.login)


@router.get("/calls/{call_id}")
async def show_call(visit: SignedIn, call_id: CallId) -> Response:
    """Show a call and lease it to the visitor for `LEASE_SECONDS`."""
    return await _call_page(visit, call_id)


@router.post("/calls/{call_id}")
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
