"""One's own agent on a platform of one's own."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.gateway import people, sourcing
from tongyao.gateway.api.common import Here, Who, action
from tongyao.gateway.incoming import Id
from tongyao.gateway.permissions import Action

router = APIRouter(prefix="/profiles/{profile_id}/source", tags=["sources"])


@router.get("", openapi_extra=action(Action.SOURCE))
async def read_source(profile_id: Id, here: Here, who: Who) -> sourcing.SourceView:
    """With how it did when it was asked; its credentials are shown to nobody."""
    return await sourcing.read_source(here, who, profile_id)


@router.put("", openapi_extra=action(Action.SOURCE))
async def set_source(profile_id: Id, given: sourcing.SourceGiven, here: Here, who: Who) -> sourcing.SourceView:
    """It is asked whenever a turn waits in a seat whose endpoint is `agent`."""
    return await sourcing.set_source(here, who, profile_id, given)


@router.delete("", status_code=204, openapi_extra=action(Action.SOURCE))
async def remove_source(profile_id: Id, here: Here, who: Who) -> None:
    await sourcing.remove_source(here, who, profile_id)


@router.put("/profile", openapi_extra=action(Action.SOURCE))
async def fetch_profile(profile_id: Id, here: Here, who: Who) -> people.VersionView:
    """Fetch one's profile from there: a new version of it, unless it is the same."""
    return people.version_view(await sourcing.fetch_profile(here, who, profile_id))
