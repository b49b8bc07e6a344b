"""Accounts at an OpenID provider with which people sign in."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Final

from psycopg.errors import UniqueViolation

from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, fetch_all, fetch_one, session, transaction

_COLUMNS: Final = """person, issuer, account, made_with, created_at, (made_with IS NULL OR EXISTS (SELECT 1 FROM tokens t
    WHERE t.id = made_with AND t.revoked_at IS NULL AND COALESCE(t.expires_at > now(), true))) AS good"""


class OpenIDLink(Value):
    """An account that signs in `person`. `account`: SHA-256 of the account's id at the provider.

    `made_with`: the bearer token with which it was connected, or None. `good`: whether that token is valid.
    """

    person: str
    issuer: str
    account: str
    made_with: str | None
    created_at: datetime
    good: bool


class OpenIDLinks:
    """All connected accounts."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, person: str, issuer: str, subject: str, *, made_with: str | None) -> bool:
        """Connect an account, in place of the person's earlier one at this provider. False if another person has it."""
        try:
            async with transaction(self._pool) as connection:
                await connection.execute(
                    """INSERT INTO openid_links (person, issuer, account, made_with) VALUES (%s, %s, %s, %s)
                       ON CONFLICT (person, issuer) DO UPDATE
                       SET account = excluded.account, made_with = excluded.made_with, created_at = now()""",
                    [person, issuer, _digest(subject), made_with],
                )
        except UniqueViolation:
            return False
        return True

    async def find(self, issuer: str, subject: str) -> OpenIDLink | None:
        query = f"SELECT {_COLUMNS} FROM openid_links WHERE issuer = %s AND account = %s"
        return await fetch_one(self._pool, OpenIDLink, query, [issuer, _digest(subject)])

    async def of_person(self, person: str) -> list[OpenIDLink]:
        query = f"SELECT {_COLUMNS} FROM openid_links WHERE person = %s ORDER BY issuer"
        return await fetch_all(self._pool, OpenIDLink, query, [person])

    async def remove(self, person: str, issuer: str) -> None:
        async with session(self._pool) as connection:
            await connection.execute("DELETE FROM openid_links WHERE person = %s AND issuer = %s", [person, issuer])


def _digest(subject: str) -> str:
    return hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()
