"""Drafts: texts that a person has written but not sent. Nobody else can read them, and no process uses them."""

from __future__ import annotations

from datetime import datetime

from tongyao.protocol.model.value import Value
from tongyao.records.database import Repository, transaction
from tongyao.records.privacy.keys import seal, unseal
from tongyao.records.privacy.texts import data_key


class KeptDraft(Value):
    text: str
    kept_at: datetime


class Drafts(Repository):
    """One draft per owner and ask. A new draft replaces the old one."""

    async def keep(self, owner: str, ask: str, text: str) -> None:
        """Store a draft. Raises `TextErased` if the owner was erased."""
        async with transaction(self._pool) as connection:
            key = await data_key(connection, owner)
            body = text.encode("utf-8") if key is None else seal(key, text, _context(owner, ask))
            await connection.execute(
                """INSERT INTO drafts (owner, ask, body, sealed) VALUES (%s, %s, %s, %s)
                   ON CONFLICT (owner, ask) DO UPDATE SET
                       body = excluded.body, sealed = excluded.sealed, updated_at = now()""",
                [owner, ask, body, key is not None],
            )

    async def get(self, owner: str, ask: str) -> KeptDraft | None:
        """Return the draft, or None."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute("SELECT * FROM drafts WHERE owner = %s AND ask = %s", [owner, ask])
            row = await cursor.fetchone()
            if row is None:
                return None
            body = bytes(row["body"])
            if not row["sealed"]:
                return KeptDraft(text=body.decode("utf-8"), kept_at=row["updated_at"])
            key = await data_key(connection, owner)
            assert key is not None
            return KeptDraft(text=unseal(key, body, _context(owner, ask)), kept_at=row["updated_at"])

    async def remove(self, owner: str, ask: str) -> None:
        await self._run("DELETE FROM drafts WHERE owner = %s AND ask = %s", [owner, ask])


def _context(owner: str, ask: str) -> str:
    return f"draft/{owner}/{ask}"
