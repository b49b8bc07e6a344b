"""What `watch`, `show`, `why`, `list` do: processes and how they stand."""

from __future__ import annotations

import asyncio
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from tongyao.app import processes
from tongyao.app.errors import NotFound, Unavailable
from tongyao.app.reading import Reading
from tongyao.commands.shared.common import OPERATOR, app_context, records_context
from tongyao.commands.shared.live_view import asks_of, left_open, live_view
from tongyao.commands.shared.references import demander_or_profile, party_in
from tongyao.commands.shared.showing import (
    audited,
    print_audit,
    print_before_plan,
    print_choices,
    print_plan,
    print_view,
    shown_as_json,
    summary_as_json,
)
from tongyao.commands.shared.terminal import console, print_json, print_json_line
from tongyao.commands.shared.words import language, say
from tongyao.protocol.model.process import Phase
from tongyao.records.repositories import Repositories


async def watch(process: str, as_json: bool) -> None:
    async with records_context() as context:
        if as_json:
            await _follow_as_json(context, process)
        else:
            await follow(context.repositories, process)


async def _follow_as_json(context: Reading, process_id: str) -> None:
    """A line for each change: the process as `list --json` has it. It ends where `follow` ends."""
    shown: dict[str, Any] = {}
    while True:
        now = await summary_as_json(context, process_id)
        if now != shown:
            print_json_line(now)
            shown = now
        if _is_over(Phase(now["phase"])):
            return
        await asyncio.sleep(0.3)


def _is_over(phase: Phase) -> bool:
    """Whether there is nothing to watch: it has ended, or people answer a finished plan."""
    return phase.ended or phase is Phase.ANSWERING


async def follow(repositories: Repositories, process_id: str, *, quiet: bool = False) -> Phase:
    """Show the process until it ends, or until it waits for people to answer a finished plan; returns its phase."""
    await repositories.processes.get(process_id)
    if quiet:
        while not _is_over(phase := await _phase(repositories, process_id)):
            await asyncio.sleep(0.3)
        return phase
    if not console.is_terminal:
        return await _follow_in_lines(repositories, process_id)
    from rich.live import Live

    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while True:
            phase = await _phase(repositories, process_id)
            live.update(await live_view(repositories, process_id))
            if _is_over(phase):
                return phase
            await asyncio.sleep(0.3)


async def _follow_in_lines(repositories: Repositories, process_id: str) -> Phase:
    """For a log: a line for each phase and round as it begins, the picture once at the end."""
    shown = ""
    while True:
        row = await repositories.processes.get(process_id)
        line = say(f"phase.{row.phase}")
        if row.phase == Phase.CRYSTALLIZING:
            line = say("show.round", phase=line, round=row.round)
        if line != shown:
            console.print(line, style="dim")
            shown = line
        phase = Phase(row.phase)
        if _is_over(phase):
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


async def show(process: str, with_audit: bool, as_json: bool) -> None:
    async with records_context() as context:
        repositories = context.repositories
        if as_json:
            shown = await shown_as_json(context, process)
            if with_audit:
                shown["audit"] = [finding.model_dump() for finding in await audited(repositories, process)]
            print_json(shown)
            return
        console.print(await live_view(repositories, process, with_asks=False))
        row = await repositories.processes.get(process)
        asks = await asks_of(repositories, row)
        _print_asks(asks)
        if not asks:
            await print_why(process)
        _print_asks(await left_open(repositories, row))
        await print_before_plan(context, process)
        await print_choices(repositories, process)
        await print_plan(context, process)
        if with_audit:
            await print_audit(repositories, process)


async def show_to(process: str, who: str, as_json: bool) -> None:
    async with records_context() as context:
        row = await context.repositories.processes.get(process)
        caller = await party_in(context, row, who)
        view = await processes.read_process(context, caller, process)
        if as_json:
            print_json(view.model_dump(mode="json", exclude_none=True))
            return
        _print_asks(await asks_of(context.repositories, row, alias=view.you))
        print_view(view)


async def why(process: str) -> None:
    async with records_context() as context:
        row = await context.repositories.processes.get(process)
        lines = [*await asks_of(context.repositories, row), *await left_open(context.repositories, row)]
    await print_why(process)
    _print_asks(lines)


async def print_why(process_id: str) -> None:
    """One line for each thing that is waited for. The workflow is asked: where no worker or no Temporal answers, that is said."""
    from tongyao.app.why import read_why
    from tongyao.runtime.errors import TemporalUnreachable

    try:
        async with app_context() as context:
            told = await read_why(context, OPERATOR, process_id, language=language())
    except (NotFound, Unavailable, TemporalUnreachable) as error:
        console.print(Text(str(error), style="yellow"))
        return
    for line in [one.sentence for one in told.reasons] or [told.sentence]:
        console.print(Text(line))


async def list_processes(wanted: dict[str, Any], limit: int, as_json: bool) -> None:
    async with records_context() as context:
        if wanted.get("person"):
            wanted = {**wanted, "person": await demander_or_profile(context, wanted["person"])}
        found = await processes.list_processes(context, OPERATOR, **wanted, limit=limit)
    if as_json:
        print_json([one.model_dump(mode="json", exclude_none=True) for one in found.processes])
        return
    none = say("show.none_like_this" if any(wanted.values()) else "show.none")
    console.print(_listed(found.processes) if found.processes else Text(none))
    if found.next:
        console.print(say("show.more_than", limit=limit), style="dim")


def _listed(shown: list[processes.ProcessSummary]) -> RenderableType:
    """A line each, where that fits on the screen; else each with its parts on lines of their own. Ids are never cut."""
    rows = [
        {
            "id": one.id,
            "phase": _state(one.phase),
            "round": str(one.round),
            "people": str(one.participants),
            "waits_for": "\n".join(_asked(ask) for ask in one.waits or ()),
            "suspended": ", ".join(one.suspended or ()),
            "outcome": _state(one.outcome) if one.outcome else "",
            "scene": one.scene or "",
            "created": f"{one.created_at:%m-%d %H:%M}",
        }
        for one in shown
    ]
    columns = {name: say(f"show.column_{name}") for name in rows[0] if any(row[name] for row in rows)}
    table = Table(*(Column(title, no_wrap=True, overflow="ignore") for title in columns.values()), box=None)
    for row in rows:
        table.add_row(*(Text(row[name]) for name in columns))
    if table.__rich_measure__(console, console.options.update(max_width=10_000)).maximum <= console.width:
        return table
    return Group(*(_block(row, columns) for row in rows))


def _block(row: dict[str, str], columns: dict[str, str]) -> RenderableType:
    """One process in a narrow window: its id alone on the first line, then what is said of it."""
    told = [f"{columns[name]}: {row[name]}" for name in columns if row[name] and name not in ("id", "waits_for")]
    lines: list[RenderableType] = [Text(row["id"], style="bold", no_wrap=True, overflow="ignore")]
    lines.append(Padding(Text(" · ".join(told)), (0, 0, 0, 2)))
    if waits := row["waits_for"].replace("\n", "; "):
        lines.append(Padding(Text(f"{columns['waits_for']}: {waits}"), (0, 0, 0, 2)))
    return Group(*lines)


def _asked(ask: processes.WaitsFor) -> str:
    return f"{ask.alias or say('waits.operator')}: {ask.zh if language() == 'zh' else ask.en}"


def _state(phase: str) -> str:
    """In English the word itself: `--phase` takes it."""
    return say(f"phase.{phase}") if language() == "zh" else phase
