"""`export`: one process as a folder of files that people and programs can read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tongyao.commands.options import Process
from tongyao.commands.terminal import console, run
from tongyao.commands.words import say


def add_to(app: typer.Typer) -> None:
    app.command()(export)


def export(
    process: Process,
    to: Annotated[
        Path | None, typer.Option(help="The folder to write (with --html the file). Default: the id.")
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="Write only the report: one page that loads nothing from the network.")
    ] = False,
) -> None:
    """Write tension, projections, observations, relations, plan, deliveries, answers, audit and a report of all, under aliases."""
    from tongyao.commands.actions import export as actions

    place = to or Path(f"{process}.html" if html else process)
    run(actions.export(process, place, html=html))
    page = place if html else place / "report.html"
    console.print(say("sent.exported", place=place, page=page), markup=False, highlight=False, soft_wrap=True)
