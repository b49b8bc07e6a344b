"""`log` (operators' actions), `project-again` (rewrites records), `signal` (signs payloads); docs/operations.md §6."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated

import typer

from tongyao.commands.context import app_context, open_records, operator
from tongyao.commands.options import AsJson, Process
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, errors, fail, print_json, print_table
from tongyao.commands.words import say, tell

app = CommandGroup()


@app.command("log")
async def show_log(
    process: Annotated[str | None, typer.Argument(help="Only this process.")] = None,
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


@app.command("signal")
async def sign_signal(
    process: Process,
    kind: Annotated[
        str, typer.Argument(help="The kind of the signal: cancel, submit_projection, … (docs/protocol.md §8.2).")
    ],
    payload: Annotated[str, typer.Argument(help="A JSON object.")] = "{}",
    hours: Annotated[float, typer.Option(help="Hours for which the signature is valid.")] = 1,
) -> None:
    """Print the payload of a signal with a signature, for `temporal workflow signal --input` or the Temporal UI. It can be used once."""
    from tongyao.app.operators.signals import signed_payload

    try:
        given = json.loads(payload)
    except ValueError as error:
        fail(say("log.no_json", error=error), EXIT_BAD_INPUT)
    if not isinstance(given, dict):
        fail(say("log.no_object", example='{}, {"alias": "P01"}'), EXIT_BAD_INPUT)
    async with app_context() as context:
        lifetime = timedelta(hours=hours)
        print_json(await signed_payload(context, operator(), process, kind, given, lifetime=lifetime))
    tell("log.send_it", to=errors, process=process, kind=kind)
