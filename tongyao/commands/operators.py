"""`log` (operators' actions), `project-again` (rewrites records), `schedules` and `note-backup` (maintenance).
See docs/operations.md §6 and §11."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tongyao.commands.context import app_context, open_records, operator
from tongyao.commands.options import AsJson, Process, ProcessIfAny
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, fail, print_json, print_table
from tongyao.commands.words import say, tell

app = CommandGroup()


@app.command("log")
async def show_log(
    process: ProcessIfAny = None,
    login: Annotated[str | None, typer.Option("--operator", help="Only what this operator did.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the actions of operators, newest first: resume, cancel, extend, write records again, decode payloads."""
    async with open_records() as repositories:
        acts = await repositories.operators.acts(process_id=process, login=login, limit=limit)
    if as_json:
        print_json([act.model_dump(mode="json") for act in acts])
        return
    print_table(
        [say(f"log.{name}") for name in ("when", "who", "via", "what", "process", "refused")],
        (
            (f"{act.at:%Y-%m-%d %H:%M:%S}", act.login, act.via,
             act.act if act.times == 1 else f"{act.act} ({act.times})", act.process_id, act.refused)
            for act in acts
        ),
    )  # fmt: skip


@app.command("project-again")
async def project_process_again(process: Process) -> None:
    """Write the records of a process again from the state of its workflow, after a reset or a restore from a backup."""
    from tongyao.app.operators.project_again import project_again

    async with app_context() as context:
        login = operator().login
        sent = await project_again(context.repositories, context.client, process, login=login, via="cli")
    tell("log.again", process=process, n=sent)


if TYPE_CHECKING:
    from tongyao.app.operators.schedules import ScheduleLine
    from tongyao.protocol.contracts.maintenance import Duty
    from tongyao.records.maintenance import DutyRow

DUMP_MAGIC: Final = b"PGDMP"


@app.command()
async def schedules(
    pause: Annotated[str | None, typer.Option(help="Pause this duty. It does not run until it is resumed.")] = None,
    resume: Annotated[str | None, typer.Option(help="Resume this duty.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the maintenance schedules: last run with its result, and next run.

    `tongyao prepare` (and `tongyao up`) creates the schedules that are listed in the settings TONGYAO_MAINTENANCE__….
    """
    from tongyao.app.operators.schedules import pause_schedule, read_schedules
    from tongyao.records.maintenance import DutyLog

    changes = [(_duty(name), paused) for name, paused in ((pause, True), (resume, False)) if name is not None]
    async with app_context() as context:
        for duty, paused in changes:
            await pause_schedule(context.client, duty, paused=paused, login=operator().login)
        ended = {row.duty: row for row in await DutyLog(context.repositories.pool).rows()}
        lines = [_line(schedule, ended.get(schedule.duty.value)) for schedule in await read_schedules(context.client)]
    if as_json:
        print_json(lines)
        return
    columns = ("duty", "every", "last", "result", "next", "counted")
    print_table([*(say(f"schedules.{name}") for name in columns), ""], map(_cells, lines))
    if not lines:
        tell("schedules.none")


@app.command("note-backup")
async def note_backup(
    files: Annotated[
        list[Path],
        typer.Argument(help="The files that `pg_dump --format=custom` wrote; `-` for a dump on standard input."),
    ],
) -> None:
    """Note, at the end of a backup script, that a backup was made. The duty `backup` fails when the last note is too old.

    Each file must exist and begin as a dump in PostgreSQL's custom format does. Only restoring it shows whether it can be restored.
    """
    from tongyao.records.maintenance import Backups

    size = sum(map(_size_of_dump, files))
    async with app_context() as context:
        await Backups(context.repositories.pool).note(files=len(files), size=size, login=operator().login)
    tell("schedules.noted", n=len(files), size=f"{size:,}")


def _duty(name: str) -> Duty:
    """Return the duty of this name. Exits if there is none."""
    from tongyao.protocol.contracts.maintenance import Duty

    if name not in list(Duty):
        fail(say("schedules.no_duty", given=repr(name), duties=", ".join(Duty)), EXIT_BAD_INPUT)
    return Duty(name)


def _line(schedule: ScheduleLine, ended: DutyRow | None) -> dict[str, Any]:
    return schedule.model_dump(mode="json") | {
        "failures": ended.failures if ended else 0,
        "error": ended.error if ended and ended.failures else "",
        "counts": ended.counts if ended else {},
    }


def _cells(line: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{name} {count}" for name, count in line["counts"].items() if count)
    state = line["note"] if line["paused"] else ""
    if line["error"] and not line["paused"]:
        state = say("schedules.failed", n=line["failures"], error=line["error"])
    every = say("schedules.minutes", n=f"{line['every_seconds'] / 60:g}")
    return [line["duty"], every, _time(line["last"]), line["result"], _time(line["next"]), counts, state]


def _time(given: str | None) -> str:
    return given[:16].replace("T", " ") if given else ""


def _size_of_dump(file: Path) -> int:
    """Return the bytes of a dump (`-`: standard input). Exits if the file is no dump."""
    try:
        with sys.stdin.buffer if file == Path("-") else file.open("rb") as opened:
            begins = opened.read(len(DUMP_MAGIC))
            size = len(begins) + sum(len(block) for block in iter(lambda: opened.read(1 << 20), b""))
    except OSError as error:
        fail(say("schedules.unreadable", file=file, error=type(error).__name__), EXIT_BAD_INPUT)
    if begins != DUMP_MAGIC:
        fail(say("schedules.no_dump", file=file), EXIT_BAD_INPUT)
    return size
