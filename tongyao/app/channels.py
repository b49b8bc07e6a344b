"""Where people are told: each sets their own channels. A mail address is used once its owner has read a code there."""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

import structlog
from pydantic import Field

from tongyao.app import notification_texts as wording
from tongyao.app.authorization import Caller, towards_profile
from tongyao.app.context import Gateway
from tongyao.app.notifier import NotSent, Outgoing
from tongyao.app.permissions import Action
from tongyao.app.problems import Problem
from tongyao.app.webhook_signing import new_secret
from tongyao.app.wire import Given
from tongyao.protocol.model.value import Value
from tongyao.records.people.notifications import Channel, ChannelKind, WrongCode
from tongyao.records.privacy.texts import text_id

log = structlog.get_logger()

Email = Annotated[str, Field(max_length=254, pattern=r"^[^@\s]{1,64}@[^@\s]{1,189}$")]
Url = Annotated[str, Field(max_length=2_000, pattern=r"^https?://[^\s/?#@]+([/?][^\s#]*)?$")]


class MailGiven(Given):
    address: Email


class WebhookGiven(Given):
    url: Url


class Code(Given):
    code: str = Field(min_length=1, max_length=100)


class ChannelView(Value):
    """`secret` signs what is sent to a webhook; it is shown when it is made, and not again."""

    kind: ChannelKind
    address: str
    confirmed: bool
    secret: str | None = None


async def channels(gateway: Gateway, caller: Caller, person: str) -> list[ChannelView]:
    towards_profile(caller, person, Action.CHANNELS)
    return [_view(one) for one in await gateway.library.notifications.channels(person)]


async def set_mail(gateway: Gateway, caller: Caller, person: str, given: MailGiven, *, language: str) -> ChannelView:
    """Sends a code there, which `confirm` takes. Raises `Problem` where no mail is sent from here."""
    towards_profile(caller, person, Action.CHANNELS)
    try:
        channel = await offer_mail(gateway, person, given.address, language=language)
    except NotSent:
        raise Problem("mail_away", "the code could not be sent; check the address and try again", status=503) from None
    return _view(channel)


async def offer_mail(gateway: Gateway, person: str, address: str, *, language: str) -> Channel:
    """The channel, not confirmed yet, and a mail with its code. Raises `NotSent`, `Problem`."""
    notifier = gateway.notifiers.get("mail")
    if notifier is None:
        raise Problem("no_mail", "this installation sends no mail: use a webhook, or look into the inbox", status=422)
    channel, code = Channel(person=person, kind="mail", address=address), secrets.token_urlsafe(9)
    await gateway.library.notifications.set_channel(channel, code=code)
    subject, text = wording.code_mail(code, language)
    await notifier.send(
        Outgoing(id=text_id("code", person, code), address=address, subject=subject, text=text, data={"what": "code"})
    )
    return channel


async def confirm_mail(gateway: Gateway, caller: Caller, person: str, given: Code) -> ChannelView:
    """Raises `Problem` for a code that is not the last one sent."""
    towards_profile(caller, person, Action.CHANNELS)
    try:
        await gateway.library.notifications.confirm(person, "mail", given.code)
    except WrongCode as error:
        raise Problem("wrong_code", str(error), status=422, field="code") from None
    found = await gateway.library.notifications.channels(person)
    return next(_view(one) for one in found if one.kind == "mail")


async def set_webhook(gateway: Gateway, caller: Caller, person: str, given: WebhookGiven) -> ChannelView:
    """A new secret each time. Raises `Problem` for an address without TLS, unless the installation allows it."""
    towards_profile(caller, person, Action.CHANNELS)
    if not given.url.startswith("https://") and not gateway.options.private_addresses:
        raise Problem("not_https", "a webhook's address begins with https://", status=422, field="url")
    channel = Channel(person=person, kind="webhook", address=given.url, secret=new_secret(), confirmed=True)
    await gateway.library.notifications.set_channel(channel)
    return _view(channel, secret=channel.secret)


async def remove(gateway: Gateway, caller: Caller, person: str, kind: Literal["mail", "webhook"]) -> None:
    towards_profile(caller, person, Action.CHANNELS)
    await gateway.library.notifications.remove_channel(person, kind)


def _view(channel: Channel, *, secret: str | None = None) -> ChannelView:
    return ChannelView(kind=channel.kind, address=channel.address, confirmed=channel.confirmed, secret=secret)
