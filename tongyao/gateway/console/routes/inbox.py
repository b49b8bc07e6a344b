"""The inbox, the first page of everybody: what waits for the visitor, most urgent first."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tongyao.app.inbox import inbox
from tongyao.app.permissions import Action
from tongyao.gateway.api.common import action
from tongyao.gateway.console.pages import page
from tongyao.gateway.console.visit import SignedIn

router = APIRouter()


@router.get("/", openapi_extra=action(Action.READ_INBOX))
async def show_inbox(visit: SignedIn) -> Response:
    asks = await inbox(visit.context, visit.caller, with_view=False)
    return page(visit, "inbox.html", asks=asks)
