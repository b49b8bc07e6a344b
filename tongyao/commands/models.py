"""`cost`, `prompts`, `record`: the costs, prompts and answers of models."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import typer

from tongyao.commands.context import open_records
from tongyao.commands.options import AsJson, Process, ProcessOption
from tongyao.commands.terminal import CommandGroup, console, fail, print_json, print_table
from tongyao.commands.words import say

if TYPE_CHECKING:
    from tongyao.records.repositories import Repositories


class CostGroup(StrEnum):
    """The groups of `cost`. An enum, because Typer accepts no list of `Literal`."""

    PROCESS = "process"
    STEP = "step"
    MODEL = "model"
    DAY = "day"


Language = Literal["zh", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("zh", "en")

app = CommandGroup()
prompts_app = CommandGroup(help="Show prompts as they are sent to models.", no_args_is_help=True)


@app.command()
async def cost(
    by: Annotated[
        list[CostGroup] | None,
        typer.Option(help="Group by process, step, model or day (the default). May be repeated."),
    ] = None,
    process: ProcessOption = None,
    as_json: AsJson = False,
) -> None:
    """Show model calls, tokens and dollars. Failed calls are included."""
    groups = cast(
        tuple[Literal["process", "step", "model", "day"], ...], tuple(group.value for group in by or (CostGroup.DAY,))
    )
    async with open_records() as repositories:
        rows = await repositories.ledger.totals(groups, process_id=process)
    if as_json:
        print_json([row.model_dump(mode="json", exclude_none=True) for row in rows])
        return
    columns = (*groups, "calls", "failed", "orphaned", "input", "cache_written", "cache_read", "output")
    shown = []
    for row in rows:
        key = {"process": row.process_id, "step": row.step, "model": row.model or say("models.none"), "day": row.day}
        counts = (row.calls, row.failed, row.orphaned, row.input_tokens, row.cache_write_tokens, row.cache_read_tokens,
                  row.output_tokens)  # fmt: skip
        dollars = f"{row.cost:.4f}" if row.cost_known else say("models.or_more", cost=f"{row.cost:.4f}")
        if row.settled and not row.cost_known and not row.cost:
            dollars = say("show.price_unknown")
        shown.append((*(key[group] for group in groups), *(f"{count:,}" for count in counts), dollars))
    print_table([*(say(f"models.{name}") for name in columns), "$"], shown)


@app.command()
async def record(
    process: Process,
    to: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Write every settled answer of a process to a file, which the `recorded` engine can play without a key."""
    async with open_records() as repositories:
        count = await write_record(repositories, process, to)
    console.print(say("models.recorded", n=count, file=to))


async def write_record(repositories: Repositories, process: str, to: Path) -> int:
    """Write a recording of the settled answers of a process. Returns their number."""
    from tongyao.llm.engine import CallKey
    from tongyao.llm.recorded import RecordedRow, RecordedTokens, write_recording
    from tongyao.protocol.model.process import DEMANDER

    scene = (await repositories.processes.get(process)).scene_id
    rows = []
    for call in await repositories.ledger.calls(process):
        key = CallKey(process, call.step, call.round, call.alias, call.revision, call.reask)
        settled = await repositories.ledger.settled(key, call.input_hash) if call.state == "settled" else None
        if settled is None:
            continue
        counted = settled.model_dump(include=set(RecordedRow.model_fields) - {"draft"})
        usage = RecordedTokens(**settled.model_dump(include=set(RecordedTokens.model_fields)))
        rows.append(RecordedRow.model_validate({**counted, "draft": json.loads(settled.draft_json), "usage": usage}))
    seats = [
        seat.person.removeprefix(
            f"{scene}-"
        )  # a profile that was given as a file has an id made of its scene and its name
        for seat in await repositories.seats.seats(process)
        if seat.alias != DEMANDER
    ]
    return write_recording(rows, to, title=process, seats=seats)


@prompts_app.command("show")
def show_prompt(
    step: Annotated[str, typer.Argument(help="formulate, project, observe, plan or deliver")],
    lang: Annotated[Language, typer.Option(help="zh or en")] = "en",
    example: Annotated[
        bool, typer.Option("--example", help="Include the data of a small example, as it is sent.")
    ] = False,
) -> None:
    """Show a prompt: as it was written, or with an example's data, as a model gets it."""
    from tongyao.llm import prompts
    from tongyao.protocol.model.steps import STEPS

    if step not in STEPS:
        fail(say("models.no_prompt", steps=", ".join(STEPS)), 2)
    if example:
        from tongyao.commands.engine_check import render_example  # loads the engines

        typer.echo(render_example(step, lang))
    else:
        typer.echo(prompts.load(step, lang).whole)


@prompts_app.command("list")
def list_prompts() -> None:
    """List every prompt with its version and hash. The manifest of a process records the same values."""
    from tongyao.llm import prompts
    from tongyao.protocol.model.steps import STEPS

    loaded = [(step, language, prompts.load(step, language)) for step in STEPS for language in LANGUAGES]
    print_table(
        [*(say(f"models.{name}") for name in ("step", "language", "version")), "sha256"],
        ((step, language, prompt.version, prompt.sha256[:16]) for step, language, prompt in loaded),
    )


app.add_typer(prompts_app, name="prompts")
