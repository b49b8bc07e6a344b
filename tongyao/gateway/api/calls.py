"""Model calls that wait for an answer from outside; figures and the codec server for operators (docs/temporal.md §3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from tongyao.app import calls
from tongyao.app.operators.operations import Operations, decode_payloads, encode_payloads, read_operations
from tongyao.gateway.api.common import Caller, Context
from tongyao.gateway.codec import WirePayloads, wired
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


operation_routes = APIRouter(prefix="/operations", tags=["operations"])
codec = APIRouter(prefix="/codec", tags=["operations"])
"""A router without the check of query parameters, because Temporal's UI and command line choose their parameters."""


@operation_routes.get("")
async def show_operations(context: Context, caller: Caller) -> Operations:
    """Numbers of processes, by state and cause of suspension, and of the last day's model calls and messages."""
    return await read_operations(context, caller)


@codec.post("/decode")
async def decode(context: Context, caller: Caller, payloads: WirePayloads) -> WirePayloads:
    """Decrypt payloads of Temporal. The operators' log records the caller and the number of payloads."""
    return wired(await decode_payloads(context, caller, payloads.read(), via="api"))


@codec.post("/encode")
async def encode(context: Context, caller: Caller, payloads: WirePayloads) -> WirePayloads:
    """Encrypt payloads, for signals that are sent by hand."""
    return wired(await encode_payloads(context, caller, payloads.read()))
