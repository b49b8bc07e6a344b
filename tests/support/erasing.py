"""Taking away somebody's words for tests of what reads them; the whole of erasure is tests/erasure."""

from __future__ import annotations

from tongyao.records.database import Pool, session
from tongyao.records.privacy.erasure import Erasing


async def erase_from_records(pool: Pool, owner: str) -> int:
    """The part of an erasure that changes tables, as the product does it; returns how many bodies were removed."""
    erasing = Erasing(pool)
    await erasing.begin(owner)
    return (await erasing.finish(owner)).report["texts"]


async def destroy_key(pool: Pool, owner: str) -> None:
    """Remove the owner's bodies and destroy their key, and nothing else: rows that point to them stay."""
    async with session(pool) as connection:
        await connection.execute("SELECT erase_texts(%s)", [owner])
