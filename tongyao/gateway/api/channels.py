"""The channels over which a person gets notifications."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request

from tongyao.app.notifications import channels
from tongyao.gateway.api.common import Caller, Context, address_of, rate_limits_of
from tongyao.protocol.model.ids import Id

router = APIRouter(prefix="/profiles/{profile_id}/channels", tags=["channels"])
Kind = Annotated[
    str,
    Path(
        pattern=r"^[a-z][a-z0-9_]{0,39}$", description="mail, webhook, or a kind that was added to this installation."
    ),
]


@router.get("", response_model_exclude_none=True)
async def list_channels(profile_id: Id, context: Context, caller: Caller) -> list[channels.ChannelView]:
    """The channels over which a person gets notifications."""
    return await channels.list_channels(context, caller, profile_id)


@router.put("/mail", response_model_exclude_none=True)
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


@router.put("/webhook", response_model_exclude_none=True)
async def set_webhook(
    profile_id: Id, body: channels.WebhookBody, request: Request, context: Context, caller: Caller
) -> channels.ChannelView:
    """Set a webhook (Standard Webhooks). Its secret is shown once. It is used after you confirm the code sent to it."""
    await rate_limits_of(request).count_registration(caller, address_of(request))
    return await channels.set_webhook(context, caller, profile_id, body)


@router.put("/{kind}", response_model_exclude_none=True)
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


@router.put("/{kind}/confirmation", response_model_exclude_none=True)
async def confirm_channel(
    profile_id: Id, kind: Kind, body: channels.CodeBody, context: Context, caller: Caller
) -> channels.ChannelView:
    """Confirm the code that was sent over this channel."""
    return await channels.confirm(context, caller, profile_id, kind, body)


@router.delete("/{kind}", status_code=204)
async def remove_channel(profile_id: Id, kind: Kind, context: Context, caller: Caller) -> None:
    """Remove a channel. No more notifications are sent over it."""
    await channels.remove_channel(context, caller, profile_id, kind)
