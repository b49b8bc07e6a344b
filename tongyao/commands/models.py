"""`cost`, `estimate`, `prompts`, `record`: what models were told, what they answered, what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer
from rich.table import Table

from tongyao.commands.options import Process
from tongyao.commands.terminal import console, fail, print_json, run
from tongyao.commands.words import say

prompts_app = typer.Typer(help="Show prompts as models get them.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    app.command()(cost)
    app.command()(estimate)
    app.command()(record)
    app.add_typer(prompts_app, name="prompts")


def cost(
    by: Annotated[
        list[str] | None, typer.Option(help="Group by process, step, model or day (the default). May be repeated.")
    ] = None,
    process: Annotated[str | None, typer.Option(help="Only of this process.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Show model calls, tokens and dollars. Failed calls are included."""
    from tongyao.commands.actions import models as actions

    groups = tuple(by or ["day"])
    wrong = [one for one in groups if one not in get_args(actions.Group)]
    if wrong:
        fail(say("models.no_group", given=repr(wrong[0]), groups=", ".join(get_args(actions.Group))), 2)
    run(actions.cost(cast(tuple[actions.Group, ...], groups), process, as_json))


def estimate(
    people: Annotated[int, typer.Option(min=2, max=8, help="The number of participants.")] = 4,
    profile_chars: Annotated[int, typer.Option(min=0, help="Characters of one profile.")] = 3_000,
    rounds: Annotated[int, typer.Option(min=1, max=9, help="Rounds until it converges; three to five are usual.")] = 4,
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Estimate what a process would cost with the models of the settings. Calls no model. Assumes proxies only and no repairs; thinking is a guess."""
    from tongyao.commands.context import settings
    from tongyao.llm import prices
    from tongyao.llm.cost_estimate import estimate as estimated

    if lang not in ("en", "zh"):
        fail(say("models.no_language", given=repr(lang)), 2)
    config = settings()
    rows = estimated(
        language="zh" if lang == "zh" else "en",
        people=people,
        profile_chars=profile_chars,
        rounds=rounds,
        models=config.models_by_step,
        prices=prices.load(config.prices),
    )
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
        return
    columns = ("step", "model", "calls", "fresh", "cached", "output")
    table = Table(*(say(f"models.{name}") for name in columns), "$", box=None)
    for row in rows:
        dollars = say("models.unknown") if row.cost is None else f"{row.cost:.3f}"
        table.add_row(
            row.step, row.model, str(row.calls), f"{row.fresh:,}", f"{row.cached:,}", f"{row.output:,}", dollars
        )
    known = [row.cost for row in rows if row.cost is not None]
    whole = f"{sum(known):.2f}"
    whole = whole if len(known) == len(rows) else say("models.or_more", cost=whole)
    table.add_row(say("models.all"), "", str(sum(row.calls for row in rows)), *("" for _ in range(3)), whole)
    console.print(table)


def record(
    process: Process,
    to: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Write every settled answer of a process to a file, which the `recorded` engine can play without a key."""
    from tongyao.commands.actions import models as actions

    count = run(actions.record(process, to))
    console.print(say("models.recorded", n=count, file=to))


@prompts_app.command("show")
def show_prompt(
    step: Annotated[str, typer.Argument(help="formulate, project, observe, plan or deliver")],
    lang: Annotated[str, typer.Option(help="zh or en")] = "en",
    example: Annotated[
        bool, typer.Option("--example", help="Include the data of a small example, as it is sent.")
    ] = False,
) -> None:
    """Show a prompt: as written, or with an example's data as the model would get it."""
    from tongyao.llm import prompts
    from tongyao.llm.example import render_example
    from tongyao.protocol.model.steps import STEPS

    if step not in STEPS or lang not in ("zh", "en"):
        fail(say("models.no_prompt", steps=", ".join(STEPS)), 2)
    language: Literal["zh", "en"] = "zh" if lang == "zh" else "en"
    typer.echo(render_example(step, language) if example else prompts.load(step, language).whole)


@prompts_app.command("list")
def list_prompts() -> None:
    """List every prompt with its version and hash, as a manifest freezes them."""
    from tongyao.llm import prompts
    from tongyao.protocol.model.steps import STEPS

    table = Table(*(say(f"models.{name}") for name in ("step", "language", "version")), "sha256", box=None)
    for step in STEPS:
        for language in ("zh", "en"):
            prompt = prompts.load(step, language)
            table.add_row(step, language, str(prompt.version), prompt.sha256[:16])
    console.print(table)
