"""Removes a person's words, for tests of code that reads them. tests/erasure tests the whole of erasure."""

from __future__ import annotations

from tongyao.records.database import Pool, session
from tongyao.records.privacy.erasure import Erasing


async def erase_from_records(pool: Pool, owner: str) -> int:
    """Run the part of an erasure that changes tables, as the product does. Returns the number of removed bodies."""
    erasing = Erasing(pool)
    await erasing.begin(owner)
    return (await erasing.finish(owner)).report["texts"]


async def destroy_key(pool: Pool, owner: str) -> None:
    """Remove the owner's bodies and destroy their key. Nothing else changes: rows that refer to the texts stay."""
    async with session(pool) as connection:
        await connection.execute("SELECT erase_texts(%s)", [owner])
