"""Messages to a process, their receipts, and the inbox."""

from __future__ import annotations

from fastapi import APIRouter, Response

from tongyao.app.messaging import inbox, messages
from tongyao.gateway.api.common import Caller, Context, Key
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.messages import MessageBody

router = APIRouter(tags=["messages"])


@router.post(
    "/processes/{process_id}/messages",
    responses={
        202: {"model": messages.Receipt},
        409: {"description": "The process refuses the message; `code` gives the reason."},
    },
)
async def send_message(
    process_id: Id, message: MessageBody, response: Response, context: Context, caller: Caller, key: Key = None
) -> messages.Receipt:
    """Send a message. 200: applied. 202: stored, and delivered when a worker answers. 409: refused, nothing changed."""
    receipt = await messages.send_message(context, caller, process_id, message, key=key, via="api")
    if receipt.state == "waiting":
        response.status_code = 202
        response.headers["Location"] = f"/messages/{receipt.id}"
    return receipt


@router.get("/messages/{message_id}")
async def read_message(message_id: Id, context: Context, caller: Caller) -> messages.Receipt:
    """The receipt of a message that you sent."""
    return await messages.message_state(context, caller, message_id)


@router.get("/inbox", response_model_exclude_none=True)
async def read_inbox(context: Context, caller: Caller, view: bool = False) -> list[inbox.Ask]:
    """Your open asks, the most urgent first. `view=true`: each with the view of its process that you may see."""
    return await inbox.inbox(context, caller, with_view=view)
