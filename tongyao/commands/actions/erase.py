"""What `erase` does: erase a person (docs/erasure.md)."""

from __future__ import annotations

from tongyao.app.errors import NotFound
from tongyao.app.people import erasure
from tongyao.commands.context import OPERATOR, app_context, records_context
from tongyao.commands.references import demander_or_profile, ids_of_file


async def person_of(given: str) -> tuple[str, bool]:
    """Whom `given` means, and whether it names them whole: by the id, or by the file that their profile was given as.

    Itself where there is no profile like it, since somebody without one can be erased, too.
    """
    async with records_context() as context:
        try:
            person = await demander_or_profile(context, given)
        except NotFound:
            return given, True
        return person, person == given or person in await ids_of_file(context, given)


async def concerned(person: str) -> erasure.Concerned:
    async with app_context() as context:
        return await erasure.concerned_by_erasure(context, OPERATOR, person)


async def erase(person: str, patience: float) -> erasure.Erased:
    async with app_context() as context:
        return await erasure.erase(context, OPERATOR, person, patience=patience)
