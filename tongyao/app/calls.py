"""Answering of model calls that wait for an answer from outside (docs/models.md §7)."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any, Final

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext, CallAnswers
from tongyao.app.errors import BadInput, NotFound, NotOffered, Problem
from tongyao.app.writing import writing
from tongyao.protocol.model.ids import Alias, Id
from tongyao.protocol.model.steps import StepName
from tongyao.protocol.model.value import Body, Value
from tongyao.records.waiting_calls import CallFilter, CallLeased, CallOver, CallRow, CallUnknown

LEASE_SECONDS: Final = 1_800
"""Default lease of a model call in seconds. Careful readers took up to a quarter of an hour for the longest calls."""

MOST_WAIT_SECONDS: Final = 60.0
"""Longest wait of `next_call` over HTTP and MCP, where connections time out. The command line has no such limit."""

_DELIVERY_SECONDS: Final = 2.0


class CallRefused(Problem):
    """The call takes no answer from this caller now. Nothing was stored."""


class WhichCalls(Body):
    """Filter of model calls. An omitted field does not limit."""

    step: StepName | None = None
    process_id: Id | None = None
    alias: Alias | None = None
    call: str | None = Field(default=None, max_length=40, description="One call, by its id.")


class NextCallBody(WhichCalls):
    """Request for the next call: a filter, the length of the lease, and the longest wait."""

    lease_seconds: int = Field(default=LEASE_SECONDS, ge=10, le=7 * 24 * 3600)
    wait_seconds: float = Field(default=0, ge=0, le=MOST_WAIT_SECONDS)


class AnswerCallBody(Body):
    """The answer to a call: a text that is, or contains, one JSON object of the call's schema."""

    text: str = Field(min_length=1, max_length=1_000_000)


class CallSummary(Value):
    """A waiting call. `on_lease`: somebody leases it. `yours`: you lease it. `withheld`: it may not be shown to you."""

    id: str
    process_id: str
    step: str
    round: int = 0
    alias: str = ""
    repair: bool = Field(default=False, description="An answer was given and is to be corrected, once.")
    since: datetime
    tokens: int = Field(description="Of the request, as an estimate.")
    on_lease: bool = False
    yours: bool = False
    withheld: bool = False


class CallRequest(CallSummary):
    """A call that you lease until `leased_until`, with its request. `answer_schema`: JSON schema of the answer."""

    leased_until: datetime
    instructions: str
    input: str
    previous: str = Field(default="", description="Of a repair: the answer that was given.")
    complaints: str = Field(default="", description="Of a repair: what is to be corrected.")
    answer_schema: dict[str, Any]

    @property
    def plain(self) -> str:
        """The request as a single text."""
        parts = [("instructions", self.instructions), ("input", self.input)]
        if self.repair:
            parts += [("your previous answer", self.previous), ("what is to be corrected", self.complaints)]
        parts.append(("JSON schema of the answer", json.dumps(self.answer_schema, ensure_ascii=False)))
        return "\n\n".join(f"===== {title} =====\n{text.strip()}" for title, text in parts)


class NextCall(Value):
    """The next call, or None, with the number of other waiting calls and of calls that may not be shown to you."""

    call: CallRequest | None = None
    waiting: int = Field(description="Other calls that wait for you.")
    on_lease: int = Field(description="Calls that somebody else is answering.")
    withheld: int = Field(description="Calls that may not be shown to you, because of other calls that you were shown.")
    open_processes: int = Field(description="Processes that have not ended: more calls may come.")


class CallReceipt(Value):
    """The receipt of an answer. `repeated`: it was already stored. `waiting`: other calls that wait for you."""

    id: str
    step: str
    repeated: bool = False
    waiting: int = 0


async def list_calls(context: AppContext, caller: Caller, which: WhichCalls | None = None) -> list[CallSummary]:
    """Return the waiting calls that the caller's token covers, oldest first, without requests. Raises `Problem`."""
    answerer = _answerer(caller)
    rows = await context.repositories.waiting_calls.waiting(answerer, _filter(caller, which or WhichCalls()))
    return [_summary(row) for row in rows]


async def next_call(
    context: AppContext, caller: Caller, body: NextCallBody, *, wait_seconds: float | None = None
) -> NextCall:
    """Lease the next call to the caller: the call that they already lease, or else the oldest that they may see.

    A repeated request is safe: it returns the same call until the call is answered or given back, or its lease ends.
    `wait_seconds` replaces the value of the body. Raises `Problem`.
    """
    answerer, answers = _answerer(caller), _answers(context)
    calls, which = context.repositories.waiting_calls, _filter(caller, body)
    loop = asyncio.get_running_loop()
    end = loop.time() + (body.wait_seconds if wait_seconds is None else wait_seconds)
    with context.repositories.changes.watch_all() as watch:
        while True:
            async with writing(context.repositories, caller):
                leased = await calls.lease(answerer, which, seconds=body.lease_seconds)
            left = end - loop.time()
            if leased is not None or left <= 0:
                break
            await watch.wait(min(left, 5.0))
            await asyncio.sleep(min(max(left, 0), 0.2))  # events come in bursts
    request = None
    if leased is not None:
        row, text = leased
        assert row.leased_until is not None
        asked = json.loads(text)
        request = CallRequest(
            **_summary(row).model_dump(),
            leased_until=row.leased_until,
            instructions=asked["instructions"],
            input=asked["input"],
            previous=asked.get("previous", ""),
            complaints=asked.get("repair", ""),
            answer_schema=dict(answers.schema(row.step)),
        )
    others = [row for row in await calls.waiting(answerer, which) if request is None or row.call_id != request.id]
    return NextCall(
        call=request,
        waiting=sum(row.permitted and (not row.answerer or row.mine) for row in others),
        on_lease=sum(row.permitted and bool(row.answerer) and not row.mine for row in others),
        withheld=sum(not row.permitted for row in others),
        open_processes=await calls.open_processes(which.process_id),
    )


async def answer_call(context: AppContext, caller: Caller, call_id: str, body: AnswerCallBody) -> CallReceipt:
    """Answer a call that is leased to the caller. An unreadable answer is refused with its faults and not stored.

    Raises `BadInput` for such an answer, `CallRefused` if the call takes no answer, and other `Problem`s.
    """
    answerer, answers = _answerer(caller), _answers(context)
    calls = context.repositories.waiting_calls
    try:
        async with writing(context.repositories, caller):
            step = await calls.step_of(answerer, call_id)
            if problem := answers.problem_with(step, body.text):
                raise BadInput(
                    "answer_unreadable",
                    f"nothing was stored: {problem}. Send one JSON object of the call's schema again",
                    field="text",
                )
            message, repeated = await calls.answer(answerer, call_id, body.text)
    except CallUnknown as error:
        raise NotFound("no_such_call", f"{error}: take it first (`tongyao calls next`, over MCP `next_call`)") from None
    except CallOver:
        raise CallRefused(
            "call_over",
            "this call no longer waits: it is answered, or the process went on without it. Nothing was stored",
        ) from None
    except CallLeased as error:
        raise CallRefused("call_on_lease", f"{error}; nothing was stored") from None
    if message is not None:
        await context.relay.forward(message, wait=_DELIVERY_SECONDS)
    rows = await calls.waiting(answerer, _filter(caller, WhichCalls()))
    waiting = sum(row.permitted and (not row.answerer or row.mine) for row in rows)
    return CallReceipt(id=call_id, step=step, repeated=repeated, waiting=waiting)


async def give_back_call(context: AppContext, caller: Caller, call_id: str) -> None:
    """End the caller's lease of a call, so that the call is offered to others at once. Raises `Problem`."""
    answerer = _answerer(caller)
    try:
        async with writing(context.repositories, caller):
            await context.repositories.waiting_calls.give_back(answerer, call_id)
    except CallUnknown as error:
        raise NotFound("no_such_call", str(error)) from None


def _answerer(caller: Caller) -> str:
    """Return the name under which the caller answers. Raises `Problem`."""
    permit(caller, Action.ANSWER_CALLS)
    return caller.login


def _answers(context: AppContext) -> CallAnswers:
    if context.call_answers is None:
        raise NotOffered("no_calls", "model calls are not answered here")
    return context.call_answers


def _filter(caller: Caller, which: WhichCalls) -> CallFilter:
    """Return the caller's filter, limited to the calls of their credential. Raises `NotFound` for other calls."""
    limits = {"process_id": caller.process_id, "step": caller.step, "alias": caller.alias}
    asked = {"process_id": which.process_id or "", "step": which.step or "", "alias": which.alias or ""}
    if any(limit and asked[name] not in ("", limit) for name, limit in limits.items()):
        raise NotFound("no_such_call", "your token opens other calls only")
    return CallFilter(call_id=which.call or "", **{name: limits[name] or asked[name] for name in limits})


def _summary(row: CallRow) -> CallSummary:
    return CallSummary(
        id=row.call_id,
        process_id=row.process_id,
        step=row.step,
        round=row.round,
        alias=row.alias,
        repair=row.reask > 0,
        since=row.since,
        tokens=row.request_tokens,
        on_lease=bool(row.answerer),
        yours=row.mine,
        withheld=not row.permitted,
    )
