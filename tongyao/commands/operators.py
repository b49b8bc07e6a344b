"""`log` (what operators did), `project-again` (the records made anew from a workflow) and `signal` (a payload signed).

docs/operations.md §6.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated

import typer
from rich.table import Table

from tongyao.commands.options import Process
from tongyao.commands.terminal import EXIT_BAD_INPUT, console, errors, fail, print_json, run
from tongyao.commands.words import say


def add_to(app: typer.Typer) -> None:
    app.command("log")(show_log)
    app.command("project-again")(project_process_again)
    app.command("signal")(sign_signal)


def show_log(
    process: Annotated[str | None, typer.Argument(help="Only this process.")] = None,
    operator: Annotated[str | None, typer.Option(help="Only what this operator did.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """List what operators did, newest first: resumed, cancelled, extended, made records again, decoded payloads."""
    from tongyao.commands.actions import operators as actions

    acts = run(actions.acts(process, operator, limit))
    if as_json:
        print_json([act.model_dump(mode="json") for act in acts])
        return
    columns = ("when", "who", "via", "what", "process", "refused")
    table = Table(*(say(f"log.{name}") for name in columns), box=None)
    for act in acts:
        what = act.act if act.times == 1 else f"{act.act} ({act.times})"
        table.add_row(f"{act.at:%Y-%m-%d %H:%M:%S}", act.login, act.via, what, act.process_id, act.refused)
    console.print(table, highlight=False)


def project_process_again(process: Process) -> None:
    """Write the records of a process again from the state of its workflow, after a reset or a restore from a backup."""
    from tongyao.commands.actions import operators as actions

    sent_again = run(actions.project_process_again(process))
    console.print(say("log.again", process=process, n=sent_again), highlight=False)


def sign_signal(
    process: Process,
    kind: Annotated[
        str, typer.Argument(help="The kind of the signal: cancel, submit_projection, … (docs/protocol.md §8.2).")
    ],
    payload: Annotated[str, typer.Argument(help="A JSON object.")] = "{}",
    hours: Annotated[float, typer.Option(help="Hours for which the signature is valid.")] = 1,
) -> None:
    """Print the payload of a signal with a signature, for `temporal workflow signal --input` or the Temporal UI. It can be used once."""
    from tongyao.commands.actions import operators as actions

    try:
        given = json.loads(payload)
    except ValueError as error:
        fail(say("log.no_json", error=error), EXIT_BAD_INPUT)
    if not isinstance(given, dict):
        fail(say("log.no_object", example='{}, {"alias": "P01"}'), EXIT_BAD_INPUT)
    print_json(run(actions.signed(process, kind, given, timedelta(hours=hours))))
    errors.print(say("log.send_it", process=process, kind=kind), markup=False)
