"""Messages to a process, and what became of them."""

from __future__ import annotations

from fastapi import APIRouter, Response

from tongyao.app import messages
from tongyao.app.permissions import Action
from tongyao.app.wire import Id, Incoming
from tongyao.gateway.api.common import Here, Key, Who, action

router = APIRouter(tags=["messages"])


@router.post(
    "/processes/{process_id}/messages",
    openapi_extra=action(Action.SEND_MESSAGE),
    responses={202: {"model": messages.Receipt}, 409: {"description": "The process refuses it; `code` says why."}},
)
async def send_message(
    process_id: Id, message: Incoming, response: Response, here: Here, who: Who, key: Key = None
) -> messages.Receipt:
    """200: applied. 202: kept; it is delivered as soon as a worker answers. 409: refused, and nothing was changed."""
    receipt = await messages.send(here, who, process_id, message, key=key, via="api")
    if receipt.state == "waiting":
        response.status_code = 202
        response.headers["Location"] = f"/messages/{receipt.id}"
    return receipt


@router.get("/messages/{message_id}", openapi_extra=action(Action.READ_MESSAGE))
async def read_message(message_id: Id, here: Here, who: Who) -> messages.Receipt:
    return await messages.message_state(here, who, message_id)
