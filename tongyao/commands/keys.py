"""`keys`: lists the master keys, makes a new one, and removes unused ones. `erase`: erases a person (docs/erasure.md)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tongyao.commands.context import app_context, migrated_records, open_records, operator
from tongyao.commands.options import PERSON, AsJson, DryRun
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_REFUSED, CommandGroup, console, fail, print_json, print_table
from tongyao.commands.words import say, tell

if TYPE_CHECKING:
    from temporalio.client import Client

    from tongyao.records.privacy.master_keys import MasterKeyUse

MARGIN: Final = timedelta(hours=1)
"""Time after the first use of a new key in which a worker may still use the old key, during a rolling restart."""

app = CommandGroup()
keys = CommandGroup(help="Master keys: show, rotate, retire.", no_args_is_help=True)
app.add_typer(keys, name="keys")


@keys.command("show")
async def show() -> None:
    """List the master keys, newest first: fingerprint, start of use, number of data keys wrapped with it. No key is printed."""
    uses, runs = await _key_uses()
    print_table(
        [say("keys.key"), "", say("keys.since"), say("keys.data_keys")],
        (
            (use.id, say("keys.older") if number else say("keys.active"),
             f"{use.first_used:%Y-%m-%d %H:%M}" if use.first_used else "", use.data_keys)
            for number, use in enumerate(uses)
        ),
    )  # fmt: skip
    if len(uses) > 1:
        tell("keys.histories", n=runs)


@keys.command("rotate")
async def rotate(dry_run: DryRun = False) -> None:
    """Make a new master key the active one and wrap every data key with it. Older keys still open the payloads in Temporal.

    If the keys are in the home's file, this command makes the new one. If TONGYAO_MASTER_KEY gives the keys, you make it: "<new>,<old>".
    """
    from tongyao.records.privacy import master_keys
    from tongyao.records.privacy.keys import put_in_front
    from tongyao.runtime.master_key import key_file, keyring

    async with migrated_records() as (settings, repositories):
        path, given = key_file(settings), keyring(settings)
        own = settings.master_key is None
        if not own and len(given.ids) == 1:
            fail(say("keys.one_key"), EXIT_BAD_INPUT)
        if dry_run:
            uses = await master_keys.uses(repositories.pool, given)
            wrapped = sum(use.data_keys for use in (uses if own else uses[1:]))
            tell("keys.would_wrap_own" if own else "keys.would_wrap", n=wrapped, path=path)
            return
        if own:
            put_in_front(path)
        count = await master_keys.rewrap(repositories.pool, keyring(settings))
    tell("keys.wrapped", n=count)
    tell("keys.stay" if own else "keys.keep", path=path)


@keys.command("retire")
async def retire(dry_run: DryRun = False) -> None:
    """Remove the older master keys, if no data key and no history in Temporal needs them any more."""
    from tongyao.records.privacy.keys import keep_first
    from tongyao.runtime.master_key import key_file

    uses, runs = await _key_uses()
    needed = sum(use.data_keys for use in uses[1:])
    if len(uses) == 1:
        tell("keys.no_older")
        return
    if needed:
        fail(say("keys.still_wrapped", n=needed), EXIT_REFUSED)
    if runs:
        fail(say("keys.still_needed", n=runs), EXIT_REFUSED)
    async with migrated_records() as (settings, _):
        older = ", ".join(use.id for use in uses[1:])
        if settings.master_key is not None:
            tell("keys.take_out", older=older)
        elif dry_run:
            tell("keys.would_remove", older=older, path=key_file(settings))
        else:
            keep_first(key_file(settings))
            tell("keys.removed", older=older, path=key_file(settings))


async def _key_uses() -> tuple[list[MasterKeyUse], int]:
    """Return the given keys, and the number of runs in Temporal that began before all workers used the active key."""
    from tongyao.records.privacy import master_keys
    from tongyao.runtime.master_key import keyring

    async with migrated_records() as (settings, repositories):
        uses = await master_keys.uses(repositories.pool, keyring(settings))
    if len(uses) == 1:
        return uses, 0
    async with app_context() as context:
        return uses, await _runs_before(context.client, uses[0])


async def _runs_before(client: Client, active: MasterKeyUse) -> int:
    if active.first_used is None:
        return (await client.count_workflows()).count
    until = (active.first_used + MARGIN).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (await client.count_workflows(f"StartTime < '{until}'")).count


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
