"""What `schedules`, `note-backup` do: the duties of maintenance (docs/operations.md §11)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tongyao.app.operators.schedules import ScheduleLine, pause_schedule, read_schedules
from tongyao.commands.context import OPERATOR, app_context
from tongyao.commands.terminal import EXIT_BAD_INPUT, fail
from tongyao.commands.words import say
from tongyao.protocol.contracts.maintenance import Duty
from tongyao.records.maintenance import Backups, DutyLog, DutyRow

DUMP_MAGIC = b"PGDMP"


async def schedules(pause: str | None, resume: str | None) -> list[dict[str, Any]]:
    changes = [(_duty(name), paused) for name, paused in ((pause, True), (resume, False)) if name is not None]
    async with app_context() as context:
        for duty, paused in changes:
            await pause_schedule(context.client, duty, paused=paused, login=OPERATOR.login)
        ended = {row.duty: row for row in await DutyLog(context.repositories.pool).rows()}
        return [_line(one, ended.get(one.duty.value)) for one in await read_schedules(context.client)]


def _duty(name: str) -> Duty:
    """The duty of this name; ends the command where there is none."""
    if name not in list(Duty):
        fail(say("schedules.no_duty", given=repr(name), duties=", ".join(Duty)), EXIT_BAD_INPUT)
    return Duty(name)


def _line(schedule: ScheduleLine, ended: DutyRow | None) -> dict[str, Any]:
    found = schedule.model_dump(mode="json")
    return found | {
        "failures": ended.failures if ended else 0,
        "error": ended.error if ended and ended.failures else "",
        "counts": ended.counts if ended else {},
    }


def cells(line: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{name} {count}" for name, count in line["counts"].items() if count)
    state = line["note"] if line["paused"] else ""
    if line["error"] and not line["paused"]:
        state = say("schedules.failed", n=line["failures"], error=line["error"])
    every = say("schedules.minutes", n=f"{line['every_seconds'] / 60:g}")
    return [line["duty"], every, _time(line["last"]), line["result"], _time(line["next"]), counts, state]


def _time(given: str | None) -> str:
    return given[:16].replace("T", " ") if given else ""


def size(file: Path) -> int:
    try:
        with sys.stdin.buffer if file == Path("-") else file.open("rb") as opened:
            begins = opened.read(len(DUMP_MAGIC))
            size = len(begins) + sum(len(block) for block in iter(lambda: opened.read(1 << 20), b""))
    except OSError as error:
        fail(say("schedules.unreadable", file=file, error=type(error).__name__), EXIT_BAD_INPUT)
    if begins != DUMP_MAGIC:
        fail(say("schedules.no_dump", file=file), EXIT_BAD_INPUT)
    return size


async def note(files: int, size: int) -> None:
    async with app_context() as context:
        await Backups(context.repositories.pool).note(files=files, size=size, login=OPERATOR.login)
