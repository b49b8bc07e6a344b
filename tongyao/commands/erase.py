"""`erase`: erase a person (docs/erasure.md)."""

from __future__ import annotations

from typing import Annotated

import typer

from tongyao.commands.options import PERSON
from tongyao.commands.terminal import EXIT_BAD_INPUT, console, fail, print_json, run
from tongyao.commands.words import say


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
        fail(say("erase.whole_id", given=repr(given), person=person), EXIT_BAD_INPUT)
    if dry_run:
        found = run(actions.concerned(person))
        if as_json:
            print_json(found.model_dump())
            return
        none = say("erase.none")
        console.print(say("erase.would_leave", processes=", ".join(found.left) or none), highlight=False)
        console.print(say("erase.would_be_cancelled", processes=", ".join(found.cancelled) or none), highlight=False)
        console.print(say("erase.would_rewrite", n=found.ended), highlight=False)
        return
    if not yes and not typer.confirm(say("erase.for_good", person=person), err=True):
        raise typer.Exit(EXIT_BAD_INPUT)
    done = run(actions.erase(person, patience))
    if as_json:
        print_json(done.model_dump())
        return
    said = say("erase.done", person=person, texts=done.texts, rewritten=done.rewritten, removed=done.removed)
    console.print(said, highlight=False)
    for what, processes in (("left", done.left), ("cancelled", done.cancelled), ("histories", done.histories)):
        if processes:
            console.print(say(f"erase.{what}", processes=", ".join(processes)), highlight=False)
    console.print(say("erase.copies"), style="dim", highlight=False, soft_wrap=True)
    if done.histories_later:
        console.print(say("erase.later", n=done.histories_later))
    if done.steps_under_way:
        console.print(say("erase.under_way", n=done.steps_under_way), style="yellow")
