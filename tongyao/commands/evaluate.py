"""`eval`: written cases on the engine of the settings, and what each run found of what was there (docs/evaluation.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tongyao.commands.terminal import EXIT_BAD_INPUT, console, fail, print_json, run
from tongyao.commands.words import say


def add_to(app: typer.Typer) -> None:
    app.command("eval")(evaluate)


def evaluate(
    cases: Annotated[list[Path], typer.Argument(help="Folders of cases (examples/cases/*).")],
    people: Annotated[
        str | None, typer.Option(help="Only these participants of each case, in this order: a,b,c")
    ] = None,
    swap: Annotated[
        bool,
        typer.Option(
            "--swap", help="Also run each case's people with the next case's intent, and count what they repeat."
        ),
    ] = False,
    without: Annotated[
        str, typer.Option(help="Run each case a second time without this participant, and compare what the others say.")
    ] = "",
    judge: Annotated[
        bool, typer.Option("--judge", help="Also have a Claude model judge each run by the rubric.")
    ] = False,
    cap: Annotated[
        float | None,
        typer.Option(
            help="US dollars that one case may use. When they are used up, its plan is made of what there is."
        ),
    ] = None,
    beside: Annotated[
        Path | None, typer.Option(help="A file that `eval --json` wrote. Its rows are added to the tables.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Run cases one after another, and count which of their known links were found, and in which round."""
    from tongyao.commands.actions import evaluate as actions
    from tongyao.evals.cases import CaseError, load, only

    try:
        loaded = [load(folder) for folder in cases]
        if people:
            loaded = [only(case, tuple(name.strip() for name in people.split(","))) for case in loaded]
        others = actions.measured_before(beside) if beside else []
    except (CaseError, ValueError) as error:
        fail(str(error), EXIT_BAD_INPUT)
    if swap or without:
        compared = run(actions.compare(loaded, without))
        if as_json:
            print_json(compared)
        else:
            for one in compared:
                shared = actions.share(one["overlap"])
                console.print(say("eval.beside", case=one["case"], beside=one["beside"], share=shared))
        return
    rows = run(actions.evaluate(loaded, judge, cap))
    if as_json:
        print_json(
            [
                {**row.model_dump(mode="json"), **({"judgement": judgement} if judgement else {})}
                for row, judgement in rows
            ]
        )
        return
    wide = Console(width=max(console.width, 170))  # a table that is cut tells nothing
    measures = [*(row for row, _ in rows), *others]
    for table in (actions.table_of(measures), actions.plans_of(measures), actions.links_of(measures)):
        wide.print(table)
    for row, judgement in rows:
        if judgement:
            scores = ", ".join(f"{name} {score}" for name, score in judgement["scores"].items())
            console.print(f"[bold]{row.case}[/bold] {say('eval.judged', scores=scores)}\n{judgement['remarks']}")
