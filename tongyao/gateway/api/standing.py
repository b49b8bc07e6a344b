"""Standing tensions: the caller's, those that the caller could answer, stepping forward (docs/protocol.md §7.8)."""

from __future__ import annotations

from fastapi import APIRouter, Request

from tongyao.app import standing
from tongyao.gateway.api.common import Caller, Context, rate_limits_of
from tongyao.protocol.model.ids import Id

router = APIRouter(tags=["standing tensions"])


@router.get("/standing", response_model_exclude_none=True)
async def read_standing(request: Request, context: Context, caller: Caller) -> standing.StandingList:
    """Your own standing tensions, and those of your scene that your profile matches."""
    await rate_limits_of(request).count_search(caller)
    return await standing.read_standing(context, caller)


@router.post("/standing/{standing_id}", status_code=204)
async def step_forward(standing_id: Id, request: Request, context: Context, caller: Caller) -> None:
    """Step forward. The person who asked is told once that you came. A repeat changes nothing, so it takes no key."""
    await rate_limits_of(request).count_search(caller)
    await standing.step_forward(context, caller, standing_id)


@router.put("/processes/{process_id}/standing", response_model_exclude_none=True)
async def keep_looking(
    process_id: Id, body: standing.KeepLookingBody, context: Context, caller: Caller
) -> standing.StandingView:
    """Let an open point of your process wait in its scene until somebody comes, or end its wait."""
    return await standing.keep_looking(context, caller, process_id, body)
