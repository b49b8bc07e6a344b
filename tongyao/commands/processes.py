"""`watch`, `show`, `why`, `list`: processes and how they stand."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from tongyao.app import processes
from tongyao.app.context import AppContext
from tongyao.app.errors import NotFound, Unavailable
from tongyao.commands.shared.common import OPERATOR, app_context
from tongyao.commands.shared.terminal import console, print_json, run
from tongyao.commands.shared.live_view import asks_of, live_view
from tongyao.commands.shared.options import Process
from tongyao.commands.shared.showing import (
    audited,
    print_audit,
    print_before_rounds,
    print_choices,
    print_plan,
    shown_as_json,
)
from tongyao.protocol.model.process import Phase
from tongyao.records.repositories import Repositories

_FACETS = {"offers": "what they offer", "moves": "what they move toward", "needs": "what they need"}
"""The facets of a person that a search result names, in words."""


def add_to(app: typer.Typer) -> None:
    app.command()(watch)
    app.command()(show)
    app.command()(why)
    app.command("list")(list_processes)


def watch(process: Process) -> None:
    """Watch a process live: its phase, rounds × participants, and who is waited for. Ctrl-C leaves it running."""
    run(_watch(process))


async def _watch(process: str) -> None:
    async with app_context() as context:
        await follow(context.repositories, process)


async def follow(repositories: Repositories, process_id: str, *, quiet: bool = False) -> Phase:
    """Show the process until it ends, or until it waits for people to answer a finished plan; returns its phase."""
    await repositories.processes.get(process_id)
    if quiet:
        while not (phase := await _phase(repositories, process_id)).ended and phase is not Phase.ANSWERING:
            await asyncio.sleep(0.3)
        return phase
    if not console.is_terminal:
        return await _follow_in_lines(repositories, process_id)
    from rich.live import Live

    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while True:
            phase = await _phase(repositories, process_id)
            live.update(await live_view(repositories, process_id))
            if phase.ended or phase is Phase.ANSWERING:
                return phase
            await asyncio.sleep(0.3)


async def _follow_in_lines(repositories: Repositories, process_id: str) -> Phase:
    """For a log: a line for each phase and round as it begins, the picture once at the end."""
    shown = ""
    while True:
        row = await repositories.processes.get(process_id)
        line = f"{row.phase}, round {row.round}" if row.phase == Phase.CRYSTALLIZING else row.phase
        if line != shown:
            console.print(line, style="dim")
            shown = line
        phase = Phase(row.phase)
        if phase.ended or phase is Phase.ANSWERING:
            console.print(await live_view(repositories, process_id, with_asks=False))
            _print_asks(await asks_of(repositories, row))
            return phase
        await asyncio.sleep(0.3)


def _print_asks(lines: list[str]) -> None:
    """Whole lines, so that the commands can be pasted."""
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


async def _phase(repositories: Repositories, process_id: str) -> Phase:
    return Phase((await repositories.processes.get(process_id)).phase)


def show(
    process: Process,
    with_audit: Annotated[bool, typer.Option("--audit", help="The 13 properties, each with its figure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show how a process stands, and its plan when there is one."""
    run(_show(process, with_audit, as_json))


async def _show(process: str, with_audit: bool, as_json: bool) -> None:
    async with app_context() as context:
        repositories = context.repositories
        if as_json:
            shown = await shown_as_json(context, process)
            if with_audit:
                shown["audit"] = [finding.model_dump() for finding in await audited(repositories, process)]
            print_json(shown)
            return
        console.print(await live_view(repositories, process, with_asks=False))
        asks = await asks_of(repositories, await repositories.processes.get(process))
        _print_asks(asks)
        if not asks:
            await print_why(context, process)
        await print_before_rounds(context, process)
        await print_choices(repositories, process)
        await print_plan(context, process)
        if with_audit:
            await print_audit(repositories, process)


def why(process: Process) -> None:
    """Say what a process waits for, since when, and what would move it."""
    run(_why(process))


async def _why(process: str) -> None:
    async with app_context() as context:
        await context.repositories.processes.get(process)  # raises for an unknown id
        await print_why(context, process)


async def print_why(context: AppContext, process_id: str) -> None:
    """One line for each thing that is waited for. Where no worker answers, that is said."""
    from tongyao.app.why import read_why

    try:
        told = await read_why(context, OPERATOR, process_id)
    except (NotFound, Unavailable) as error:
        console.print(Text(str(error), style="yellow"))
        return
    for line in [reason.sentence for reason in told.reasons] or [told.sentence]:
        console.print(Text(line))


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
    wanted: dict[str, Any] = {
        "scene": scene,
        "phase": [phase.value] if phase else None,
        "open": True if open_only else None,
        "suspended": True if suspended else None,
        "person": person,
        "since": since,
        "until": until,
    }
    run(_list(wanted, limit, as_json))


async def _list(wanted: dict[str, Any], limit: int, as_json: bool) -> None:
    async with app_context() as context:
        found = await processes.list_processes(context, OPERATOR, **wanted, limit=limit)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found.processes])
        return
    none = "no process is like this" if any(wanted.values()) else "no processes yet: `tongyao start --help`"
    console.print(_table(found.processes) if found.processes else Text(none))
    if found.next:
        console.print(f"more than {limit}: --limit shows more", style="dim")


def _table(shown: list[processes.ProcessSummary]) -> Table:
    """A line each; columns in which nothing stands are left out, and ids are never cut."""
    rows = [
        {
            "id": one.id,
            "phase": one.phase,
            "round": str(one.round),
            "people": str(one.participants),
            "waits for": "\n".join(
                f"{ask.alias or 'operator'}: {ask.ask.replace('_', ' ')}" for ask in one.waits or ()
            ),
            "suspended": ", ".join(one.suspended or ()),
            "outcome": one.outcome or "",
            "scene": one.scene or "",
            "created": f"{one.created_at:%m-%d %H:%M}",
        }
        for one in shown
    ]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    table = Table(
        *[Column(name, no_wrap=name == "created", min_width=18 if name == "id" else None) for name in columns], box=None
    )
    for row in rows:
        table.add_row(*(Text(row[name]) for name in columns))
    return table
