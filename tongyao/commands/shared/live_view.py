"""A process on the terminal: its phase, rounds × participants, and who is waited for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tongyao.commands.shared.next_steps import after_end, commands_for, waits_for
from tongyao.commands.shared.words import say
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.rules.plans.answered import own_answer
from tongyao.records.process.processes import ProcessRow
from tongyao.records.process.seats import SeatRow
from tongyao.records.repositories import Repositories

_MARKS = {
    Outcome.REPLIED: "[green]●[/]",
    Outcome.NOTHING_NEW: "[dim]○[/]",
    Outcome.LAPSED: "[yellow]–[/]",
    Outcome.FAILED: "[red]×[/]",
}
_STEPS = (
    Phase.FORMULATING, Phase.CONFIRMING, Phase.SELECTING, Phase.CRYSTALLIZING, Phase.PLANNING, Phase.DELIVERING,
    Phase.ANSWERING, Phase.COMPLETED,
)  # fmt: skip


async def asks_of(repositories: Repositories, row: ProcessRow, *, alias: str = "") -> list[str]:
    """Of everything that waits (for `alias`) a line that says so, then the commands that answer it, indented and whole."""
    lines, branches = [], False
    for ask in await repositories.inbox.of_process(row.id, open_only=True):
        if alias not in ("", ask.alias):
            continue
        lines.append(waits_for(ask, row))
        lines += [f"  {command}" for command in await commands_for(repositories, ask)]
        branches = branches or ask.ask in ("residual", "hole")
    if branches and row.phase == Phase.ANSWERING:
        lines.append(say("waits.last_answer"))
    return lines


async def left_open(repositories: Repositories, row: ProcessRow) -> list[str]:
    """Of a process that has ended: the tensions that stayed open, each with the command that starts a process for it."""
    lines = [line for said, command in await after_end(repositories, row) for line in (said, f"  {command}")]
    return (
        [say("waits.left_open"), *lines]
        if lines
        else [] + (await _may_answer(repositories, row) if row.phase == Phase.ANSWERING else [])
    )


async def _may_answer(repositories: Repositories, row: ProcessRow) -> list[str]:
    """Those whose proxy spoke and who may answer the plan themselves (docs/protocol.md §7.5)."""
    record = await repositories.record(row)
    lines = []
    for alias in (one.alias for one in record.participants if own_answer(record, one.alias) == "possible"):
        lines.append(say("waits.may_answer", alias=alias))
        lines.append(f"  tongyao answer {row.id} commit --as {alias}")
    return lines


async def live_view(repositories: Repositories, process_id: str, *, with_asks: bool = True) -> RenderableType:
    """What `watch` shows now; what is wider than the screen is cut. Raises `ProcessUnknown`."""
    row = await repositories.processes.get(process_id)
    phase = Phase(row.phase)
    title = Text.assemble((row.id, "bold"), "  ", *_path(phase))
    parts: list[RenderableType] = [title]
    if row.suspended_reason:
        parts.append(Text(say("show.suspended", reason=row.suspended_reason), style="red"))
    seats = await repositories.seats.seats(process_id)
    if seats:
        parts.append(await _rounds(repositories, process_id, seats, row.round))
        parts.append(Text(f"  {say('show.legend')}", style="dim"))
    if with_asks:
        parts += [Text(line, no_wrap=True, overflow="ignore") for line in await asks_of(repositories, row)]
    if row.cost or row.tokens:
        parts.append(Text(say("show.cost", tokens=f"{row.tokens:,}", cost=f"{row.cost:.4f}"), style="dim"))
    return Group(*parts)


def _path(phase: Phase) -> list[tuple[str, str] | str]:
    """The usual phases in words, the current one in brackets, which are seen without colours, too; an unusual current phase stands at the end."""
    shown: list[tuple[str, str] | str] = []
    steps = _STEPS if phase in _STEPS else (*_STEPS, phase)
    for step in steps:
        name = say(f"phase.{step.value}")
        shown += [(f"[{name}]", "bold reverse") if step is phase else (name, "dim"), " › "]
    return shown[:-1]


async def _rounds(repositories: Repositories, process_id: str, seats: Sequence[SeatRow], current: int) -> Table:
    aliases = [seat.alias for seat in seats]
    still = {seat.alias for seat in seats if seat.active}
    projections = {(row.round, row.alias): row for row in await repositories.rounds.projections(process_id)}
    observations = {row.round: row for row in await repositories.rounds.observations(process_id)}
    figures = {
        event.data["round"]: event.data
        for event in await repositories.events.of_kind(process_id, EventKind.OBSERVATION_READY)
    }
    columns = (say(f"show.{name}") for name in ("relations", "gaps", "catalyst"))
    table = Table("", *aliases, *columns, box=None, padding=(0, 2))
    for number in range(1, max([current, *observations, *(key[0] for key in projections)], default=0) + 1):
        cells = []
        for alias in aliases:
            row = projections.get((number, alias))
            awaited = number == current and alias in still
            mark = _mark(row.outcome) if row is not None else "…" if awaited else ""
            cells.append(f"{mark} {row.items}" if row is not None and row.items else mark)
        verdict = say(f"show.verdict_{observations[number].verdict.value}") if number in observations else ""
        seen = figures.get(number, {})
        table.add_row(f"R{number}", *cells, str(seen.get("relations", "")), str(seen.get("gaps", "")), verdict)
    return table


def _mark(outcome: Outcome) -> str:
    return _MARKS.get(outcome) or f"[dim]{say('show.left')}[/]"
