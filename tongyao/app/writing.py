"""The transaction of a write: a credential counts when something is stored, not when the request began.

A request is authenticated at its head. Its body may follow minutes later, and in the meantime its token is revoked, its session is
closed or its person is erased. So every use case that stores something for a caller does it in a block of `writing`.
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
    """Whatever the block asks of the records is one transaction, in which the caller's credential counts.

    No two blocks for one person run at a time, so a block may count what somebody has and add to it. The block must not wait for
    anything slow, and must not ask two things at the same time.

    `caller`: whose token, session or link is checked, and locked with the token that opened it. One without an `id`, and whoever
    runs a command on the machine, has none. `person`: for whom something is stored; by default the caller.

    Raises `Unauthenticated` where the credential was revoked or has expired since the request began, `Gone` where the person was erased.
    """
    owner = person or caller.person
    async with one_at_a_time(repositories.pool, f"person/{owner or caller.id}"):
        if caller.id and not caller.on_the_machine:
            check_token(await repositories.tokens.hold(caller.id))
        if owner and await Erasing(repositories.pool).erased(owner):
            raise Gone("erased", "this person was erased: nothing is stored for them any more")
        yield


def check_token(token: Token | None) -> Token:
    """The token, which is good. Raises `Unauthenticated` when there is none, or it is no longer good."""
    if token is None:
        raise Unauthenticated("token_unknown", "this token is unknown: check that it is complete")
    if token.revoked_at is not None:
        raise Unauthenticated("token_revoked", f"this token was revoked: {_NEW_ONE}")
    if token.expired:
        raise Unauthenticated("token_expired", f"this token has expired: {_NEW_ONE}")
    return token
