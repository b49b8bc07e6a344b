"""`erase`: erase a person (docs/erasure.md)."""

from __future__ import annotations

from typing import Annotated

import typer

from tongyao.commands.shared.options import PERSON
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, console, fail, print_json, run


def add_to(app: typer.Typer) -> None:
    app.command()(erase)


def erase(
    person: Annotated[str, typer.Argument(help=f"{PERSON} Or the id of a demander without a profile.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation. Erasing cannot be undone.")] = False,
    patience: Annotated[float, typer.Option(help="Seconds to wait for running steps.")] = 180,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which processes would be affected.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Erase a person: destroy their key, and rewrite or remove what quotes them. This cannot be undone."""
    from tongyao.commands.actions import erase as actions

    given, (person, whole) = person, run(actions.person_of(person))
    if yes and not whole:
        fail(f"{given!r} is {person}: with --yes name them by the whole id or by their file", EXIT_BAD_INPUT)
    if dry_run:
        found = run(actions.concerned(person))
        if as_json:
            print_json(found.model_dump())
            return
        for what, processes in (("would leave", found.left), ("would be cancelled", found.cancelled)):
            console.print(f"{what}: {', '.join(processes) or 'none'}", highlight=False)
        console.print(
            f"texts of {found.ended} ended processes would be rewritten (nothing was changed)", highlight=False
        )
        return
    if not yes and not typer.confirm(f"Erase {person} for good?", err=True):
        raise typer.Exit(EXIT_BAD_INPUT)
    done = run(actions.erase(person, patience))
    if as_json:
        print_json(done.model_dump())
        return
    console.print(
        f"{person}: {done.texts} texts of theirs are unreadable, {done.rewritten} others were rewritten "
        f"without them, {done.removed} removed.",
        highlight=False,
    )
    for what, processes in (("left", done.left), ("cancelled", done.cancelled), ("history deleted", done.histories)):
        if processes:
            console.print(f"{what}: {', '.join(processes)}", highlight=False)
    if done.histories_later:
        console.print(f"{done.histories_later} histories go when their processes end: run `tongyao reconcile` then")
    if done.steps_under_way:
        console.print(
            f"{done.steps_under_way} steps are still under way: nothing is readable any more, and `tongyao reconcile` "
            "destroys the key once they have ended",
            style="yellow",
        )
