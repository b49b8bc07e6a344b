"""Where one is told that something waits."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request

from tongyao.app import channels
from tongyao.app.permissions import Action
from tongyao.app.wire import Id
from tongyao.gateway.api.common import Here, Who, action, address_of

router = APIRouter(prefix="/profiles/{profile_id}/channels", tags=["channels"])


@router.get("", response_model_exclude_none=True, openapi_extra=action(Action.CHANNELS))
async def list_channels(profile_id: Id, here: Here, who: Who) -> list[channels.ChannelView]:
    return await channels.channels(here, who, profile_id)


@router.put("/mail", response_model_exclude_none=True, openapi_extra=action(Action.CHANNELS))
async def set_mail(
    profile_id: Id,
    given: channels.MailGiven,
    request: Request,
    here: Here,
    who: Who,
    language: Literal["en", "zh"] = "en",
) -> channels.ChannelView:
    """A code is sent there; the address is used once it came back."""
    await request.app.state.limits.join(who, address_of(request))
    return await channels.set_mail(here, who, profile_id, given, language=language)


@router.put("/mail/confirmation", response_model_exclude_none=True, openapi_extra=action(Action.CHANNELS))
async def confirm_mail(profile_id: Id, given: channels.Code, here: Here, who: Who) -> channels.ChannelView:
    return await channels.confirm_mail(here, who, profile_id, given)


@router.put("/webhook", response_model_exclude_none=True, openapi_extra=action(Action.CHANNELS))
async def set_webhook(profile_id: Id, given: channels.WebhookGiven, here: Here, who: Who) -> channels.ChannelView:
    """Signed with the secret that is shown this once (Standard Webhooks)."""
    return await channels.set_webhook(here, who, profile_id, given)


@router.delete("/{kind}", status_code=204, openapi_extra=action(Action.CHANNELS))
async def remove_channel(profile_id: Id, kind: Literal["mail", "webhook"], here: Here, who: Who) -> None:
    await channels.remove(here, who, profile_id, kind)
