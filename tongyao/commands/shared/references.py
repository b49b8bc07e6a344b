"""How commands name processes and people: by an id, by a part of it that is unique, or by the file of a profile.

The completion of the shell offers the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotFound
from tongyao.commands.shared.common import app_context, run
from tongyao.protocol.model.process import DEMANDER

if TYPE_CHECKING:
    from tongyao.records.process.processes import ProcessRow

_WHOLE_ID: Final = re.compile(r"c-[0-9a-f]{16}")
_ALIAS: Final = re.compile(r"P\d{2,3}")
_NOT_IN_ID: Final = re.compile(r"[^\w.-]+")
_SHOWN: Final = 5


def id_of_file(path: Path, scene: str = "") -> str:
    """The profile id of a file: the last parts of its path, so that two files of the same name stay two people."""
    parts = path.resolve().with_suffix("").parts[-3:]
    made = _NOT_IN_ID.sub("-", "-".join(parts)).strip("-")
    return f"{scene}-{made}" if scene else made


def find_process(given: str) -> str:
    """The id of the process that `given` means: a whole id, or the beginning of one. Raises `BadInput`, `NotFound`."""
    return given if not given or _WHOLE_ID.fullmatch(given) else run(_find_process(given))


async def _find_process(given: str) -> str:
    async with app_context() as context:
        found = await context.repositories.processes.ids_like(given)
    if given in found:
        return given
    return _only(given, found, what="process", listed_by="tongyao list")


async def find_person(context: AppContext, given: str) -> str:
    """The id of the profile that `given` means: an id, a unique part of one, or a file. Raises `BadInput`, `NotFound`."""
    profiles = context.repositories.profiles
    if given in await profiles.get_many([given]):
        return given
    if Path(given).suffix and (of_file := id_of_file(Path(given))) in await profiles.get_many([of_file]):
        return of_file
    return _only(given, await profiles.ids_like(given), what="profile", listed_by="tongyao field list")


async def alias_in(context: AppContext, process: ProcessRow, given: str) -> str:
    """The alias of whom `given` means in a process: an alias, or somebody who sits there. Raises `BadInput`, `NotFound`."""
    if _ALIAS.fullmatch(given):
        return given
    seats = {seat.person: seat.alias for seat in await context.repositories.seats.seats(process.id)}
    people = {**seats, process.demander: seats.get(process.demander, DEMANDER)}
    part = id_of_file(Path(given)) if Path(given).suffix else given
    found = [one for one in people if one == part] or [
        one for one in people if one.startswith(part) or one.endswith((f"-{part}", f".{part}"))
    ]
    if len(found) == 1:
        return people[found[0]]
    if found:
        raise BadInput("several", f"{given!r} may be {_list(found)}: say which", field="as")
    raise NotFound(
        "no_such_seat", f"{process.id} has nobody called {given!r}: name an alias (P01), or the id of a person in it"
    )


def _only(given: str, found: Sequence[str], *, what: str, listed_by: str) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput("several", f"{given!r} may be {_list(found)}: say more of the id", field=what)
    raise NotFound(f"no_such_{what}", f"there is no {what} {given!r}: `{listed_by}` shows them")


def _list(found: Sequence[str]) -> str:
    return ", ".join(found[:_SHOWN]) + (" and others" if len(found) > _SHOWN else "")


def _completing(find: Callable[[AppContext, str], Awaitable[Sequence[str]]]) -> Callable[[str], list[str]]:
    """A completion of the shell. It offers nothing where no service runs, and never fails."""

    async def found(incomplete: str) -> list[str]:
        async with app_context() as context:
            return list(await find(context, incomplete))

    def complete(incomplete: str) -> list[str]:
        try:
            return run(found(incomplete))
        except Exception:  # an error would end up in the line that somebody types
            return []

    return complete


complete_process = _completing(lambda context, given: context.repositories.processes.ids_like(given))
complete_person = _completing(lambda context, given: context.repositories.profiles.ids_like(given))

Process = Annotated[
    str,
    typer.Argument(help="Id of the process, or its beginning.", callback=find_process, autocompletion=complete_process),
]
Who = Annotated[
    str,
    typer.Option(
        "--as",
        help="Whom it is for: an alias (P01; P00: the demander), a profile id or a unique part of one, or the file.",
        autocompletion=complete_person,
    ),
]
