"""References to processes and people in commands: an id, a unique part of an id, or the file of a profile.

The shell completion offers the same ids (`options.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.errors import BadInput, NotFound
from tongyao.commands.context import open_records
from tongyao.commands.words import say
from tongyao.protocol.model.ids import stem_id
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.unicode_text import normalized

if TYPE_CHECKING:
    from tongyao.records.process.process_rows import ProcessRow
    from tongyao.records.repositories import Repositories

_ALIAS: Final = re.compile(r"P\d{2,3}")
_SHOWN: Final = 5


def digest_of_file(path: Path) -> str:
    """Return a digest of a file's path. It identifies the file without storing the names of folders."""
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()


async def find_process(given: str) -> str:
    """Return the id of a process. `given`: the id or its beginning. Raises `BadInput`, `NotFound`.

    A child's id begins with its parent's id (`c-12ab.2-2`). If both ids begin with `given`, the parent is meant.
    """
    found = await processes_like(given)
    if given in found:
        return given
    parent = min(found, key=len, default="")
    if parent and all(id == parent or id.startswith(f"{parent}.") for id in found):
        return parent
    return _only(given, found, what="process")


async def processes_like(given: str) -> Sequence[str]:
    async with open_records() as repositories:
        return await repositories.processes.ids_like(given)


async def people_like(given: str) -> Sequence[str]:
    async with open_records() as repositories:
        return await repositories.profiles.ids_like(given)


async def find_person(repositories: Repositories, given: str) -> str:
    """Return the id of a profile. `given`: the id, a unique part of it, or a file. Raises `BadInput`, `NotFound`.

    A file means the profile that was registered from it, otherwise the profile whose id is the name of the file.
    """
    profiles = repositories.profiles
    if given in await profiles.known([given]):
        return given
    if Path(given).suffix:
        if of_file := await ids_of_file(repositories, given):
            return _only(given, of_file, what="profile")
        if (stem := stem_id(Path(given).stem)) in await profiles.known([stem]):
            return stem
    return _only(given, await profiles.ids_like(given), what="profile")


async def ids_of_file(repositories: Repositories, given: str) -> list[str]:
    """Return the ids of the profiles that were registered from this file."""
    return list(await repositories.profiles.of_file(digest_of_file(Path(given))))


async def find_people(given: Sequence[str]) -> list[str]:
    """Return the ids of profiles (`find_person`). Opens the records for this."""
    if not given:
        return []
    async with open_records() as repositories:
        return [await find_person(repositories, person) for person in given]


async def demander_or_profile(repositories: Repositories, given: str) -> str:
    """Return `given` if it is the id of a demander, otherwise the profile's id (`find_person`).

    Raises `BadInput`, `NotFound`.
    """
    if (await repositories.processes.list(demander=given, limit=1)).rows:
        return given
    return await find_person(repositories, given)


async def alias_in(repositories: Repositories, process: ProcessRow, given: str) -> str:
    """Return an alias of a process. `given`: the alias, or a reference to its person. Raises `BadInput`, `NotFound`.

    References are tried in this order: the file, the id, the beginning of the id or its last part after `-` or `.`, any
    part of the id or of the name.
    """
    if _ALIAS.fullmatch(given):
        return given
    seats = {seat.person: seat.alias for seat in await repositories.seats.seats(process.id)}
    people = {**seats, process.demander: seats.get(process.demander, DEMANDER)}
    is_file = bool(Path(given).suffix)
    part = stem_id(Path(given).stem) if is_file else given
    of_file = set(await ids_of_file(repositories, given)) & people.keys() if is_file else set()
    found = (
        sorted(of_file)
        or [person for person in people if person == part]
        or [person for person in people if person.startswith(part) or person.endswith((f"-{part}", f".{part}"))]
    )
    names: dict[str, str] = {}
    if not found and not is_file:
        known = await repositories.profiles.get_many(list(people))
        names = {id: profile.display_name for id, profile in known.items()}
        wanted = _plain(given)
        found = [
            person
            for person in people
            if wanted and (wanted in _plain(person) or wanted in _plain(names.get(person, "")))
        ]
    if len(found) == 1:
        return people[found[0]]
    if found:
        shown = [f"{person} ({names[person]})" if names.get(person) else person for person in found]
        raise BadInput("several", say("wrong.several_people", given=repr(given), found=_list(shown)), field="as")
    if not seats:
        raise NotFound(
            "no_seats_yet", say("wrong.no_seats_yet", process=process.id, phase=say(f"phase.{process.phase}"))
        )
    raise NotFound("no_such_seat", say("wrong.no_such_seat", process=process.id, given=repr(given)))


def _plain(text: str) -> str:
    return " ".join(normalized("NFKC", text).casefold().split())


async def party_in(repositories: Repositories, process: ProcessRow, given: str) -> Caller:
    """Return the demander or participant as a caller. `given`: as in `alias_in`. Raises `BadInput`, `NotFound`."""
    alias = await alias_in(repositories, process, given)
    if alias == DEMANDER:
        return Caller(Role.PERSON, process.demander)
    seats = await repositories.seats.seats(process.id)
    person = next((seat.person for seat in seats if seat.alias == alias), None)
    if person is None:
        raise NotFound("no_such_seat", say("wrong.no_such_seat", process=process.id, given=alias))
    return Caller(Role.PARTICIPANT, person, process_id=process.id, alias=alias)


def _only(given: str, found: Sequence[str], *, what: str) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput("several", say("wrong.several_ids", given=repr(given), found=_list(found)), field=what)
    raise NotFound(f"no_such_{what}", say(f"wrong.no_{what}", given=repr(given)))


def _list(found: Sequence[str]) -> str:
    shown = ", ".join(found[:_SHOWN])
    return say("wrong.and_others", found=shown) if len(found) > _SHOWN else shown
