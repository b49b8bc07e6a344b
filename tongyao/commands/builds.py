"""`versions`, `replay`, `upgrade`: from one build to the next (docs/operations.md §5)."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, console, fail, print_json, run
from tongyao.commands.words import say


def add_to(app: typer.Typer) -> None:
    app.command()(versions)
    app.command()(replay)
    app.command()(upgrade)


def versions(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Show which builds run, how many open processes each has, and when an old one can be stopped."""
    from tongyao.commands.actions import builds as actions

    found = run(actions.versions())
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        actions.show(found)
    if any(not one.carried and one.processes for one in found.rules):
        fail(say("builds.newer_needed"), EXIT_FAILED)


def replay(
    process: Annotated[list[str] | None, typer.Argument(help="Ids of processes. Default: all open ones.")] = None,
    file: Annotated[
        list[Path] | None, typer.Option(help="Replay this history file (.json, .json.gz) instead. May be repeated.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Also write the histories into this directory.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The largest number of open processes to replay.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """Replay histories of open processes with this build, and compare its commands and the inputs of all steps.

    It reads from Temporal and changes nothing. Run it with the build that you are about to roll out.
    """
    from tongyao.commands.actions import builds as actions

    if file and (process or limit):
        fail(say("builds.files_or_processes"), EXIT_BAD_INPUT)
    unfit = run(actions.replay(process or [], file or [], save, limit, as_json))
    if unfit:
        raise typer.Exit(EXIT_FAILED)


def upgrade(
    process: Annotated[str | None, typer.Argument(help="Id of the process.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every open process.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the processes and change nothing.")] = False,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: a message with the same key is applied once.")
    ] = None,
) -> None:
    """Make open processes follow the newest rules. Each continues as new when no step of it runs. People notice nothing."""
    from tongyao.commands.actions import builds as actions

    if (process is None) != every:
        fail(say("builds.one_or_all"), EXIT_BAD_INPUT)
    done = run(actions.upgrade(process, dry_run, key or uuid.uuid4().hex))
    for one in done:
        console.print(f"{one.process_id}  {one.phase}  {one.result}", highlight=False)
    console.print(say("builds.would_upgrade" if dry_run else "builds.upgraded", n=len(done)), highlight=False)
    if process is not None and not done:
        fail(say("builds.not_open", process=process), EXIT_BAD_INPUT)
