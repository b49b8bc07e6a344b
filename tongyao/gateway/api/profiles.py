"""Registering, one's own profile, and one's own agent on another platform."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from tongyao.app.messaging.wire import Id
from tongyao.app.people import agents, consents, erasure, profiles
from tongyao.gateway.api.common import Caller, Context, Key, address_of, rate_limits_of
from tongyao.gateway.long_json import long_json
from tongyao.protocol.model.requests import Mandate
from tongyao.protocol.rules.consent import Origin

router = APIRouter(prefix="/profiles", tags=["profiles"])


@router.post("", status_code=201)
async def join(
    body: profiles.RegisterBody, request: Request, context: Context, caller: Caller, key: Key = None
) -> profiles.Registered:
    """Introduce yourself: you get an id and a token, shown this once."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await profiles.register(context, caller, body, key=key, origin=Origin.API)


@router.get("/{profile_id}", response_model_exclude_none=True)
async def read_profile(profile_id: Id, context: Context, caller: Caller) -> profiles.ProfileView:
    """A profile. Its owner also gets its text."""
    return await profiles.read_profile(context, caller, profile_id)


@router.put("/{profile_id}")
async def write_profile(
    profile_id: Id, body: profiles.ProfileBody, context: Context, caller: Caller
) -> profiles.VersionView:
    """A new version of a profile. Processes that run keep the version they began with."""
    return await profiles.write_profile(context, caller, profile_id, body)


@router.delete("/{profile_id}", status_code=204)
async def delete_profile(profile_id: Id, context: Context, caller: Caller) -> None:
    """Erase a person: what they said becomes unreadable, and texts that quote them are rewritten (docs/erasure.md)."""
    await erasure.erase_soon(context, caller, profile_id)


@router.get("/{profile_id}/versions")
async def list_versions(profile_id: Id, context: Context, caller: Caller) -> list[profiles.VersionView]:
    """Every version of a profile, oldest first, without the texts."""
    return await profiles.list_versions(context, caller, profile_id)


@router.get("/{profile_id}/export", response_model=dict[str, Any])
async def export_profile(profile_id: Id, context: Context, caller: Caller) -> Response:
    """A copy of everything kept of a person that is theirs: profile, consents, what was said for them, their answers, what they asked for."""
    return long_json(await profiles.export_profile(context, caller, profile_id))


@router.get("/{profile_id}/mandate")
async def read_mandate(profile_id: Id, context: Context, caller: Caller) -> Mandate:
    """The mandate: topics of one’s proxy, and phrases that it must not disclose."""
    return await profiles.read_mandate(context, caller, profile_id)


@router.put("/{profile_id}/mandate")
async def set_mandate(profile_id: Id, body: profiles.MandateBody, context: Context, caller: Caller) -> Mandate:
    """Set the mandate of your proxy, from its next call on; noted in every open process of yours."""
    return await profiles.set_mandate(context, caller, profile_id, body)


@router.get("/{profile_id}/consents")
async def read_consents(profile_id: Id, context: Context, caller: Caller) -> list[consents.ConsentView]:
    """Your consent to a proxy, scene by scene."""
    return await consents.read_consents(context, caller, profile_id)


@router.put("/{profile_id}/consents/{scene}")
async def set_consent(
    profile_id: Id, scene: Id, body: consents.SceneConsentBody, context: Context, caller: Caller
) -> consents.ConsentView:
    """Whether a proxy may speak for you in a scene: `ask` each time, `allow`, or `never`."""
    return await consents.set_consent(context, caller, profile_id, scene, body)


@router.get("/{profile_id}/source")
async def read_source(profile_id: Id, context: Context, caller: Caller) -> agents.SourceView:
    """Your own agent with the results of its last turns; its credentials are shown to nobody."""
    return await agents.read_source(context, caller, profile_id)


@router.put("/{profile_id}/source")
async def set_source(profile_id: Id, body: agents.SourceBody, context: Context, caller: Caller) -> agents.SourceView:
    """It is asked whenever a turn waits in a seat whose endpoint is `agent`."""
    return await agents.set_source(context, caller, profile_id, body)


@router.delete("/{profile_id}/source", status_code=204)
async def remove_source(profile_id: Id, context: Context, caller: Caller) -> None:
    """Delete the address of one’s own agent, and its credentials."""
    await agents.remove_source(context, caller, profile_id)


@router.put("/{profile_id}/source/profile")
async def fetch_profile(profile_id: Id, request: Request, context: Context, caller: Caller) -> profiles.VersionView:
    """Fetch one's profile from there: a new version of it, unless it is the same."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await agents.fetch_profile(context, caller, profile_id)
