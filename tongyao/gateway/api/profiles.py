"""Joining, and one's own profile."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from tongyao.app import profiles
from tongyao.app.permissions import Action
from tongyao.app.wire import Id
from tongyao.gateway.api.common import Here, Key, Who, action, address_of
from tongyao.protocol.model.requests import Mandate

router = APIRouter(prefix="/profiles", tags=["profiles"])


@router.post("", status_code=201, openapi_extra=action(Action.JOIN))
async def join(said: profiles.Introduction, request: Request, here: Here, who: Who, key: Key = None) -> profiles.Joined:
    """Introduce yourself: you get an id and a token, shown this once."""
    await request.app.state.limits.join(who, address_of(request))
    return await profiles.join(here, who, said, key=key)


@router.get("/{profile_id}", response_model_exclude_none=True, openapi_extra=action(Action.READ_PROFILE))
async def read_profile(profile_id: Id, here: Here, who: Who) -> profiles.ProfileView:
    return await profiles.read_profile(here, who, profile_id)


@router.put("/{profile_id}", openapi_extra=action(Action.WRITE_PROFILE))
async def write_profile(profile_id: Id, new: profiles.ProfileText, here: Here, who: Who) -> profiles.VersionView:
    return await profiles.write_profile(here, who, profile_id, new)


@router.delete("/{profile_id}", status_code=204, openapi_extra=action(Action.DELETE_PROFILE))
async def delete_profile(profile_id: Id, here: Here, who: Who) -> None:
    await profiles.delete_profile(here, who, profile_id)


@router.get("/{profile_id}/versions", openapi_extra=action(Action.READ_PROFILE))
async def list_versions(profile_id: Id, here: Here, who: Who) -> list[profiles.VersionView]:
    return await profiles.versions(here, who, profile_id)


@router.get("/{profile_id}/export", openapi_extra=action(Action.READ_PROFILE_TEXT))
async def export_profile(profile_id: Id, here: Here, who: Who) -> dict[str, Any]:
    return await profiles.export(here, who, profile_id)


@router.get("/{profile_id}/mandate", openapi_extra=action(Action.MANDATE))
async def read_mandate(profile_id: Id, here: Here, who: Who) -> Mandate:
    return await profiles.read_mandate(here, who, profile_id)


@router.put("/{profile_id}/mandate", openapi_extra=action(Action.MANDATE))
async def set_mandate(profile_id: Id, given: profiles.MandateGiven, here: Here, who: Who) -> Mandate:
    """What your proxy may say, from its next call on; noted in every open process of yours."""
    return await profiles.set_mandate(here, who, profile_id, given)
