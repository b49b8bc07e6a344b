"""What `erase` does: erase a person (docs/erasure.md)."""

from __future__ import annotations

from tongyao.app.people import erasure
from tongyao.commands.shared.common import OPERATOR, app_context


async def concerned(person: str) -> erasure.Concerned:
    async with app_context() as context:
        return await erasure.concerned_by_erasure(context, OPERATOR, person)


async def erase(person: str, patience: float) -> erasure.Erased:
    async with app_context() as context:
        return await erasure.erase(context, OPERATOR, person, patience=patience)
