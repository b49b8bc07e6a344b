"""Registration, a person's own profile, and a person's own agent on another platform."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from tongyao.app.people import agents, consents, erasure, profiles
from tongyao.gateway.api.common import Caller, Context, Key, address_of, rate_limits_of
from tongyao.gateway.long_json import long_json
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.requests import Mandate
from tongyao.protocol.rules.consent import Origin

router = APIRouter(prefix="/profiles", tags=["profiles"])


@router.post("", status_code=201)
async def join(
    body: profiles.RegisterBody, request: Request, context: Context, caller: Caller, key: Key = None
) -> profiles.Registered:
    """Introduce yourself. You get an id and a token. The token is shown only once."""
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
    """Store a new version of a profile. Running processes keep the version with which they began."""
    return await profiles.write_profile(context, caller, profile_id, body)


@router.delete("/{profile_id}", status_code=204)
async def delete_profile(profile_id: Id, context: Context, caller: Caller) -> None:
    """Erase a person. Their words become unreadable, and texts that quote them are rewritten (docs/erasure.md)."""
    await erasure.erase_soon(context, caller, profile_id)


@router.get("/{profile_id}/versions")
async def list_versions(profile_id: Id, context: Context, caller: Caller) -> list[profiles.VersionView]:
    """Every version of a profile, oldest first, without the texts."""
    return await profiles.list_versions(context, caller, profile_id)


@router.get("/{profile_id}/export", response_model=dict[str, Any])
async def export_profile(profile_id: Id, context: Context, caller: Caller) -> Response:
    """A copy of the stored data of a person: profile, consents, words said for them, their answers, their requests."""
    return long_json(await profiles.export_profile(context, caller, profile_id))


@router.get("/{profile_id}/mandate")
async def read_mandate(profile_id: Id, context: Context, caller: Caller) -> Mandate:
    """The mandate of your proxy: its topics, and phrases that it must not disclose."""
    return await profiles.read_mandate(context, caller, profile_id)


@router.put("/{profile_id}/mandate")
async def set_mandate(profile_id: Id, body: profiles.MandateBody, context: Context, caller: Caller) -> Mandate:
    """Set the mandate of your proxy, from its next call on. The change is recorded in each of your open processes."""
    return await profiles.set_mandate(context, caller, profile_id, body)


@router.get("/{profile_id}/consents")
async def read_consents(profile_id: Id, context: Context, caller: Caller) -> list[consents.ConsentView]:
    """Your consent to a proxy, for each scene."""
    return await consents.read_consents(context, caller, profile_id)


@router.put("/{profile_id}/consents/{scene}")
async def set_consent(
    profile_id: Id, scene: Id, body: consents.SceneConsentBody, context: Context, caller: Caller
) -> consents.ConsentView:
    """Set whether a proxy may speak for you in a scene: `ask` each time, `allow`, or `never`."""
    return await consents.set_consent(context, caller, profile_id, scene, body)


@router.get("/{profile_id}/source")
async def read_source(profile_id: Id, context: Context, caller: Caller) -> agents.SourceView:
    """Your own agent, with the results of its last turns. Its credentials are never shown."""
    return await agents.read_source(context, caller, profile_id)


@router.put("/{profile_id}/source")
async def set_source(profile_id: Id, body: agents.SourceBody, context: Context, caller: Caller) -> agents.SourceView:
    """Set your own agent. It is asked when a turn waits in a seat whose endpoint is `agent`."""
    return await agents.set_source(context, caller, profile_id, body)


@router.delete("/{profile_id}/source", status_code=204)
async def remove_source(profile_id: Id, context: Context, caller: Caller) -> None:
    """Delete the address of your own agent, and its credentials."""
    await agents.remove_source(context, caller, profile_id)


@router.put("/{profile_id}/source/profile")
async def fetch_profile(profile_id: Id, request: Request, context: Context, caller: Caller) -> profiles.VersionView:
    """Fetch your profile from your agent. It becomes a new version, unless its text is unchanged."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await agents.fetch_profile(context, caller, profile_id)
