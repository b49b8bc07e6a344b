"""`versions`, `replay`, `upgrade`: commands for a change of builds (docs/operations.md §5)."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tongyao.commands.context import app_context, operator, settings
from tongyao.commands.options import AsJson, DryRun, Key
from tongyao.commands.terminal import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    CommandGroup,
    console,
    errors,
    fail,
    print_json,
    print_table,
    put,
)
from tongyao.commands.words import say, tell

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHistory

app = CommandGroup()


@app.command()
async def versions(as_json: AsJson = False) -> None:
    """Show which builds poll for each role, and how many open processes follow each version of the rules."""
    from tongyao.app.operators.rules_in_use import read_rules
    from tongyao.app.operators.task_queues import read_roles
    from tongyao.runtime.temporal.build import build_id

    client = await _client()
    roles, found = await read_roles(client), await read_rules(client)
    if as_json:
        shown = {"roles": [role.model_dump() for role in roles], "rules": [rules.model_dump() for rules in found]}
        print_json({"this_build": build_id(), **shown})
    else:
        tell("builds.this_build", build=build_id())
        rows = [
            (role.role, build, count)
            for role in roles
            for build, count in (role.workers or {say("builds.none"): 0}).items()
        ]
        print_table([say(f"builds.{name}") for name in ("role", "build", "workers")], rows)
        for rules in found:
            tell("builds.rules" if rules.carried else "builds.rules_unknown", logic=rules.logic, n=rules.processes)
    if any(not rules.carried and rules.processes for rules in found):
        fail(say("builds.newer_needed"), EXIT_FAILED)


@app.command()
async def replay(
    process: Annotated[list[str] | None, typer.Argument(help="Ids of processes. Default: all open ones.")] = None,
    file: Annotated[
        list[Path] | None, typer.Option(help="Replay this history file (.json, .json.gz) instead. May be repeated.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Also write the histories into this directory.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The largest number of open processes to replay.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replay histories of open processes with this build, and compare its commands and the inputs of all steps.

    It reads from Temporal and changes nothing. Run it with the build that you are about to roll out.
    """
    if file and (process or limit):
        fail(say("builds.files_or_processes"), EXIT_BAD_INPUT)
    from tongyao.runtime.temporal.build import build_id
    from tongyao.runtime.temporal.connection import codec_of
    from tongyao.runtime.temporal.payload_codec import converter_with
    from tongyao.runtime.temporal.replay import replay as replayed  # imports the workflow

    client = None if file else await _client()
    histories = _of_files(file or []) if client is None else _of_server(client, process or [], limit)
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        histories = _saved(histories, save)
    # Saved histories have the payloads of Temporal: encrypted with this installation's keys, or not encrypted.
    converter = converter_with(codec_of(settings(), takes_plain=True)) if client is None else client.data_converter
    shown = []
    unfit = 0
    async for found in replayed(histories, converter):
        unfit += not found.fits
        shown.append({"process": found.process_id, "run": found.run_id, "events": found.events, "fits": found.fits,
                      "failure": found.failure, "inputs": found.inputs})  # fmt: skip
        if not as_json and not found.fits:
            reasons = [found.failure] if found.failure else list(found.inputs)
            put(f"{found.process_id}: {'; '.join(reasons)}", whole=True, style="red", to=errors)
    if as_json:
        print_json(shown)
    else:
        verdict = say("builds.do_not_fit", n=unfit) if unfit else say("builds.all_fit")
        tell("builds.replayed", n=len(shown), build=build_id(), verdict=verdict)
    if unfit:
        raise typer.Exit(EXIT_FAILED)


@app.command()
async def upgrade(
    process: Annotated[str | None, typer.Argument(help="Id of the process.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every open process.")] = False,
    dry_run: DryRun = False,
    key: Key = None,
) -> None:
    """Make open processes follow the newest rules. Each continues as new when none of its steps runs. People notice nothing."""
    from tongyao.app.operators.in_bulk import upgrade as upgrade_processes

    if (process is None) != every:
        fail(say("builds.one_or_all"), EXIT_BAD_INPUT)
    async with app_context() as context:
        key = key or uuid.uuid4().hex
        done = await upgrade_processes(context, operator(), key=key, only=process, dry_run=dry_run, via="cli")
    for upgraded in done:
        console.print(f"{upgraded.process_id}  {upgraded.phase}  {upgraded.result}", highlight=False)
    tell("builds.would_upgrade" if dry_run else "builds.upgraded", n=len(done))
    if process is not None and not done:
        fail(say("builds.not_open", process=process), EXIT_BAD_INPUT)


async def _of_server(client: Client, processes: Sequence[str], limit: int | None) -> AsyncIterator[WorkflowHistory]:
    """Yield the history of each process's current run. Open processes whose history is gone meanwhile are left out."""
    from tongyao.app.temporal_answers import if_known
    from tongyao.protocol.contracts.process import CRYSTALLIZATION

    for process in processes:
        history = await if_known(client.get_workflow_handle(process).fetch_history())
        if history is None:
            fail(say("builds.no_process", process=process), EXIT_BAD_INPUT)
        yield history
    if processes:
        return
    query = f'WorkflowType="{CRYSTALLIZATION}" AND ExecutionStatus="Running"'
    async for execution in client.list_workflows(query, limit=limit):
        if (history := await if_known(client.get_workflow_handle(execution.id).fetch_history())) is not None:
            yield history


async def _of_files(files: Sequence[Path]) -> AsyncIterator[WorkflowHistory]:
    from temporalio.client import WorkflowHistory

    for file in files:
        try:
            data = file.read_bytes()
            text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
            yield WorkflowHistory.from_json(file.name.split(".")[0], text)
        except (OSError, ValueError) as error:
            fail(say("builds.no_history", file=file, error=type(error).__name__), EXIT_BAD_INPUT)


async def _saved(histories: AsyncIterator[WorkflowHistory], folder: Path) -> AsyncIterator[WorkflowHistory]:
    async for history in histories:
        (folder / f"{history.workflow_id}.json").write_text(history.to_json(), encoding="utf-8")
        yield history


async def _client() -> Client:
    """Connect to the Temporal server of the settings or of the running service. Raises `NotRunning`."""
    from tongyao.runtime.errors import NotRunning
    from tongyao.runtime.local.addresses import find_running
    from tongyao.runtime.temporal.connection import connect

    config = settings()
    if config.temporal_address is not None:
        return await connect(config)
    running = find_running(config.home)
    if running is None:
        raise NotRunning(config.home)
    return await connect(config, address=running.temporal_address)
