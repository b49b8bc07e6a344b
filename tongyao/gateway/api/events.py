"""The events of a process: as a stream (SSE) that can be resumed, and as pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from tongyao.app import processes
from tongyao.app.authorization import authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, Problem
from tongyao.app.permissions import Action
from tongyao.app.wire import Id
from tongyao.gateway.access.authentication import authenticate, bearer_token
from tongyao.gateway.api.common import Caller, Context, action
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.value import Value
from tongyao.records.process.events import EventCursor

router = APIRouter(prefix="/processes", tags=["events"])

POLL_SECONDS: Final = 0.5
_MAX_SEQ: Final = 2**62


class History(Value):
    events: list[Event]
    next: int | None = None


@router.get("/{process_id}/history", openapi_extra=action(Action.READ_EVENTS))
async def read_history(
    process_id: Id,
    context: Context,
    caller: Caller,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> History:
    """From the records, so also when Temporal's retention is over."""
    events, last = await processes.read_history(context, caller, process_id, after=after, limit=limit)
    return History(events=events, next=last)


@router.get(
    "/{process_id}/events",
    openapi_extra=action(Action.READ_EVENTS),
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "It has ended, and you have it all."}},
)
async def stream_events(
    process_id: Id,
    request: Request,
    context: Context,
    caller: Caller,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ)] = 0,
) -> Response:
    """Server-sent events; `id` is the event's `seq`. Resume with `Last-Event-ID`. Ends when the process has ended."""
    if last_event_id is not None:
        if not last_event_id.isascii() or not last_event_id.isdigit() or int(last_event_id) > _MAX_SEQ:
            raise BadInput("bad_event_id", "Last-Event-ID is the `id` of the last event you have")
        after = int(last_event_id)
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_EVENTS)
    if access.process.ended_at is not None and after >= await context.repositories.events.last_seq(process_id):
        return Response(status_code=204)
    return EventSourceResponse(
        _stream(context, process_id, bearer_token(request.headers.get("authorization")), EventCursor(seq=after)),
        ping=15,
    )


async def _stream(
    context: AppContext, process_id: str, secret: str | None, after: EventCursor
) -> AsyncIterator[ServerSentEvent]:
    """Authenticates again at every poll, so that a stream ends when its token is revoked."""
    while True:
        try:
            caller = await authenticate(context.repositories, secret)
            access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_EVENTS)
        except Problem:
            return
        async for cursor, event in processes.new_events(context, access, after):
            after = cursor
            if event is not None:
                yield ServerSentEvent(event.model_dump_json(), event=event.kind.value, id=str(cursor.seq))
        if access.process.ended_at is not None:
            return
        await asyncio.sleep(POLL_SECONDS)
