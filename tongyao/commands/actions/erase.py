"""What `erase` does: erase a person (docs/erasure.md)."""

from __future__ import annotations

from tongyao.app.errors import NotFound
from tongyao.app.people import erasure
from tongyao.commands.shared.common import OPERATOR, app_context, records_context
from tongyao.commands.shared.references import demander_or_profile


async def person_of(given: str) -> str:
    """Whom `given` means; itself where there is no profile like it, since somebody without one can be erased, too."""
    async with records_context() as context:
        try:
            return await demander_or_profile(context, given)
        except NotFound:
            return given


async def concerned(person: str) -> erasure.Concerned:
    async with app_context() as context:
        return await erasure.concerned_by_erasure(context, OPERATOR, person)


async def erase(person: str, patience: float) -> erasure.Erased:
    async with app_context() as context:
        return await erasure.erase(context, OPERATOR, person, patience=patience)
