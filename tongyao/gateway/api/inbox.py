"""What waits for me, in all processes."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app import messages
from tongyao.app.permissions import Action
from tongyao.gateway.api.common import Here, Who, action

router = APIRouter(tags=["inbox"])


@router.get("/inbox", response_model_exclude_none=True, openapi_extra=action(Action.READ_INBOX))
async def read_inbox(here: Here, who: Who, view: bool = False) -> list[messages.Ask]:
    """The most urgent first; `view=true`: with what you may see of each process."""
    return await messages.pending(here, who, with_view=view)
