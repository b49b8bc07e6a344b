"""`schedules`, `note-backup`: the duties of maintenance (docs/operations.md §11)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tongyao.app.operators.schedules import ScheduleLine, pause_schedule, read_schedules
from tongyao.commands.shared.common import EXIT_BAD_INPUT, OPERATOR, app_context, console, fail, print_json, run
from tongyao.protocol.contracts.maintenance import Duty
from tongyao.records.maintenance import Backups, DutyLog, DutyRow

DUMP_MAGIC = b"PGDMP"


def add_to(app: typer.Typer) -> None:
    app.command()(schedules)
    app.command("note-backup")(note_backup)


def schedules(
    pause: Annotated[Duty | None, typer.Option(help="Pause this one: it is not run until it is resumed.")] = None,
    resume: Annotated[Duty | None, typer.Option(help="Let this one go on.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array on standard output.")] = False,
) -> None:
    """List the schedules of maintenance: when each ran last and runs next, and what its last run came to.

    `tongyao prepare` (and `tongyao up`) makes those that TONGYAO_MAINTENANCE__… names.
    """
    lines = run(_schedules(pause, resume))
    if as_json:
        print_json(lines)
        return
    table = Table("duty", "every", "last run (UTC)", "it", "next (UTC)", "counted", "", box=None)
    for line in lines:
        table.add_row(*_cells(line))
    console.print(table, highlight=False)
    if not lines:
        console.print("there are none: `tongyao prepare` makes them")


async def _schedules(pause: Duty | None, resume: Duty | None) -> list[dict[str, Any]]:
    async with app_context() as context:
        for duty, paused in ((pause, True), (resume, False)):
            if duty is not None:
                await pause_schedule(context.client, duty, paused=paused, login=OPERATOR.login)
        ended = {row.duty: row for row in await DutyLog(context.repositories.pool).rows()}
        return [_line(one, ended.get(one.duty.value)) for one in await read_schedules(context.client)]


def _line(schedule: ScheduleLine, ended: DutyRow | None) -> dict[str, Any]:
    found = schedule.model_dump(mode="json")
    return found | {
        "failures": ended.failures if ended else 0,
        "error": ended.error if ended and ended.failures else "",
        "counts": ended.counts if ended else {},
    }


def _cells(line: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{name} {count}" for name, count in line["counts"].items() if count)
    state = (
        line["note"] if line["paused"] else f"failed {line['failures']} times: {line['error']}" * bool(line["error"])
    )
    every = f"{line['every_seconds'] / 60:g} min"
    return [line["duty"], every, _time(line["last"]), line["result"], _time(line["next"]), counts, state]


def _time(given: str | None) -> str:
    return given[:16].replace("T", " ") if given else ""


def note_backup(
    files: Annotated[
        list[Path], typer.Argument(help="The files that `pg_dump --format=custom` wrote; `-`: one on standard input.")
    ],
) -> None:
    """Note that a backup was made, as the last line of its script. The duty `backup` fails when the last note is too old.

    Each file must be there and begin as a dump of PostgreSQL's custom format does. Whether it can be restored is seen by restoring it.
    """
    sizes = [_size(file) for file in files]
    run(_note(len(files), sum(sizes)))
    console.print(f"noted: {len(files)} files, {sum(sizes):,} bytes", highlight=False)


def _size(file: Path) -> int:
    try:
        with sys.stdin.buffer if file == Path("-") else file.open("rb") as opened:
            begins = opened.read(len(DUMP_MAGIC))
            size = len(begins) + sum(len(block) for block in iter(lambda: opened.read(1 << 20), b""))
    except OSError as error:
        fail(f"{file} cannot be read: {type(error).__name__}", EXIT_BAD_INPUT)
    if begins != DUMP_MAGIC:
        fail(f"{file} is no dump of PostgreSQL's custom format (`pg_dump --format=custom`)", EXIT_BAD_INPUT)
    return size


async def _note(files: int, size: int) -> None:
    async with app_context() as context:
        await Backups(context.repositories.pool).note(files=files, size=size, login=OPERATOR.login)
