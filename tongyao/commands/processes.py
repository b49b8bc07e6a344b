"""`watch`, `show`, `why`, `list`: processes and how they stand."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from tongyao.commands.shared.options import Process
from tongyao.commands.shared.terminal import run
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
    """Watch a process live: its phase, rounds × participants, and who is waited for. Ctrl-C leaves it running."""
    from tongyao.commands.actions import processes as actions

    run(actions.watch(process, as_json))


def show(
    process: Process,
    with_audit: Annotated[bool, typer.Option("--audit", help="The 13 properties, each with its figure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show how a process stands, and its plan when there is one."""
    from tongyao.commands.actions import processes as actions

    run(actions.show(process, with_audit, as_json))


def why(process: Process) -> None:
    """Say what a process waits for, since when, and what would move it."""
    from tongyao.commands.actions import processes as actions

    run(actions.why(process))


def list_processes(
    scene: Annotated[str | None, typer.Option(help="Of this scene only.")] = None,
    phase: Annotated[Phase | None, typer.Option(help="In this phase only.")] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Those that have not ended.")] = False,
    suspended: Annotated[bool, typer.Option("--suspended", help="Suspended ones, with their causes.")] = False,
    person: Annotated[str | None, typer.Option(help="Who brought the intent, or sits in the room.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Announced on this day (UTC) or later.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Announced before this day (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list on standard output.")] = False,
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
