"""`watch`, `show`, `why`, `list`: the state of processes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from tongyao.commands.context import app_context, open_records, operator
from tongyao.commands.options import AsJson, Process, complete_person
from tongyao.commands.terminal import CommandGroup, console, print_json, print_json_line
from tongyao.commands.words import language, say, tell
from tongyao.protocol.model.phase import Phase

if TYPE_CHECKING:
    from tongyao.app.processes import ProcessSummary, WaitsFor
    from tongyao.records.repositories import Repositories

app = CommandGroup()


@app.command()
async def watch(
    process: Process,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one line with a JSON object at each change, with the fields of `list --json`."
        ),
    ] = False,
) -> None:
    """Follow a process live: its phase, its rounds and participants, and whom it waits for. Ctrl-C leaves it running."""
    from tongyao.commands.process_view import follow

    async with open_records() as repositories:
        if as_json:
            await _follow_as_json(repositories, process)
        else:
            await follow(repositories, process)


@app.command()
async def show(
    process: Process,
    with_audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Print those of the 13 properties of the protocol that one record can show or refute, with their figures.",
        ),
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
    as_json: AsJson = False,
) -> None:
    """Show the state of a process, what it waits for, and its plan if there is one."""
    if who:
        await _show_to(process, who, as_json)
        return
    from tongyao.commands import process_view as view

    async with open_records() as repositories:
        if as_json:
            shown = await view.shown_as_json(repositories, process)
            if with_audit:
                shown["audit"] = [finding.model_dump() for finding in await view.audited(repositories, process)]
            print_json(shown)
            return
        console.print(await view.live_view(repositories, process, with_asks=False))
        row = await repositories.processes.get(process)
        asks = await view.asks_of(repositories, row)
        view.print_lines(asks)
        if not asks:
            await _print_why(process)
        view.print_lines(await view.left_open(repositories, row))
        await view.print_before_plan(repositories, process)
        await view.print_choices(repositories, process)
        await view.print_plan(repositories, process)
        if with_audit:
            await view.print_audit(repositories, process)


@app.command()
async def why(process: Process) -> None:
    """Show what a process waits for, since when, and how it can continue."""
    from tongyao.commands.process_view import asks_of, left_open, print_lines

    async with open_records() as repositories:
        row = await repositories.processes.get(process)
        lines = [*await asks_of(repositories, row), *await left_open(repositories, row)]
    await _print_why(process)
    print_lines(lines)


@app.command("list")
async def list_processes(
    scene: Annotated[str | None, typer.Option(help="Only processes of this scene.")] = None,
    phase: Annotated[Phase | None, typer.Option(help="Only processes in this phase.")] = None,
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
    as_json: AsJson = False,
) -> None:
    """List processes, newest first."""
    from tongyao.app.processes import list_processes as found_processes
    from tongyao.commands.references import demander_or_profile

    wanted: dict[str, Any] = {
        "scene": scene,
        "phase": [phase.value] if phase else None,
        "open": True if open_only else None,
        "suspended": True if suspended else None,
        "person": person,
        "since": since,
        "until": until,
    }
    async with open_records() as repositories:
        if wanted.get("person"):
            wanted = {**wanted, "person": await demander_or_profile(repositories, wanted["person"])}
        found = await found_processes(repositories, operator(), **wanted, limit=limit)
        about = {} if as_json else await _titles_and_people(repositories, [row.id for row in found.processes])
    if as_json:
        print_json([row.model_dump(mode="json", exclude_none=True) for row in found.processes])
        return
    none = say("show.none_like_this" if any(wanted.values()) else "show.none")
    console.print(_listed(found.processes, about) if found.processes else Text(none))
    if found.next:
        tell("show.more_than", style="dim", limit=limit)


async def _follow_as_json(repositories: Repositories, process_id: str) -> None:
    """Print a line with the process as in `list --json` for each change. Ends like `process_view.follow`."""
    from tongyao.commands.process_view import states, summary_as_json

    shown: dict[str, Any] = {}
    async for _ in states(repositories, process_id):
        now = await summary_as_json(repositories, process_id)
        if now != shown:
            print_json_line(now)
            shown = now


async def _show_to(process: str, who: str, as_json: bool) -> None:
    from tongyao.app.processes import read_process
    from tongyao.commands.process_view import asks_of, print_lines, print_view
    from tongyao.commands.references import party_in

    async with open_records() as repositories:
        row = await repositories.processes.get(process)
        caller = await party_in(repositories, row, who)
        view = await read_process(repositories, caller, process)
        if as_json:
            print_json(view.model_dump(mode="json", exclude_none=True))
            return
        print_lines(await asks_of(repositories, row, alias=view.you))
        print_view(view)


async def _print_why(process_id: str) -> None:
    """Print one line for each thing for which the process waits. If the workflow does not answer, print that."""
    from tongyao.app.errors import NotFound, Unavailable
    from tongyao.app.why import read_why
    from tongyao.runtime.errors import TemporalUnreachable

    try:
        async with app_context() as context:
            told = await read_why(context, operator(), process_id, language=language())
    except (NotFound, Unavailable, TemporalUnreachable) as error:
        console.print(Text(str(error), style="yellow"))
        return
    sentences = [reason.sentence for reason in told.reasons]
    for line in sentences or [told.sentence]:
        console.print(Text(line))


async def _titles_and_people(repositories: Repositories, ids: list[str]) -> dict[str, tuple[str, str]]:
    """Return by process id its title as in the console, and the profile ids of its participants."""
    from tongyao.gateway.console.reading import title_of_words
    from tongyao.protocol.model.tension import Tension

    rows = [await repositories.processes.get(id) for id in ids]
    wanted = [text for row in rows for text in (row.intent_text_id, row.tension_text_id) if text]
    texts = await repositories.texts.get_many([], known=wanted)
    about: dict[str, tuple[str, str]] = {}
    for row in rows:
        stored = texts.get(row.tension_text_id or "")
        tension = Tension.model_validate_json(stored) if stored else None
        people = [seat.profile_id for seat in await repositories.seats.seats(row.id) if seat.profile_id]
        about[row.id] = title_of_words(None, texts.get(row.intent_text_id or ""), tension), ", ".join(people)
    return about


def _listed(shown: list[ProcessSummary], about: dict[str, tuple[str, str]]) -> RenderableType:
    """Return a table, or if it is too wide for the screen, a block for each process. Ids are never cut."""
    rows = [
        {
            "id": row.id,
            "fork_of": row.forked_from or "",
            "phase": _state(row.phase),
            "round": str(row.round),
            "title": about[row.id][0],
            "people": about[row.id][1] or str(row.participants or ""),  # empty before people are chosen
            "waits_for": "\n".join(_asked(ask) for ask in row.waits or ()),
            "suspended": ", ".join(row.suspended or ()),
            "outcome": _state(row.outcome) if row.outcome else "",
            "scene": row.scene or "",
            "created": f"{row.created_at:%m-%d %H:%M}",
        }
        for row in shown
    ]
    columns = {name: say(f"show.column_{name}") for name in rows[0] if any(row[name] for row in rows)}
    table = Table(*(Column(title, no_wrap=True, overflow="ignore") for title in columns.values()), box=None)
    for row in rows:
        table.add_row(*(Text(row[name]) for name in columns))
    if table.__rich_measure__(console, console.options.update(max_width=10_000)).maximum <= console.width:
        return table
    return Group(*(_block(row, columns) for row in rows))


def _block(row: dict[str, str], columns: dict[str, str]) -> RenderableType:
    """Return the block of one process: a line with its id, then its fields."""
    told = [f"{columns[name]}: {row[name]}" for name in columns if row[name] and name not in ("id", "waits_for")]
    lines: list[RenderableType] = [Text(row["id"], style="bold", no_wrap=True, overflow="ignore")]
    lines.append(Padding(Text(" · ".join(told)), (0, 0, 0, 2)))
    if waits := row["waits_for"].replace("\n", "; "):
        lines.append(Padding(Text(f"{columns['waits_for']}: {waits}"), (0, 0, 0, 2)))
    return Group(*lines)


def _asked(ask: WaitsFor) -> str:
    from tongyao.protocol.life.asks import whom

    return f"{whom(ask.ask, ask.alias, language())}: {ask.zh if language() == 'zh' else ask.en}"


def _state(phase: str) -> str:
    """Return the name of a phase. In English it is the value that `--phase` accepts."""
    return say(f"phase.{phase}") if language() == "zh" else phase
