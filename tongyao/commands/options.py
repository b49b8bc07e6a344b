"""Arguments and options that several commands have. Processes and people are looked up, and completed by the shell, as they are typed.

Nothing of the product is imported before that.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from tongyao.commands.terminal import run

_WHOLE_ID: Final = re.compile(r"c-[0-9a-f]{16}")


def find_process(given: str) -> str:
    """The id of the process that `given` means: a whole id, or the beginning of one. Raises `BadInput`, `NotFound`."""
    if not given or _WHOLE_ID.fullmatch(given):
        return given
    from tongyao.commands import references

    return run(references.find_process(given))


def complete_process(incomplete: str) -> list[str]:
    """Ids that begin so. Nothing where no service runs: an error would end up in the line that somebody types."""
    from tongyao.commands import references

    try:
        return list(run(references.processes_like(incomplete)))
    except Exception:
        return []


def complete_person(incomplete: str) -> list[str]:
    """Like `complete_process`, of profiles."""
    from tongyao.commands import references

    try:
        return list(run(references.people_like(incomplete)))
    except Exception:
        return []


PERSON: Final = "A profile id or a unique part of it, or the profile's file."
"""The help of options that name somebody: `references.find_person` reads them."""

Process = Annotated[
    str,
    typer.Argument(
        help="Id of the process, or the beginning of the id.", callback=find_process, autocompletion=complete_process
    ),
]
Who = Annotated[
    str,
    typer.Option(
        "--as",
        help="The participant to act for: an alias (P01; P00 is the demander), a profile id or a unique part of it, or the profile's file.",
        autocompletion=complete_person,
    ),
]
People = Annotated[list[str] | None, typer.Option(help=f"{PERSON} May be repeated.", autocompletion=complete_person)]
Key = Annotated[str | None, typer.Option(help="Idempotency key: a message with the same key is applied once.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be done and change nothing.")]
