"""What `up`, `prepare`, `doctor`, `operators/reconcile` do: the installation itself."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel
from rich.cells import cell_len, set_cell_size
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tongyao.app.operators import reconcile as reconciliation
from tongyao.commands.shared.common import app_context, settings
from tongyao.commands.shared.terminal import EXIT_FAILED, console, fail, run
from tongyao.commands.shared.words import say
from tongyao.runtime import installation
from tongyao.runtime.settings import every_variable

if TYPE_CHECKING:
    from tongyao.commands.shared.doctor import Row

_WITHOUT_PASSWORD = re.compile(r"(?<=:)[^:@/]+(?=@)")

STYLES = {"ok": "green", "optional": "dim", "later": "yellow", "missing": "red", "attention": "yellow", "failed": "red"}


async def up() -> None:
    from tongyao.runtime.local.processes import make_private
    from tongyao.runtime.observability import logs
    from tongyao.runtime.serve import gateway_running  # imports the web server: a second that other commands save

    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    config = settings()
    make_private(config.home)
    logs.configure(config, file=config.home / "logs" / "service.log")
    traces = None
    if config.traces_endpoint is not None:
        from tongyao.runtime.observability.traces import start_traces  # brings the OpenTelemetry SDK

        traces = start_traces(config.traces_endpoint, "gateway")
    with console.status(say("up.bringing_up")):
        service = installation.brought_up(config)
        started = await service.__aenter__()
    try:
        if started.joined:
            fail(say("up.runs_already", home=config.home, pid=started.addresses.owner_pid), EXIT_FAILED)
        async with gateway_running(started, stop) as url:
            if console.is_terminal and _has_screen():
                webbrowser.open(f"{url}/console/")
            for name, where in addresses(started, url).items():
                console.print(f"[bold]{set_cell_size(name, 12)}[/bold] {where}", highlight=False, soft_wrap=True)
            console.print(say("up.come_in"), style="dim", highlight=False, soft_wrap=True)
            if started.context.registration_open:
                console.print(say("up.come_in_open"), style="dim", highlight=False, soft_wrap=True)
            if config.delegates:
                console.print(say("up.delegated"), highlight=False, soft_wrap=True)
            console.print(say("up.running"), style="dim")
            await stop.wait()
            console.print(say("up.stopping"), style="dim")
    finally:
        await service.__aexit__(None, None, None)
        if traces is not None:
            await asyncio.to_thread(traces.shutdown)
    console.print(say("up.stopped"), style="dim")


def _has_screen() -> bool:
    """Whether a browser would open in a window. In a terminal it would take the place of this command."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def addresses(installed: installation.Installation, gateway_url: str = "") -> dict[str, str]:
    """Where everything is, the console first."""
    shown = {say("up.console"): f"{gateway_url}/console/"} if gateway_url else {}
    shown |= {
        "Temporal UI": installed.addresses.temporal_ui or say("up.own_temporal"),
        "Temporal": installed.addresses.temporal_address,
        "PostgreSQL": _WITHOUT_PASSWORD.sub("…", installed.addresses.database_url),
        say("up.state"): str(installed.settings.home),
        say("up.logs"): str(installed.settings.home / "logs"),
        say("up.engine"): installed.settings.chosen_engine,
    }
    if gateway_url:
        shown |= {"API": say("up.api", address=gateway_url), "MCP": f"{gateway_url}/mcp"}
    return shown


async def register() -> None:
    from tongyao.app.operators.schedules import ensure_schedules
    from tongyao.records.database import open_pool
    from tongyao.records.maintenance import DutyLog
    from tongyao.runtime.temporal.connection import connect
    from tongyao.runtime.temporal.namespaces import ensure_namespace
    from tongyao.runtime.temporal.search_attributes import register_search_attributes

    config = settings()
    client = await connect(config, new_namespace=True)
    await ensure_namespace(client)
    await register_search_attributes(client)
    turned_off = await ensure_schedules(client, config.maintenance.every)
    assert config.database_url is not None
    pool = await open_pool(config.database_url.get_secret_value())
    try:
        await DutyLog(pool).forget(turned_off)
    finally:
        await pool.close()


def print_deployment() -> bool:
    """What is to be mended first. Returns whether nothing is."""
    from tongyao.commands.shared.deployment_doctor import examine_deployment
    from tongyao.commands.shared.doctor import Finding, is_well

    rows = run(examine_deployment(settings()))
    order = [Finding.FAILED, Finding.ATTENTION, Finding.OK]
    print_rows(sorted(rows, key=lambda one: order.index(one.finding)))
    return is_well(rows)


def print_rows(rows: Sequence[Row]) -> None:
    """A line each, what to do below it. Nothing is cut, so that paths and commands can be pasted in a narrow window, too."""
    for row in rows:
        line = Text(set_cell_size(say(f"doctor.{row.finding.value}"), 10), style=STYLES[row.finding])
        subject = row.subject + " " * max(1, 20 - cell_len(row.subject))
        console.print(line.append(f"{subject}{row.found}", style="default"), soft_wrap=True)
        if row.advice:
            console.print(Padding(Text(row.advice), (0, 0, 0, 10)))


def print_settings() -> None:
    """No value is printed that somebody set: it may be a secret."""
    table = Table(say("doctor.variable"), say("doctor.default"), say("doctor.meaning"), box=None)
    for variable in every_variable():
        default = say("doctor.parts_below") if isinstance(variable.default, BaseModel) else _shown(variable.default)
        table.add_row(
            min(variable.names, key=len),
            f"[bold]{say('doctor.is_set')}[/bold]" if variable.is_set else default,
            variable.description,
        )
    console.print(table, highlight=False)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "1" if default else "0"
    return "" if default is None else escape(str(default))


async def reconcile(dry_run: bool) -> reconciliation.Report:
    async with app_context() as context:
        return await reconciliation.reconcile(context, dry_run=dry_run)
