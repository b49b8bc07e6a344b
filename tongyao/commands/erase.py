"""`erase`: erase a person (docs/erasure.md)."""

from __future__ import annotations

from typing import Annotated

import typer

from tongyao.commands.context import app_context, open_records, operator
from tongyao.commands.options import PERSON, AsJson, DryRun
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, console, fail, print_json
from tongyao.commands.words import say, tell

app = CommandGroup()


@app.command()
async def erase(
    person: Annotated[str, typer.Argument(help=f"{PERSON} Or the id of a demander without a profile.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation. Erasing cannot be undone.")] = False,
    patience: Annotated[float, typer.Option(help="Seconds to wait for running steps.")] = 180,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Erase a person: destroy their key, and rewrite or remove the texts that quote them. This cannot be undone."""
    from tongyao.app.people import erasure

    given, (person, whole) = person, await _person_of(person)
    if yes and not whole:
        fail(say("erase.whole_id", given=repr(given), person=person), EXIT_BAD_INPUT)
    if dry_run:
        async with app_context() as context:
            found = await erasure.concerned_by_erasure(context, operator(), person)
        if as_json:
            print_json(found.model_dump())
            return
        none = say("erase.none")
        tell("erase.would_leave", processes=", ".join(found.left) or none)
        tell("erase.would_be_cancelled", processes=", ".join(found.cancelled) or none)
        tell("erase.would_rewrite", n=found.ended)
        return
    if not yes and not typer.confirm(say("erase.for_good", person=person), err=True):
        raise typer.Exit(EXIT_BAD_INPUT)
    async with app_context() as context:
        done = await erasure.erase(context, operator(), person, patience=patience)
    if as_json:
        print_json(done.model_dump())
        return
    said = say("erase.done", person=person, texts=done.texts, rewritten=done.rewritten, removed=done.removed)
    console.print(said, highlight=False)
    for what, processes in (("left", done.left), ("cancelled", done.cancelled), ("histories", done.histories)):
        if processes:
            tell(f"erase.{what}", processes=", ".join(processes))
    tell("erase.copies", whole=True, style="dim")
    if done.histories_later:
        tell("erase.later", n=done.histories_later)
    if done.steps_under_way:
        tell("erase.under_way", style="yellow", n=done.steps_under_way)


async def _person_of(given: str) -> tuple[str, bool]:
    """Return the person's id, and whether `given` is exact: the whole id, or the file of the profile.

    Returns `given` itself if no profile matches, because a person without a profile can also be erased.
    """
    from tongyao.app.errors import NotFound
    from tongyao.commands.references import demander_or_profile, ids_of_file

    async with open_records() as repositories:
        try:
            person = await demander_or_profile(repositories, given)
        except NotFound:
            return given, True
        return person, person == given or person in await ids_of_file(repositories, given)
