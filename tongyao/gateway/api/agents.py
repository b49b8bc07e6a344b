"""One's own agent on a platform of one's own."""

from __future__ import annotations

from fastapi import APIRouter, Request

from tongyao.app.messaging.wire import Id
from tongyao.app.people import agents, profiles
from tongyao.gateway.api.common import Caller, Context, address_of, rate_limits_of

router = APIRouter(prefix="/profiles/{profile_id}/source", tags=["sources"])


@router.get("")
async def read_source(profile_id: Id, context: Context, caller: Caller) -> agents.SourceView:
    """With how it did when it was asked; its credentials are shown to nobody."""
    return await agents.read_source(context, caller, profile_id)


@router.put("")
async def set_source(profile_id: Id, body: agents.SourceBody, context: Context, caller: Caller) -> agents.SourceView:
    """It is asked whenever a turn waits in a seat whose endpoint is `agent`."""
    return await agents.set_source(context, caller, profile_id, body)


@router.delete("", status_code=204)
async def remove_source(profile_id: Id, context: Context, caller: Caller) -> None:
    """Delete the address of one’s own agent, and its credentials."""
    await agents.remove_source(context, caller, profile_id)


@router.put("/profile")
async def fetch_profile(profile_id: Id, request: Request, context: Context, caller: Caller) -> profiles.VersionView:
    """Fetch one's profile from there: a new version of it, unless it is the same."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await agents.fetch_profile(context, caller, profile_id)
