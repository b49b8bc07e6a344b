"""What waits for me, in all processes."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.gateway import speaking
from tongyao.gateway.api.common import Here, Who, action
from tongyao.gateway.permissions import Action

router = APIRouter(tags=["inbox"])


@router.get("/inbox", response_model_exclude_none=True, openapi_extra=action(Action.READ_INBOX))
async def read_inbox(here: Here, who: Who, view: bool = False) -> list[speaking.Ask]:
    """The most urgent first; `view=true`: with what you may see of each process."""
    return await speaking.pending(here, who, with_view=view)
