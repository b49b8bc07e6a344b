"""What happens in a process: as a stream (SSE) that can be resumed, and as pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from tongyao.app import processes
from tongyao.app.authorization import authenticate, in_process
from tongyao.app.context import Gateway
from tongyao.app.permissions import Action
from tongyao.app.problems import Problem
from tongyao.app.wire import Id
from tongyao.gateway.api.common import Here, Who, action, secret_of
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.value import Value
from tongyao.records.process.events import EventCursor

router = APIRouter(prefix="/processes", tags=["events"])

POLL_SECONDS: Final = 0.5
MOST: Final = 2**62


class History(Value):
    events: list[Event]
    next: int | None = None


@router.get("/{process_id}/history", openapi_extra=action(Action.READ_EVENTS))
async def read_history(
    process_id: Id,
    here: Here,
    who: Who,
    after: Annotated[int, Query(ge=0, le=MOST)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> History:
    """From the records, so also when Temporal's retention is over."""
    events, last = await processes.history(here, who, process_id, after=after, limit=limit)
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
    here: Here,
    who: Who,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
    after: Annotated[int, Query(ge=0, le=MOST)] = 0,
) -> Response:
    """Server-sent events; `id` is the event's `seq`. Resume with `Last-Event-ID`. Ends when the process has ended."""
    if last_event_id is not None:
        if not last_event_id.isascii() or not last_event_id.isdigit() or int(last_event_id) > MOST:
            raise Problem("bad_event_id", "Last-Event-ID is the `id` of the last event you have", status=422)
        after = int(last_event_id)
    standing = await in_process(here.library, who, process_id, Action.READ_EVENTS)
    if standing.process.ended_at is not None and after >= await here.library.events.last_seq(process_id):
        return Response(status_code=204)
    return EventSourceResponse(
        _stream(here, process_id, secret_of(request.headers.get("authorization")), EventCursor(seq=after)), ping=15
    )


async def _stream(
    gateway: Gateway, process_id: str, secret: str | None, after: EventCursor
) -> AsyncIterator[ServerSentEvent]:
    """Asks at each look who this is: a revoked token hears nothing more."""
    while True:
        try:
            caller = await authenticate(gateway.library, secret)
            standing = await in_process(gateway.library, caller, process_id, Action.READ_EVENTS)
        except Problem:
            return
        async for cursor, event in processes.new_events(gateway, standing, after):
            after = cursor
            if event is not None:
                yield ServerSentEvent(event.model_dump_json(), event=event.kind.value, id=str(cursor.seq))
        if standing.process.ended_at is not None:
            return
        await asyncio.sleep(POLL_SECONDS)
