"""`up`, `prepare`, `doctor`, `operators/reconcile`: the installation itself."""

from __future__ import annotations

import typer

from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_FAILED, console, fail, print_json, run
from tongyao.commands.shared.words import say


def add_to(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(prepare)
    app.command()(doctor)
    app.command()(reconcile)


def up() -> None:
    """Start the service and keep it running until Ctrl-C: Temporal, PostgreSQL, a worker, the relay, the gateway.

    Opens the console in a browser if run at a terminal. Logs are written to logs/ in TONGYAO_HOME.
    """
    from tongyao.commands.actions import service as actions

    run(actions.up())


def prepare() -> None:
    """Prepare a deployment: migrate the schema, register namespace and search attributes, create the maintenance schedules.

    Safe to repeat. Run it after a change of TONGYAO_MAINTENANCE__…, too: it brings the schedules up to date.
    """
    from tongyao.commands.actions import service as actions
    from tongyao.commands.shared.common import settings

    config = settings()
    if config.database_url is None:
        fail(say("up.nothing_to_prepare"), EXIT_BAD_INPUT)
    from tongyao.records.migrate import migrate

    applied = migrate(config.database_url.get_secret_value())
    console.print(say("up.schema", migrations=", ".join(applied) or say("up.up_to_date")))
    if config.temporal_address is not None:
        run(actions.register())
        console.print(say("up.registered", namespace=config.temporal_namespace))
        duties = ", ".join(config.maintenance.every) or say("up.none")
        console.print(say("up.schedules", duties=duties), highlight=False)


def doctor(
    every: bool = typer.Option(False, "--settings", help="List every setting instead: its name, default and meaning."),
    deployment: bool = typer.Option(
        False,
        "--deployment",
        help="Check the running deployment instead: servers, schema, workers, schedules, backlog, keys, backup.",
    ),
    engine: bool = typer.Option(
        False,
        "--engine",
        help="Make one small real call per step instead: its cost, and whether the answer can be read.",
    ),
) -> None:
    """Say what is installed, what is missing, and what to do.

    With --deployment: the state of the running deployment, in lines that can be pasted. With --engine: the model of each step is
    asked once, with a small made-up example. Exit code 1 if something must be fixed.
    """
    from tongyao.commands.actions import service as actions
    from tongyao.commands.shared.common import settings

    if every:
        actions.print_settings()
        return
    if engine:
        from tongyao.commands.engine_check import check_engines
        from tongyao.commands.shared.doctor import is_well

        rows = run(check_engines(settings()))
        actions.print_rows(rows)
        if not is_well(rows):
            raise typer.Exit(EXIT_FAILED)
        return
    if deployment:
        if not actions.print_deployment():
            raise typer.Exit(EXIT_FAILED)
        return
    from tongyao.commands.shared.doctor import examine, is_well

    rows = examine(settings())
    actions.print_rows(rows)
    if not is_well(rows):
        raise typer.Exit(EXIT_FAILED)


def reconcile(
    json: bool = typer.Option(False, "--json", help="Print a JSON object."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would be done."),
) -> None:
    """Find processes that were terminated, never started, or whose records are behind; repair what can be repaired."""
    from tongyao.commands.actions import service as actions

    report = run(actions.reconcile(dry_run))
    if json:
        print_json(report.model_dump())
        return
    for name, found in report.model_dump().items():
        shown = found if isinstance(found, int) else ", ".join(found) or say("up.none")
        console.print(say(f"reconcile.{name}", shown=shown), highlight=False)
    if dry_run:
        console.print(say("sent.nothing_changed"))
