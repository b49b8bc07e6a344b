"""What `versions`, `replay`, `upgrade` do: from one build to the next (docs/operations.md §5)."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rich.table import Table
from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.operators.upgrade import Upgraded
from tongyao.app.operators.upgrade import upgrade as upgrade_processes
from tongyao.app.operators.versions import Versions
from tongyao.app.operators.versions import versions as read_versions
from tongyao.commands.context import OPERATOR, app_context, settings
from tongyao.commands.terminal import EXIT_BAD_INPUT, console, errors, fail, print_json
from tongyao.commands.words import say
from tongyao.protocol.contracts.process import CRYSTALLIZATION
from tongyao.runtime.errors import NotRunning
from tongyao.runtime.local.addresses import find_running
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.connection import codec_of, connect


async def versions() -> Versions:
    return await read_versions(await _client(), build_id())


def show(found: Versions) -> None:
    table = Table(*(say(f"builds.{name}") for name in ("build", "workers", "processes", "alone")), "", box=None)
    for one in found.builds:
        workers = ", ".join(f"{queue.removeprefix('tongyao-')} {count}" for queue, count in one.workers.items())
        advice = say(f"builds.{one.stands}", queues=", ".join(one.needed_by))
        table.add_row(one.build, workers or say("builds.none"), str(one.processes), str(one.alone), advice)
    console.print(table, highlight=False)
    for rules in found.rules:
        key = "builds.rules" if rules.carried else "builds.rules_unknown"
        console.print(say(key, logic=rules.logic, n=rules.processes), highlight=False)


async def replay(
    processes: Sequence[str], files: Sequence[Path], save: Path | None, limit: int | None, as_json: bool
) -> int:
    from tongyao.runtime.temporal.payload_codec import converter_with
    from tongyao.runtime.temporal.replay import replay as replayed  # imports the workflow

    client = None if files else await _client()
    histories = _of_files(files) if client is None else _of_server(client, processes, limit)
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        histories = _saved(histories, save)
    # Saved histories are as they lie in Temporal: encrypted under this installation's keys, or plain.
    converter = converter_with(codec_of(settings(), takes_plain=True)) if client is None else client.data_converter
    shown = []
    unfit = count = 0
    async for one in replayed(histories, converter):
        count += 1
        unfit += not one.fits
        shown.append({"process": one.process_id, "run": one.run_id, "events": one.events, "fits": one.fits,
                      "failure": one.failure, "inputs": one.inputs})  # fmt: skip
        if not as_json and not one.fits:
            reasons = [one.failure] if one.failure else list(one.inputs)
            errors.print(f"{one.process_id}: {'; '.join(reasons)}", style="red", markup=False, soft_wrap=True)
    if as_json:
        print_json(shown)
    else:
        verdict = say("builds.do_not_fit", n=unfit) if unfit else say("builds.all_fit")
        console.print(say("builds.replayed", n=count, build=build_id(), verdict=verdict), highlight=False)
    return unfit


async def _of_server(client: Client, processes: Sequence[str], limit: int | None) -> AsyncIterator[WorkflowHistory]:
    """The present run of each. One that ended meanwhile and is gone is left out."""
    if processes:
        for process in processes:
            try:
                yield await client.get_workflow_handle(process).fetch_history()
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                fail(say("builds.no_process", process=process), EXIT_BAD_INPUT)
        return
    query = f'WorkflowType="{CRYSTALLIZATION}" AND ExecutionStatus="Running"'
    async for execution in client.list_workflows(query, limit=limit):
        try:
            yield await client.get_workflow_handle(execution.id).fetch_history()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise


async def _of_files(files: Sequence[Path]) -> AsyncIterator[WorkflowHistory]:
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


async def upgrade(process: str | None, dry_run: bool, key: str) -> list[Upgraded]:
    async with app_context() as context:
        return await upgrade_processes(context, OPERATOR, key=key, only=process, dry_run=dry_run, via="cli")


async def _client() -> Client:
    """A connection to the Temporal server of the installation that runs. The records are not asked. Raises `NotRunning`."""
    config = settings()
    if config.temporal_address is not None:
        return await connect(config)
    running = find_running(config.home)
    if running is None:
        raise NotRunning(config.home)
    return await connect(config, address=running.temporal_address)
