"""`watch`, `show`, `why`, `list`: processes and how they stand."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from tongyao.commands.options import Process, complete_person
from tongyao.commands.terminal import run
from tongyao.protocol.model.phase import Phase


def add_to(app: typer.Typer) -> None:
    app.command()(watch)
    app.command()(show)
    app.command()(why)
    app.command("list")(list_processes)


def watch(
    process: Process,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line at each change, as `list --json` has them.")
    ] = False,
) -> None:
    """Follow a process live: its phase, its rounds and participants, and whom it waits for. Ctrl-C leaves it running."""
    from tongyao.commands.actions import processes as actions

    run(actions.watch(process, as_json))


def show(
    process: Process,
    with_audit: Annotated[
        bool, typer.Option("--audit", help="Print the 13 measured properties of the protocol with their figures.")
    ] = False,
    who: Annotated[
        str,
        typer.Option(
            "--as",
            help="Print what one person reads: their delivery, their own words, the observations. An alias (P01; P00 is the demander), "
            "a profile id or a unique part of it, or the profile's file.",
            autocompletion=complete_person,
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Show the state of a process, what it waits for, and its plan if there is one."""
    from tongyao.commands.actions import processes as actions

    run(actions.show_to(process, who, as_json) if who else actions.show(process, with_audit, as_json))


def why(process: Process) -> None:
    """Say what a process waits for, since when, and how it can continue."""
    from tongyao.commands.actions import processes as actions

    run(actions.why(process))


def list_processes(
    scene: Annotated[str | None, typer.Option(help="Only processes of this scene.")] = None,
    phase: Annotated[Phase | None, typer.Option(help="In this phase only.")] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Only processes that have not ended.")] = False,
    suspended: Annotated[
        bool, typer.Option("--suspended", help="Only suspended processes, with their causes.")
    ] = False,
    person: Annotated[
        str | None, typer.Option(help="Only processes in which this person is demander or participant.")
    ] = None,
    since: Annotated[datetime | None, typer.Option(help="Started on this day (UTC) or later.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Started before this day (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The largest number of processes to list.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List processes, newest first."""
    from tongyao.commands.actions import processes as actions

    wanted: dict[str, Any] = {
        "scene": scene,
        "phase": [phase.value] if phase else None,
        "open": True if open_only else None,
        "suspended": True if suspended else None,
        "person": person,
        "since": since,
        "until": until,
    }
    run(actions.list_processes(wanted, limit, as_json))
