"""Sign-in with an account at an OpenID provider (SECURITY.md, "Who may do what").

An account in the group of operators opens the operators' pages. Any other account signs in the person who connected it
in their own session. A name or mail address connects no account. Each sign-in makes a personal link that is used at
once.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile
from tongyao.app.context import AppContext, OpenIDAccount, OpenIDProvider
from tongyao.app.errors import BadInput, NotOffered
from tongyao.app.writing import writing
from tongyao.records.people.notifications import Notice
from tongyao.records.people.openid_links import OpenIDLink
from tongyao.records.people.tokens import Issued

_LABEL: Final = "openid"
"""Label of the links of sign-ins. For operators, the label also contains the provider's id of the account."""
_LASTS: Final = timedelta(minutes=1)


def openid_provider(context: AppContext) -> OpenIDProvider:
    """Return the provider. Raises `NotOffered` if the settings name none."""
    if context.openid is None:
        raise NotOffered("openid_off", "nobody signs in by OpenID Connect here: TONGYAO_OPENID_ISSUER is not set")
    return context.openid


async def issue_openid_link(context: AppContext, account: OpenIDAccount) -> Issued | None:
    """Return a link to a session of the account's person or an operator, valid a minute. None if unknown."""
    tokens, issuer = context.repositories.tokens, openid_provider(context).issuer
    if account.operator:
        return await tokens.issue("operator", label=f"{_LABEL} {account.subject}", lasts=_LASTS, kind="link")
    link = await context.repositories.openid_links.find(issuer, account.subject)
    if link is None or not link.good:
        return None
    return await tokens.issue(
        "person", person=link.person, label=_LABEL, lasts=_LASTS, kind="link", opened_by=link.made_with
    )


async def connect_account(context: AppContext, caller: Caller, account: OpenIDAccount) -> None:
    """Connect the account to the caller while the token on which their session rests is valid. The person is told.

    It replaces an earlier account. Raises `BadInput` for an operator's account, or that of another person.
    """
    authorize_for_profile(caller, caller.person, Action.CHANNELS)
    if account.operator:
        raise BadInput("account_of_operator", "this account signs in operators: connect another, or use personal links")
    issuer, repositories = openid_provider(context).issuer, context.repositories
    async with writing(repositories, caller):
        root = await repositories.tokens.root(caller.id)
        made_with = root.id if root else None
        if not await repositories.openid_links.put(caller.person, issuer, account.subject, made_with=made_with):
            raise BadInput("account_taken", "this account opens another person here: they disconnect it first")
        told = {"what": "account_connected"}
        notice = Notice(source=f"openid/{uuid.uuid4().hex}", person=caller.person, about=told)
        await repositories.notifications.tell(notice)


async def connected_account(context: AppContext, caller: Caller) -> OpenIDLink | None:
    """Return the account that signs in the caller; None if the caller has no valid connection to an account."""
    links = await context.repositories.openid_links.of_person(caller.person) if context.openid else []
    return next((link for link in links if link.good and context.openid and link.issuer == context.openid.issuer), None)


async def disconnect_account(context: AppContext, caller: Caller) -> None:
    """Disconnect the account. The person's sessions in other browsers end."""
    authorize_for_profile(caller, caller.person, Action.CHANNELS)
    tokens, issuer = context.repositories.tokens, openid_provider(context).issuer
    async with writing(context.repositories, caller):
        await context.repositories.openid_links.remove(caller.person, issuer)
        for token in await tokens.list(person=caller.person):
            if token.kind == "session" and token.id != caller.id and not token.over:
                await tokens.revoke(token.id)
