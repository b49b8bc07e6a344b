"""Browser sessions. A personal link or a token opens them. They are short, extended by use, and revocable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit_own
from tongyao.app.context import AppContext
from tongyao.app.errors import NotAllowed, Unauthenticated
from tongyao.app.people.acting import tell_acted_for
from tongyao.app.writing import writing
from tongyao.records.people.tokens import Issued, Token, Tokens

MOST_DAYS: Final = 30
"""Longest duration of a session, however often it is used."""
LINK: Final = "personal link"
LINK_IN_MAIL: Final = "personal link in a mail"
"""The labels of personal links: `LINK` for links that were issued, `LINK_IN_MAIL` for links in mails."""
LINK_DAYS: Final = 7
"""Validity of an unused personal link."""


def link_address(where: str, secret: str) -> str:
    """Return the URL of a personal link. `where`: the address of the gateway."""
    return f"{where.rstrip('/')}/console/enter?link={secret}"


async def issue_link(context: AppContext, caller: Caller, person: str | None) -> Issued:
    """Issue a personal link, which opens one session as this person, or as an operator if `person` is None.

    People make links for themselves, operators for operators, and callers on the machine for anybody. An unused earlier
    link is revoked, except links in mails.
    """
    permit_own(caller, Action.ISSUE_TOKEN)
    if not caller.operator and person != caller.person:
        raise NotAllowed("you can make links for yourself only")
    if caller.operator and not caller.on_the_machine and person:
        raise NotAllowed("a link for another person cannot be made over the network: make it on the machine")
    tokens = context.repositories.tokens
    async with writing(context.repositories, caller, person or ""):
        if person:
            await tell_acted_for(context, caller, person, "token_made")
        await tokens.revoke_links(person, label=LINK)
        return await new_link(tokens, person, LINK, await tokens.root(caller.id))


async def new_link(tokens: Tokens, person: str | None, label: str, root: Token | None) -> Issued:
    """Issue a link that is valid for `LINK_DAYS`, but no longer than `root`, the token with which it is made."""
    return await tokens.issue(
        "person" if person else "operator",
        person=person,
        label=label,
        lasts=no_longer_than(root, timedelta(days=LINK_DAYS)),
        kind="link",
        opened_by=root.id if root else None,
    )


async def open_session(context: AppContext, secret: str, *, place: str, hours: int | None = None) -> Issued:
    """Open a session with a token, or with a link, which can be used only once. Raises `Unauthenticated`.

    `place`: the address at which the session is opened; it is valid only there. `hours`: its longest duration.
    """
    tokens, most = context.repositories.tokens, context.options.session_hours
    unknown = Unauthenticated("link_unknown", "this link or token is not valid, or no longer valid: ask for a new one")
    opener = await tokens.find(secret, kind="link") or await tokens.find(secret)
    if opener is None or opener.over:
        raise unknown
    async with writing(context.repositories, Caller(person=opener.person or "", id=opener.id)):
        if opener.kind == "link" and await tokens.spend(secret) is None:
            raise unknown
        root = await tokens.root(opener.id)
        return await tokens.issue(
            opener.role,
            person=opener.person,
            process_id=opener.process_id,
            alias=opener.alias,
            step=opener.step,
            label=place,
            lasts=no_longer_than(root, timedelta(hours=min(hours or most, most))),
            kind="session",
            opened_by=(root or opener).id,
        )


def no_longer_than(root: Token | None, lasts: timedelta | None) -> timedelta | None:
    """Return the duration of a token made with `root`, or with a session or link of `root`. None means unlimited."""
    if root is None or root.expires_at is None:
        return lasts
    left = root.expires_at - datetime.now(UTC)
    return left if lasts is None else min(lasts, left)


async def find_session(context: AppContext, secret: str, *, place: str) -> Token | None:
    """Return the session with this secret that was opened at this address, or None.

    A person's session is extended by its full duration when it is used in its second half, but not past `MOST_DAYS` or
    the end of the token that opened it.
    """
    token = await context.repositories.tokens.find(secret, kind="session")
    if token is None or token.label != place:
        return None
    lasts = timedelta(hours=context.options.session_hours)
    if token.expires_at is None or token.expired or token.revoked_at is not None or token.role != "person":
        return token
    if token.expires_at - datetime.now(UTC) < lasts / 2:
        return await context.repositories.tokens.prolong(token.id, lasts=lasts, most=timedelta(days=MOST_DAYS))
    return token


async def close_session(context: AppContext, secret: str) -> None:
    """End the session with this secret, if there is one."""
    token = await context.repositories.tokens.find(secret, kind="session")
    if token is not None:
        await context.repositories.tokens.revoke(token.id)
