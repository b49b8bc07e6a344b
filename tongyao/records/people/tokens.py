"""Access tokens. They are random, and only their SHA-256 is stored (docs/api.md, "Tokens")."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final, Literal

from tongyao.protocol.model.value import Value
from tongyao.records.database import RecordsError, Repository, transaction

PREFIX: Final = "ty_"
"""The beginning of every token. Secret scanners can search for it."""

TokenRole = Literal["operator", "person", "participant", "calls"]

TokenKind = Literal["bearer", "link", "session"]
"""`bearer`: for the API and MCP. `link`: a personal link to the console, used once. `session`: of a browser, in a cookie."""


class TokenUnknown(RecordsError):
    """No token has this id."""


class Token(Value):
    """A stored token, without its secret.

    `person` is None for operators and `calls`. Only `participant` and `calls` have an `alias`, and only `calls` has a
    `step`. `name`: the label of the token that opened a session, or the token's own label.
    """

    id: str
    kind: TokenKind = "bearer"
    role: TokenRole
    person: str | None
    process_id: str | None
    alias: str | None
    step: str | None = None
    label: str
    name: str = ""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    expired: bool

    @property
    def over(self) -> bool:
        """Whether the token has expired or was revoked."""
        return self.expired or self.revoked_at is not None


class Issued(Value):
    """A new token with its secret, which is shown only once."""

    token: Token
    secret: str


_COLUMNS = """id, kind, role, person, process_id, alias, step, label,
    COALESCE((SELECT o.label FROM tokens o WHERE o.id = tokens.opened_by), label) AS name, created_at, expires_at, revoked_at, used_at,
    COALESCE(expires_at <= now(), false) AS expired"""


class Tokens(Repository):
    """All tokens."""

    async def issue(
        self,
        role: TokenRole,
        *,
        person: str | None = None,
        process_id: str | None = None,
        alias: str | None = None,
        step: str | None = None,
        label: str = "",
        lasts: timedelta | None = None,
        kind: TokenKind = "bearer",
        opened_by: str | None = None,
    ) -> Issued:
        """Issue a token. `lasts`: duration from now; None: until it is revoked. `opened_by`: when that token ends, this one ends too."""
        secret = PREFIX + secrets.token_urlsafe(32)
        token = await self._one(
            Token,
            f"""INSERT INTO tokens (id, sha256, kind, opened_by, role, person, process_id, alias, step, label, expires_at)
                VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, now() + %s) RETURNING {_COLUMNS}""",
            [
                f"t-{secrets.token_hex(8)}",
                _hash(secret),
                kind,
                opened_by,
                role,
                person,
                process_id,
                alias,
                step,
                label,
                lasts,
            ],
        )
        assert token is not None
        return Issued(token=token, secret=secret)

    async def find(self, secret: str, *, kind: TokenKind = "bearer") -> Token | None:
        """The token of this kind with this secret, or None. Expired and revoked tokens are returned too. The first use is noted."""
        token = await self._one(
            Token, f"SELECT {_COLUMNS} FROM tokens WHERE sha256 = %s AND kind = %s", [_hash(secret), kind]
        )
        if token is not None and token.used_at is None:
            await self._run("UPDATE tokens SET used_at = now() WHERE id = %s AND used_at IS NULL", [token.id])
        return token

    async def spend(self, secret: str) -> Token | None:
        """Use up the link with this secret and return it. None if there is no such link, or if it is no longer valid."""
        return await self._one(
            Token,
            f"""UPDATE tokens SET used_at = now(), revoked_at = now()
                WHERE sha256 = %s AND kind = 'link' AND revoked_at IS NULL AND COALESCE(expires_at > now(), true)
                RETURNING {_COLUMNS}""",
            [_hash(secret)],
        )

    async def prolong(self, id: str, *, lasts: timedelta, most: timedelta) -> Token:
        """Extend a token to `lasts` from now, but at most to `most` after its creation and to the end of the token that
        opened it.

        A token that has expired or was revoked is not changed. Raises `TokenUnknown`.
        """
        await self._run(
            """UPDATE tokens AS t SET expires_at = greatest(t.expires_at, least(now() + %s, t.created_at + %s,
                   (SELECT o.expires_at FROM tokens o WHERE o.id = t.opened_by AND o.kind = 'bearer')))
               WHERE t.id = %s AND t.revoked_at IS NULL AND t.expires_at > now()""",
            [lasts, most, id],
        )
        return await self.get(id)

    async def get(self, id: str) -> Token:
        """Return one token. Raises `TokenUnknown`."""
        token = await self._one(Token, f"SELECT {_COLUMNS} FROM tokens WHERE id = %s", [id])
        if token is None:
            raise TokenUnknown(f"there is no token {id!r}")
        return token

    async def root(self, id: str) -> Token | None:
        """The bearer token behind this token: itself, or the token that opened the session or made the link. None if there is none."""
        return await self._one(
            Token,
            f"""SELECT {_COLUMNS} FROM tokens
                WHERE kind = 'bearer' AND id IN (%s, (SELECT opened_by FROM tokens WHERE id = %s))""",
            [id, id],
        )

    async def hold(self, id: str) -> Token | None:
        """Lock the token and the token that opened it until the transaction ends, so that neither is revoked before.

        Returns the first of the two that has ended. If neither has ended, returns the token itself, or None if it does
        not exist. The token that opened a session counts only if it is a bearer token. A link is used up when it opens
        a session, and this does not end the session.
        """
        held = await self._all(
            Token,
            f"""SELECT {_COLUMNS} FROM tokens
                WHERE id = %(id)s OR (kind = 'bearer' AND id = (SELECT opened_by FROM tokens WHERE id = %(id)s))
                ORDER BY id FOR SHARE""",
            {"id": id},
        )
        own = next((token for token in held if token.id == id), None)
        return next((token for token in held if token.over), own)

    async def list(self, *, person: str | None = None) -> list[Token]:
        """The tokens of one person, or all tokens, newest first."""
        return await self._all(
            Token,
            f"""SELECT {_COLUMNS} FROM tokens WHERE %(person)s::text IS NULL OR person = %(person)s
                ORDER BY created_at DESC, id""",
            {"person": person},
        )

    async def revoke(self, id: str) -> Token:
        """Revoke a token and the sessions opened with it. Repeating it changes nothing. Raises `TokenUnknown`."""
        async with transaction(self._pool) as connection:
            # First lock the row alone: a session that is being opened with it holds the row (`hold`), and the next
            # statement sees that session.
            await connection.execute("SELECT 1 FROM tokens WHERE id = %s FOR UPDATE", [id])
            await connection.execute(
                "UPDATE tokens SET revoked_at = now() WHERE %s IN (id, opened_by) AND revoked_at IS NULL", [id]
            )
        return await self.get(id)

    async def revoke_links(self, person: str | None, *, label: str | None = None) -> None:
        """Revoke the unused personal links of a person, or of operators (None): links with this label, or all."""
        await self._run(
            """UPDATE tokens SET revoked_at = now()
               WHERE person IS NOT DISTINCT FROM %(person)s AND label = COALESCE(%(label)s, label)
                 AND kind = 'link' AND revoked_at IS NULL""",
            {"person": person, "label": label},
        )

    async def revoke_all(self, person: str) -> int:
        """Revoke all tokens of a person. Returns the number of tokens that were not yet revoked."""
        return await self._run(
            "UPDATE tokens SET revoked_at = now() WHERE person = %s AND revoked_at IS NULL", [person]
        )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
