"""The events of a process, as a stream (SSE) that can be resumed, and as pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.app.messaging import party_events
from tongyao.app.messaging.party_events import MAX_TOKEN, History, PartyEvent, PartyEvents
from tongyao.gateway.access.authentication import authenticate, bearer_token
from tongyao.gateway.api.common import Caller, Context
from tongyao.protocol.model.ids import Id

router = APIRouter(prefix="/processes", tags=["events"])


@router.get("/{process_id}/history")
async def read_history(
    process_id: Id,
    context: Context,
    caller: Caller,
    after: Annotated[str, Query(max_length=MAX_TOKEN)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> History:
    """A page of events from the records. They remain after Temporal's retention period."""
    return await party_events.read_history(context, caller, process_id, after=after, limit=limit)


@router.get(
    "/{process_id}/events",
    response_class=EventSourceResponse,
    responses={
        200: {"content": {"text/event-stream": {}}},
        204: {"description": "The process has ended, and you have all its events."},
    },
)
async def stream_events(
    process_id: Id,
    request: Request,
    context: Context,
    caller: Caller,
    last_event_id: Annotated[str | None, Header(max_length=MAX_TOKEN)] = None,
    after: Annotated[str, Query(max_length=MAX_TOKEN)] = "",
) -> Response:
    """Server-sent events. `id` is opaque: resume with it as `Last-Event-ID`. The stream ends with the process.

    If events that you have received are superseded, `rewound` is sent first, with the `id` of the last valid event.
    """
    events, access = await party_events.party_events(context, caller, process_id)
    after = last_event_id or after
    rewound = await events.resume(after) if after else None
    first, lost = await events.read()
    rewound = rewound if lost is None else lost
    if access.process.ended_at is not None and rewound is None and not first:
        return Response(status_code=204)
    secret = bearer_token(request.headers.get("authorization"))
    return EventSourceResponse(_stream(context, access, secret, events, first, rewound), ping=15)


async def _stream(
    context: AppContext,
    access: ProcessAccess,
    secret: str | None,
    events: PartyEvents,
    new: list[PartyEvent],
    rewound: str | None,
) -> AsyncIterator[ServerSentEvent]:
    """Yield events. Each read authenticates again, so the stream of a revoked token ends within `SAFETY_SECONDS`."""
    with context.repositories.changes.watch(access.process.id) as watch:
        while True:
            if rewound is not None:
                yield ServerSentEvent("{}", event="rewound", id=rewound)
            for event in new:
                yield ServerSentEvent(event.model_dump_json(), event=event.kind.value, id=event.id)
            if access.process.ended_at is None:
                await watch.wait()
            elif not new:
                return
            try:
                caller = await authenticate(context.repositories, secret)
                access = await authorize_in_process(context.repositories, caller, access.process.id, Action.READ_EVENTS)
            except Problem:
                return
            new, rewound = await events.read()
