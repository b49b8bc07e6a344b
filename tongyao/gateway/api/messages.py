"""Messages to a process, what became of them, and the inbox."""

from __future__ import annotations

from fastapi import APIRouter, Response

from tongyao.app.messaging import inbox, messages
from tongyao.app.messaging.wire import Id, MessageBody
from tongyao.gateway.api.common import Caller, Context, Key

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
    """200: applied. 202: kept; it is delivered as soon as a worker answers. 409: refused, and nothing was changed."""
    receipt = await messages.send_message(context, caller, process_id, message, key=key, via="api")
    if receipt.state == "waiting":
        response.status_code = 202
        response.headers["Location"] = f"/messages/{receipt.id}"
    return receipt


@router.get("/messages/{message_id}")
async def read_message(message_id: Id, context: Context, caller: Caller) -> messages.Receipt:
    """The receipt of a message of one’s own."""
    return await messages.message_state(context, caller, message_id)


@router.get("/inbox", response_model_exclude_none=True)
async def read_inbox(context: Context, caller: Caller, view: bool = False) -> list[inbox.Ask]:
    """The most urgent first; `view=true`: with what you may see of each process."""
    return await inbox.inbox(context, caller, with_view=view)
