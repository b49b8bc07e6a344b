"""The channels for notifications. An address is used only after its owner has confirmed it with a code that was sent to
it."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated, Final

from pydantic import Field, SecretStr

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, Unavailable, validated
from tongyao.app.notifications import notices
from tongyao.app.notifications.notifier import Notifier, NotSent, Outgoing, new_secret
from tongyao.app.writing import writing
from tongyao.protocol.model.value import Body, Value
from tongyao.records.people.notifications import Channel, ChannelKind, WrongCode
from tongyao.records.privacy.texts import text_id

_IN_AN_ADDRESS: Final = r"[^@?\s,;:<>()\[\]\\\"\x00-\x1f\x7f]"
"""Excludes characters that separate or quote addresses: `root,me@example.org` is two addresses. `?` is excluded because
an encoded word, which may hide a separator, contains it."""
Email = Annotated[str, Field(max_length=254, pattern=rf"^{_IN_AN_ADDRESS}{{1,64}}@{_IN_AN_ADDRESS}{{1,189}}$")]
Url = Annotated[str, Field(max_length=2_000, pattern=r"^https?://[^\s/?#@]+([/?][^\s#]*)?$")]

_CODE_SECONDS: Final = 15.0
LOG: Final = "log"
"""The notifier for operators and for people without a channel. It takes no address."""


class MailBody(Body):
    address: Email


class WebhookBody(Body):
    url: Url


class AddressBody(Body):
    """An address of a kind of channel that was added to the installation. The kind's notifier checks it."""

    address: str = Field(min_length=1, max_length=2_000, pattern=r"^[^\x00-\x1f]+$")


class CodeBody(Body):
    code: str = Field(min_length=1, max_length=100)


class ChannelView(Value):
    """`secret` signs the notifications to a webhook or to an added kind. It is shown only when it is created."""

    kind: ChannelKind
    address: str
    confirmed: bool
    secret: str | None = None


async def list_channels(context: AppContext, caller: Caller, person: str) -> list[ChannelView]:
    authorize_for_profile(caller, person, Action.CHANNELS)
    return [_view(channel) for channel in await context.repositories.notifications.channels(person)]


async def set_mail(context: AppContext, caller: Caller, person: str, body: MailBody, *, language: str) -> ChannelView:
    """Set the address and send a code to it, for `confirm`. Raises `BadInput` if this installation sends no mail."""
    authorize_for_profile(caller, person, Action.CHANNELS)
    try:
        root = await context.repositories.tokens.root(caller.id)
        ends = root.id if root is not None and root.expires_at is not None else ""
        channel = await send_code(context, caller, person, body.address, language=language, set_with=ends)
    except NotSent:
        raise Unavailable("mail_away", "the code could not be sent; check the address and try again") from None
    return _view(channel)


async def send_code(
    context: AppContext, caller: Caller, person: str, address: str, *, language: str, set_with: str = ""
) -> Channel:
    """Set an unconfirmed address and send a code to it. Links that were mailed to the previous address are revoked.

    `set_with`: as in `Channel`. Raises `NotSent`, `BadInput`.
    """
    notifier = context.notifiers.get("mail")
    if notifier is None:
        raise BadInput("no_mail", "this installation sends no mail: use a webhook, or look into the inbox")
    channel = Channel(person=person, kind="mail", address=address, set_with=set_with)
    code = secrets.token_urlsafe(9)
    async with writing(context.repositories, caller, person):
        known = await context.repositories.notifications.channels(person)
        await context.repositories.notifications.set_channel(channel, code=code)
        if any(channel.kind == "mail" and channel.address != address for channel in known):
            await context.repositories.tokens.revoke_links(person)
    subject, text = notices.code_mail(code, language)
    await notifier.send(
        Outgoing(id=text_id("code", person, code), address=address, subject=subject, text=text, data={"what": "code"})
    )
    return channel


async def set_channel(
    context: AppContext, caller: Caller, person: str, kind: ChannelKind, address: str, *, language: str
) -> ChannelView:
    """Set an address of any kind with a `Notifier` in this installation, and send a code to it, for `confirm`.

    Raises `BadInput` for an unknown kind and for an address that its notifier refuses, and `Unavailable`.
    """
    if kind == "mail":
        return await set_mail(context, caller, person, validated(MailBody, {"address": address}), language=language)
    if kind == "webhook":
        return await set_webhook(context, caller, person, validated(WebhookBody, {"url": address}))
    authorize_for_profile(caller, person, Action.CHANNELS)
    notifier = context.notifiers.get(kind)
    if notifier is None or kind == LOG:
        known = ", ".join(sorted(kind for kind in context.notifiers if kind != LOG)) or "none"
        raise BadInput(
            "no_such_channel", f"{kind!r} is not a kind of channel here; the kinds are: {known}", field="kind"
        )
    channel = Channel(person=person, kind=kind, address=address, secret=new_secret())
    try:
        await _send_signed_code(context, caller, channel, notifier, language=language)
    except NotSent as error:
        if error.permanent:
            raise BadInput("bad_address", f"this address cannot be used for {kind}: {error}", field="address") from None
        raise Unavailable(f"{kind}_away", "the code could not be sent; try again later") from None
    return _view(channel, secret=channel.secret)


async def _send_signed_code(
    context: AppContext, caller: Caller, channel: Channel, notifier: Notifier, *, language: str = "en"
) -> None:
    """Set an unconfirmed address that is not a mail address, and send a signed code to it. Raises `NotSent`."""
    code = secrets.token_urlsafe(9)
    async with writing(context.repositories, caller, channel.person):
        await context.repositories.notifications.set_channel(channel, code=code)
    subject, text = notices.code_mail(code, language)
    outgoing = Outgoing(
        id=text_id("code", channel.person, code), address=channel.address, subject=subject, text=text,
        secret=SecretStr(channel.secret), data={"what": "code", "code": code},
    )  # fmt: skip
    try:
        async with asyncio.timeout(_CODE_SECONDS):
            await notifier.send(outgoing)
    except TimeoutError:
        raise NotSent("it took too long") from None


async def confirm(context: AppContext, caller: Caller, person: str, kind: ChannelKind, body: CodeBody) -> ChannelView:
    """Confirm a channel. Raises `BadInput` if the code is not the last one that was sent."""
    authorize_for_profile(caller, person, Action.CHANNELS)
    try:
        async with writing(context.repositories, caller, person):
            await context.repositories.notifications.confirm(person, kind, body.code)
    except WrongCode as error:
        raise BadInput("wrong_code", str(error), field="code") from None
    found = await context.repositories.notifications.channels(person)
    return next(_view(channel) for channel in found if channel.kind == kind)


async def set_webhook(context: AppContext, caller: Caller, person: str, body: WebhookBody) -> ChannelView:
    """Set the address and send a signed code to it, for `confirm`. Each call makes a new secret.

    Raises `BadInput` for an address without TLS, unless the installation permits it, and `Unavailable`.
    """
    authorize_for_profile(caller, person, Action.CHANNELS)
    if not body.url.startswith("https://") and not context.options.private_addresses:
        raise BadInput("not_https", "a webhook's address begins with https://", field="url")
    notifier = context.notifiers.get("webhook")
    if notifier is None:
        raise BadInput("no_webhooks", "this installation calls no webhooks: look into the inbox")
    channel = Channel(person=person, kind="webhook", address=body.url, secret=new_secret())
    try:
        await _send_signed_code(context, caller, channel, notifier)
    except NotSent:
        raise Unavailable(
            "webhook_away", "the webhook did not accept the code; check the address and try again"
        ) from None
    return _view(channel, secret=channel.secret)


async def remove_channel(context: AppContext, caller: Caller, person: str, kind: ChannelKind) -> None:
    authorize_for_profile(caller, person, Action.CHANNELS)
    async with writing(context.repositories, caller, person):
        await context.repositories.notifications.remove_channel(person, kind)
        if kind == "mail":  # mails at that address may contain unused links
            await context.repositories.tokens.revoke_links(person)


def _view(channel: Channel, *, secret: str | None = None) -> ChannelView:
    return ChannelView(kind=channel.kind, address=channel.address, confirmed=channel.confirmed, secret=secret)
