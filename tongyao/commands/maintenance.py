"""`schedules`, `note-backup`: the duties of maintenance (docs/operations.md §11)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tongyao.commands.terminal import console, print_json, run
from tongyao.commands.words import say


def add_to(app: typer.Typer) -> None:
    app.command()(schedules)
    app.command("note-backup")(note_backup)


def schedules(
    pause: Annotated[str | None, typer.Option(help="Pause this duty. It does not run until it is resumed.")] = None,
    resume: Annotated[str | None, typer.Option(help="Let this duty go on.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """List the schedules of maintenance: when each ran last and runs next, and what its last run came to.

    `tongyao prepare` (and `tongyao up`) makes those that TONGYAO_MAINTENANCE__… names.
    """
    from tongyao.commands.actions import maintenance as actions

    lines = run(actions.schedules(pause, resume))
    if as_json:
        print_json(lines)
        return
    columns = ("duty", "every", "last", "result", "next", "counted")
    table = Table(*(say(f"schedules.{name}") for name in columns), "", box=None)
    for line in lines:
        table.add_row(*actions.cells(line))
    console.print(table, highlight=False)
    if not lines:
        console.print(say("schedules.none"))


def note_backup(
    files: Annotated[
        list[Path], typer.Argument(help="The files that `pg_dump --format=custom` wrote; `-`: one on standard input.")
    ],
) -> None:
    """Note that a backup was made, as the last line of its script. The duty `backup` fails when the last note is too old.

    Each file must be there and begin as a dump of PostgreSQL's custom format does. Whether it can be restored is seen by restoring it.
    """
    from tongyao.commands.actions import maintenance as actions

    sizes = [actions.size(file) for file in files]
    run(actions.note(len(files), sum(sizes)))
    console.print(say("schedules.noted", n=len(files), size=f"{sum(sizes):,}"), highlight=False)
