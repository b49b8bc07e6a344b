"""The transaction of a write. It checks the credential at the time of storing.

A request is authenticated when its head arrives. Its body may arrive minutes later, after its token was revoked, its
session was closed or its person was erased. So every use case that stores data for a caller uses a block of `writing`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tongyao.app.authorization import Caller
from tongyao.app.errors import Gone, Unauthenticated
from tongyao.records.database import one_at_a_time
from tongyao.records.people.tokens import Token
from tongyao.records.privacy.erasure import Erasing
from tongyao.records.repositories import Repositories

_NEW_ONE: Final = "an operator makes a new one on the machine (`tongyao token create`)"


@asynccontextmanager
async def writing(repositories: Repositories, caller: Caller, person: str = "") -> AsyncIterator[None]:
    """Run the block in one transaction in which the caller's credential is valid.

    Blocks for one person do not run concurrently, so a block may count a person's rows and add to them. The block must
    not wait for slow operations, and must not run queries concurrently.

    `caller`: their token, session or link is checked and locked, together with the token that opened it. A caller
    without an `id`, or on the machine, has none. `person`: the person for whom data is stored; by default the caller.

    Raises `Unauthenticated` if the credential was revoked or has expired, `Gone` if the person was erased.
    """
    owner = person or caller.person
    async with one_at_a_time(repositories.pool, f"person/{owner or caller.id}"):
        if caller.id and not caller.on_the_machine:
            check_token(await repositories.tokens.hold(caller.id))
        if owner and await Erasing(repositories.pool).erased(owner):
            raise Gone("erased", "this person was erased: nothing is stored for them any more")
        yield


def check_token(token: Token | None) -> Token:
    """Return the token if it is valid. Raises `Unauthenticated` if it is missing or not valid."""
    if token is None:
        raise Unauthenticated("token_unknown", "this token is unknown: check that it is complete")
    if token.revoked_at is not None:
        raise Unauthenticated("token_revoked", f"this token was revoked: {_NEW_ONE}")
    if token.expired:
        raise Unauthenticated("token_expired", f"this token has expired: {_NEW_ONE}")
    return token
