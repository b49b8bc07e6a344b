"""People: scenes, registration, a person's own profile, agent, notification channels and tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.messaging.body_conversion import checked_key
from tongyao.app.notifications import channels
from tongyao.app.people import agents, consents, erasure, profiles, scenes, search, tokens
from tongyao.gateway.api.common import Caller, Context, Key, address_of, rate_limits_of
from tongyao.gateway.long_json import long_json
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.requests import Mandate
from tongyao.protocol.rules.consent import Origin
from tongyao.records.people.tokens import Issued, Token

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


channel_routes = APIRouter(prefix="/profiles/{profile_id}/channels", tags=["channels"])
Kind = Annotated[
    str,
    Path(
        pattern=r"^[a-z][a-z0-9_]{0,39}$", description="mail, webhook, or a kind that was added to this installation."
    ),
]


@channel_routes.get("", response_model_exclude_none=True)
async def list_channels(profile_id: Id, context: Context, caller: Caller) -> list[channels.ChannelView]:
    """The channels over which a person gets notifications."""
    return await channels.list_channels(context, caller, profile_id)


@channel_routes.put("/mail", response_model_exclude_none=True)
async def set_mail(
    profile_id: Id,
    body: channels.MailBody,
    request: Request,
    context: Context,
    caller: Caller,
    language: Literal["en", "zh"] = "en",
) -> channels.ChannelView:
    """Set the mail address. A code is sent to it. The address is used after you have confirmed the code."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await channels.set_mail(context, caller, profile_id, body, language=language)


@channel_routes.put("/webhook", response_model_exclude_none=True)
async def set_webhook(
    profile_id: Id, body: channels.WebhookBody, request: Request, context: Context, caller: Caller
) -> channels.ChannelView:
    """Set a webhook (Standard Webhooks). Its secret is shown once. It is used after you confirm the code sent to it."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await channels.set_webhook(context, caller, profile_id, body)


@channel_routes.put("/{kind}", response_model_exclude_none=True)
async def set_channel(
    profile_id: Id,
    kind: Kind,
    body: channels.AddressBody,
    request: Request,
    context: Context,
    caller: Caller,
    language: Literal["en", "zh"] = "en",
) -> channels.ChannelView:
    """Set an address of a kind added to this installation. It is used after you have confirmed the code sent to it."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await channels.set_channel(context, caller, profile_id, kind, body.address, language=language)


@channel_routes.put("/{kind}/confirmation", response_model_exclude_none=True)
async def confirm_channel(
    profile_id: Id, kind: Kind, body: channels.CodeBody, context: Context, caller: Caller
) -> channels.ChannelView:
    """Confirm the code that was sent over this channel."""
    return await channels.confirm(context, caller, profile_id, kind, body)


@channel_routes.delete("/{kind}", status_code=204)
async def remove_channel(profile_id: Id, kind: Kind, context: Context, caller: Caller) -> None:
    """Remove a channel. No more notifications are sent over it."""
    await channels.remove_channel(context, caller, profile_id, kind)


token_routes = APIRouter(tags=["tokens"])


@token_routes.get("/me")
async def who_am_i(caller: Caller) -> dict[str, str]:
    """The role and the person of this token, with the seat if it has one."""
    permit(caller, Action.WHO_AM_I)
    seat = {"process_id": caller.process_id, "alias": caller.alias} if caller.alias else {}
    return {"role": caller.role.value, "person": caller.person, **seat}


@token_routes.post("/tokens", status_code=201)
async def issue_token(body: tokens.IssueTokenBody, context: Context, caller: Caller, key: Key = None) -> Issued:
    """Create a further token. Its secret is shown only once. A key is required, but a repeat creates a new token."""
    checked_key(key)
    return await tokens.issue_token(context, caller, body)


@token_routes.get("/tokens")
async def list_tokens(context: Context, caller: Caller) -> list[Token]:
    """Your own tokens, without the secrets."""
    return await tokens.list_tokens(context, caller)


@token_routes.delete("/tokens/{token_id}")
async def revoke_token(token_id: Id, context: Context, caller: Caller) -> Token:
    """Revoke a token. Requests with it are refused from now on."""
    return await tokens.revoke_token(context, caller, token_id)


scene_routes = APIRouter(prefix="/scenes", tags=["scenes"])


@scene_routes.get("")
async def list_scenes(context: Context, caller: Caller) -> list[scenes.SceneView]:
    """All scenes. A scene is a collection of people. The search for participants stays within one scene."""
    permit(caller, Action.LIST_SCENES)
    return await scenes.list_scenes(context)


@scene_routes.put("/{scene}")
async def write_scene(scene: Id, body: scenes.SceneBody, context: Context, caller: Caller) -> scenes.SceneView:
    """Create a scene, or change its title and the public data of its people. For operators."""
    return await scenes.write_scene(context, caller, scene, body)


@scene_routes.get("/{scene}/people", response_model_exclude_none=True)
async def list_people(
    scene: Id,
    context: Context,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=200, description="The last id of the previous page.")] = "",
) -> list[search.Card]:
    """The people of a scene with their public data: an opaque id, language, grade, and if the scene allows it, name."""
    return await search.list_people(context, caller, scene, limit=limit, after=after)


@scene_routes.post("/{scene}/search", response_model_exclude_none=True)
async def search_people(
    scene: Id, body: search.SearchBody, request: Request, context: Context, caller: Caller
) -> list[search.Card]:
    """Search people who match a text, a tension or your profile, with reasons. It changes nothing and takes no key."""
    await rate_limits_of(request).count_search(caller)
    return await search.search_people(context, caller, scene, body)
