"""`versions`, `replay`, `upgrade`: from one build to the next (docs/operations.md §5)."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_FAILED, console, fail, print_json, run


def add_to(app: typer.Typer) -> None:
    app.command()(versions)
    app.command()(replay)
    app.command()(upgrade)


def versions(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show which builds work, how many open processes each carries, and when an old one can go."""
    from tongyao.commands.actions import builds as actions

    found = run(actions.versions())
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        actions.show(found)
    if any(not one.carried and one.processes for one in found.rules):
        fail("open processes follow rules that this build does not know: run a newer one", EXIT_FAILED)


def replay(
    process: Annotated[list[str] | None, typer.Argument(help="Ids of processes. None: all that are open.")] = None,
    file: Annotated[
        list[Path] | None, typer.Option(help="A history as JSON (.json, .json.gz) instead; repeat it.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the histories into this directory too.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many of the open ones.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array on standard output.")] = False,
) -> None:
    """Replay histories of open processes against this build: its commands, and what it would ask every step.

    It reads from Temporal and changes nothing. Run it with the build that you are about to roll out.
    """
    from tongyao.commands.actions import builds as actions

    if file and (process or limit):
        fail("give either files, or processes of the service that runs", EXIT_BAD_INPUT)
    unfit = run(actions.replay(process or [], file or [], save, limit, as_json))
    if unfit:
        raise typer.Exit(EXIT_FAILED)


def upgrade(
    process: Annotated[str | None, typer.Argument(help="Id of the process.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every open process.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    key: Annotated[str | None, typer.Option(help="The same key twice is one message.")] = None,
) -> None:
    """Have open processes follow the newest rules: each continues as new once no step of it runs. People notice nothing."""
    from tongyao.commands.actions import builds as actions

    if (process is None) != every:
        fail("name one process, or say --all", EXIT_BAD_INPUT)
    done = run(actions.upgrade(process, dry_run, key or uuid.uuid4().hex))
    for one in done:
        console.print(f"{one.process_id}  {one.phase}  {one.result}", highlight=False)
    console.print(f"{len(done)} open processes" + (" (nothing was changed)" if dry_run else ""), highlight=False)
    if process is not None and not done:
        fail(f"{process} is no open process", EXIT_BAD_INPUT)
