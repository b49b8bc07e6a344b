"""`up`, `prepare`, `doctor`, `reconcile`: start, prepare, check and repair an installation."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.cells import cell_len, set_cell_size
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from tongyao.commands.context import app_context, settings
from tongyao.commands.gateway import stop_signals
from tongyao.commands.options import AsJson, DryRun
from tongyao.commands.terminal import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    CommandGroup,
    console,
    fail,
    print_json,
    print_table,
)  # fmt: skip
from tongyao.commands.words import say, tell

if TYPE_CHECKING:
    from tongyao.commands.doctor import CheckRow
    from tongyao.runtime.installation import Installation
    from tongyao.runtime.settings import Settings

_WITHOUT_PASSWORD: Final = re.compile(r"(?<=:)[^:@/]+(?=@)")
STYLES: Final = {
    "ok": "green", "optional": "dim", "later": "yellow", "missing": "red", "attention": "yellow", "failed": "red"
}  # fmt: skip

app = CommandGroup()


@app.command()
async def up() -> None:
    """Start the service and keep it running until Ctrl-C: Temporal, PostgreSQL, a worker, the relay, the gateway.

    Opens the console in a browser if run at a terminal. Logs are written to logs/ in TONGYAO_HOME.
    """
    from tongyao.runtime import installation
    from tongyao.runtime.local.server_process import make_private
    from tongyao.runtime.observability import logs
    from tongyao.runtime.serve import gateway_running

    stop = stop_signals()
    config = settings()
    make_private(config.home)
    logs.configure(config, file=config.home / "logs" / "service.log")
    traces = None
    if config.traces_endpoint is not None:
        from tongyao.runtime.observability.traces import start_traces  # imports the OpenTelemetry SDK

        traces = start_traces(config.traces_endpoint, "gateway")
    if not console.is_terminal:  # a status line is shown only at a terminal
        tell("up.bringing_up")
    with console.status(say("up.bringing_up")):
        service = installation.brought_up(config)
        started = await service.__aenter__()
    try:
        if started.joined:
            fail(say("up.runs_already", home=config.home, pid=started.addresses.owner_pid), EXIT_FAILED)
        async with gateway_running(started, stop) as url:
            if console.is_terminal and _has_screen():
                webbrowser.open(f"{url}/console/")
            for name, where in _addresses(started, url).items():
                console.print(f"[bold]{set_cell_size(name, 12)}[/bold] {where}", highlight=False, soft_wrap=True)
            tell("up.come_in", whole=True, style="dim")
            if started.context.registration_open:
                tell("up.come_in_open", whole=True, style="dim")
            if config.delegates:
                tell("up.delegated", whole=True)
            tell("up.running", style="dim")
            await stop.wait()
            tell("up.stopping", style="dim")
    finally:
        await service.__aexit__(None, None, None)
        if traces is not None:
            await asyncio.to_thread(traces.shutdown)
    tell("up.stopped", style="dim")


@app.command()
async def prepare() -> None:
    """Prepare a deployment: migrate the schema, register namespace and search attributes, create the maintenance schedules.

    Safe to repeat. Run it after a change of TONGYAO_MAINTENANCE__…, too: it brings the schedules up to date.
    """
    from tongyao.records.migrate import migrate

    config = settings()
    if config.database_url is None:
        fail(say("up.nothing_to_prepare"), EXIT_BAD_INPUT)
    applied = await asyncio.to_thread(migrate, config.database_url.get_secret_value())
    tell("up.schema", migrations=", ".join(applied) or say("up.up_to_date"))
    if config.temporal_address is not None:
        await _register(config, config.database_url.get_secret_value())
        tell("up.registered", namespace=config.temporal_namespace)
        duties = ", ".join(config.maintenance.every) or say("up.none")
        tell("up.schedules", duties=duties)


@app.command()
async def doctor(
    every: Annotated[
        bool, typer.Option("--settings", help="List every setting instead: its name, default and meaning.")
    ] = False,
    deployment: Annotated[
        bool,
        typer.Option(
            "--deployment",
            help="Check the running deployment instead: servers, schema, workers, schedules, backlog, keys, backup.",
        ),
    ] = False,
    engine: Annotated[
        bool,
        typer.Option(
            "--engine",
            help="Make one small real call per step instead: its cost, and whether the answer can be read.",
        ),
    ] = False,
) -> None:
    """Show what is installed, what is missing, and what to do.

    With --deployment: the state of the running deployment, in lines that can be pasted. With --engine: the model of each step is
    asked once, with a small made-up example. Exit code 1 if something must be fixed.
    """
    if every:
        _print_settings()
        return
    from tongyao.commands.doctor import CheckState, examine, examine_deployment, is_well

    if engine:
        from tongyao.commands.engine_check import check_engines

        rows = []
        async for row in check_engines(settings()):  # a slow model takes minutes
            rows.append(row)
            _print_rows([row])
    else:
        rows = await examine_deployment(settings()) if deployment else examine(settings())
        if deployment:  # failures come first
            order = [CheckState.FAILED, CheckState.ATTENTION, CheckState.MISSING, CheckState.OK]
            rows.sort(key=lambda row: order.index(row.finding))
        _print_rows(rows)
    if not is_well(rows):
        raise typer.Exit(EXIT_FAILED)


@app.command()
async def reconcile(as_json: AsJson = False, dry_run: DryRun = False) -> None:
    """Find processes that were terminated, never started, or whose records are behind; repair what can be repaired."""
    from tongyao.app.operators import reconcile as reconciliation

    async with app_context() as context:
        report = await reconciliation.reconcile(context, dry_run=dry_run)
    if as_json:
        print_json(report.model_dump())
        return
    for name, found in report.model_dump().items():
        shown = found if isinstance(found, int) else ", ".join(found) or say("up.none")
        tell(f"reconcile.{name}", shown=shown)
    if dry_run:
        tell("sent.nothing_changed")


def _has_screen() -> bool:
    """Return whether there is a graphical display. Without one, a text browser would take over this terminal."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _addresses(installed: Installation, gateway_url: str) -> dict[str, str]:
    """Return the addresses of all parts, the console first."""
    return {
        say("up.console"): f"{gateway_url}/console/",
        "Temporal UI": installed.addresses.temporal_ui or say("up.own_temporal"),
        "Temporal": installed.addresses.temporal_address,
        "PostgreSQL": _WITHOUT_PASSWORD.sub("…", installed.addresses.database_url),
        say("up.state"): str(installed.settings.home),
        say("up.logs"): str(installed.settings.home / "logs"),
        say("up.engine"): installed.settings.chosen_engine,
        "API": say("up.api", address=gateway_url),
        "MCP": f"{gateway_url}/mcp",
    }


async def _register(config: Settings, database_url: str) -> None:
    from tongyao.app.operators.schedules import ensure_schedules
    from tongyao.records.database import open_pool
    from tongyao.records.maintenance import DutyLog
    from tongyao.runtime.temporal.connection import connect
    from tongyao.runtime.temporal.namespaces import ensure_namespace, register_search_attributes

    client = await connect(config, new_namespace=True)
    await ensure_namespace(client)
    await register_search_attributes(client)
    turned_off = await ensure_schedules(client, config.maintenance.every)
    pool = await open_pool(database_url)
    try:
        await DutyLog(pool).forget(turned_off)
    finally:
        await pool.close()


def _print_rows(rows: Sequence[CheckRow]) -> None:
    """Print a line for each row, with the advice below it. Lines are not cut, so paths and commands can be copied."""
    for row in rows:
        line = Text(set_cell_size(say(f"doctor.{row.finding.value}"), 10), style=STYLES[row.finding])
        subject = row.subject + " " * max(1, 20 - cell_len(row.subject))
        console.print(line.append(f"{subject}{row.found}", style="default"), soft_wrap=True)
        if row.advice:
            console.print(Padding(Text(row.advice), (0, 0, 0, 10)))


def _print_settings() -> None:
    """Print every setting with its default. A value that is set is not printed, because it may be secret."""
    from pydantic import BaseModel

    from tongyao.runtime.settings import every_variable

    rows = []
    for variable in every_variable():
        default = say("doctor.parts_below") if isinstance(variable.default, BaseModel) else _shown(variable.default)
        value = f"[bold]{say('doctor.is_set')}[/bold]" if variable.is_set else default
        rows.append((min(variable.names, key=len), value, variable.description))
    print_table([say(f"doctor.{name}") for name in ("variable", "default", "meaning")], rows)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "1" if default else "0"
    return "" if default is None else escape(str(default))
