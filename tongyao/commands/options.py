"""Common arguments and options of commands, with look-up and shell completion of processes and people.

Other packages are imported only for a look-up or a completion.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from tongyao.commands.terminal import run

_WHOLE_ID: Final = re.compile(r"c-[0-9a-f]{16}")


def find_process(given: str) -> str:
    """Return the id of a process. `given`: the id or its beginning. Raises `BadInput`, `NotFound`."""
    if not given or _WHOLE_ID.fullmatch(given):
        return given
    from tongyao.commands import references

    return run(references.find_process(given))


def _find_if_given(given: str | None) -> str | None:
    return find_process(given) if given else given


def complete_process(incomplete: str) -> list[str]:
    """Return the ids that begin with `incomplete`. On an error: none, because the shell would print the error."""
    from tongyao.commands import references

    try:
        return list(run(references.processes_like(incomplete)))
    except Exception:
        return []


def complete_person(incomplete: str) -> list[str]:
    """Return profile ids that begin with `incomplete`, or end with it after `-` or `.`. On an error: none."""
    from tongyao.commands import references

    try:
        return list(run(references.people_like(incomplete)))
    except Exception:
        return []


PERSON: Final = "A profile id or a unique part of it, or the profile's file."
"""The help of options that name a person. `references.find_person` resolves their values."""

Process = Annotated[
    str,
    typer.Argument(
        help="Id of the process, or the beginning of the id.", callback=find_process, autocompletion=complete_process
    ),
]
ProcessOption = Annotated[
    str | None,
    typer.Option("--process", help="Only this process.", callback=_find_if_given, autocompletion=complete_process),
]
ProcessIfAny = Annotated[
    str | None, typer.Argument(help="Only this process.", callback=_find_if_given, autocompletion=complete_process)
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
