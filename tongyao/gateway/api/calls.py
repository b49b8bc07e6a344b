"""Routes of model calls that wait for an answer from outside."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from tongyao.app import calls
from tongyao.gateway.api.common import Caller, Context
from tongyao.protocol.model.ids import Alias, Id
from tongyao.protocol.model.steps import StepName

router = APIRouter(tags=["calls"])

CallId = Annotated[str, Path(pattern=r"^call-[0-9a-f]{10}$")]


@router.get("/calls")
async def list_calls(
    context: Context,
    caller: Caller,
    step: StepName | None = None,
    process_id: Id | None = None,
    alias: Alias | None = None,
) -> list[calls.CallSummary]:
    """The calls that wait for an answer, oldest first, without their requests."""
    which = calls.WhichCalls(step=step, process_id=process_id, alias=alias)
    return await calls.list_calls(context, caller, which)


@router.post("/calls/next")
async def next_call(body: calls.NextCallBody, context: Context, caller: Caller) -> calls.NextCall:
    """Take the next call, with its request. It stays the same until you answer it, give it back, or its lease ends."""
    return await calls.next_call(context, caller, body)


@router.post(
    "/calls/{call_id}/answer",
    responses={409: {"description": "The call accepts no answer from you now; `code` gives the reason."}},
)
async def answer_call(
    call_id: CallId, body: calls.AnswerCallBody, context: Context, caller: Caller
) -> calls.CallReceipt:
    """Answer a call. An answer that cannot be read is refused with its faults (422), and nothing is stored."""
    return await calls.answer_call(context, caller, call_id, body)


@router.delete("/calls/{call_id}/lease", status_code=204)
async def give_back_call(call_id: CallId, context: Context, caller: Caller) -> None:
    """End your lease. The call is offered to others at once."""
    await calls.give_back_call(context, caller, call_id)
