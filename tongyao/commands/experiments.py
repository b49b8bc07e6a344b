"""`experiment`: runs cases × variants × repetitions as forks, and reports the differences (docs/forks.md §4)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tongyao.commands.context import settings
from tongyao.commands.evaluate import measured, run_case
from tongyao.commands.forks import bad, start_fork
from tongyao.commands.options import AsJson
from tongyao.commands.terminal import EXIT_FAILED, CommandGroup, errors, print_json, put
from tongyao.commands.words import say, tell

if TYPE_CHECKING:
    from tongyao.evals.cases import Case
    from tongyao.evals.experiment import Experiment, Run, RunResult
    from tongyao.records.model_calls import Attempt
    from tongyao.runtime.installation import Installation

app = CommandGroup()


@app.command()
async def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment: a YAML file (docs/forks.md §4).")],
    out: Annotated[
        Path | None, typer.Option(help="The folder of the report. Default: the file's name without suffix.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment and write its report. Runs that are already in the report are not repeated.

    The report is written after every run. When the budget is used up, the same command with a larger budget continues.
    """
    from tongyao.evals.cases import CaseError, load
    from tongyao.evals.experiment import ExperimentError, case_key, files_of, runs_of
    from tongyao.evals.experiment import load as load_experiment
    from tongyao.runtime import installation

    try:
        wanted = load_experiment(file)
        cases = {folder: load(folder) for folder in wanted.cases}
    except (ExperimentError, CaseError) as error:
        raise bad("file", str(error)) from None
    folder, runs = out or file.with_suffix(""), runs_of(wanted)
    folder.mkdir(parents=True, exist_ok=True)
    results: list[RunResult] = []
    async with installation.brought_up(settings()) as installed:
        bases: dict[Path, tuple[str, dict[str, str]]] = {}
        for run in runs:
            left = await _budget_left(installed, wanted, [id for id, _ in bases.values()], results)
            if left is not None and left <= 0:
                break
            if run.case not in bases:
                cap = None if left is None else float(left)
                bases[run.case] = await run_case(installed, cases[run.case], cap, mark=case_key(wanted, run.case))
            results.append(await _run(installed, wanted, run, cases[run.case], *bases[run.case], left))
            for name, text in files_of(wanted, results, left=len(runs) - len(results)).items():
                (folder / name).write_text(text, encoding="utf-8")
            told = results[-1]
            progress = say(
                "forks.progress", done=len(results), all=len(runs), case=told.case, variant=told.variant,
                repetition=told.repetition, asked=told.asked, taken=told.taken, cost=f"{told.cost:.4f}",
            )  # fmt: skip
            put(progress, whole=True, style="dim", to=errors)
    if as_json:
        print_json([one.model_dump(mode="json") for one in results])
    else:
        tell("forks.report", file=folder / "report.md")
    if len(results) < len(runs):
        tell("forks.budget_used", style="yellow", to=errors, left=len(runs) - len(results))
        raise typer.Exit(EXIT_FAILED)


async def _budget_left(
    installed: Installation, wanted: Experiment, bases: Iterable[str], results: Iterable[RunResult]
) -> Decimal | None:
    """Return the rest of the budget in US dollars, or None without a budget."""
    if wanted.budget is None:
        return None
    used = [(await installed.context.repositories.ledger.usage(id)).cost for id in bases]
    return wanted.budget - sum(used, Decimal(0)) - sum((one.cost for one in results), Decimal(0))


async def _run(
    installed: Installation,
    wanted: Experiment,
    run: Run,
    case: Case,
    base: str,
    names: dict[str, str],
    left: Decimal | None,
) -> RunResult:
    """Make one run, which is a fork of the case's process `base`. A repeated call finds the fork by its key."""
    from tongyao.evals.experiment import RunResult, figures_of
    from tongyao.evals.measure import evidence_overlap

    repositories = installed.context.repositories
    variant, aliases = wanted.variants[run.variant], {name: alias for alias, name in names.items()}
    if strangers := sorted({*variant.without, *variant.profile} - set(aliases)):
        raise bad("variants", say("forks.no_such_people", variant=run.variant, people=", ".join(strangers)))
    change = variant.model_copy(
        update={
            "without": tuple(aliases[name] for name in variant.without),
            "profile": {aliases[name]: path for name, path in variant.profile.items()},
            "setting": {**variant.setting, **({} if left is None else {"cost_budget": str(left)})},
        }
    )
    shared = run.repetition == 1
    fork = await start_fork(
        installed.context, base, change, 1 if shared else wanted.round, "" if shared else wanted.step, key=run.key
    )
    await installed.context.client.get_workflow_handle(fork.id).result()
    row, used = await repositories.processes.get(fork.id), await repositories.ledger.usage(fork.id)
    figures: dict[str, float] = {}
    if row.outcome == "completed":
        figures = figures_of(await measured(installed, case, fork.id, names))
        calls, of_base = await repositories.ledger.calls(fork.id), await repositories.ledger.calls(base)
        tokens, cost = whole_use(calls, of_base, row.fork_round)
        figures |= {"tokens of a whole run": float(tokens), "dollars of a whole run": float(cost)}
        records = await repositories.record(base), await repositories.record(fork.id)
        same = evidence_overlap(records[0], names, records[1], names)
        figures |= {} if same is None else {"passages quoted as in the case's process (share)": same}
    return RunResult(
        case=case.id,
        variant=run.variant,
        repetition=run.repetition,
        process=fork.id,
        asked=used.settled - used.taken,
        taken=used.taken,
        cost=used.cost,
        failed="" if row.outcome == "completed" else str(row.outcome or row.phase),
        figures=figures,
    )


def whole_use(calls: Iterable[Attempt], of_base: Iterable[Attempt], first_round: int) -> tuple[int, Decimal]:
    """Return the tokens and US dollars that a fork would have used without its base.

    The fork's own calls are counted, and the calls of the base whose answers or rounds the fork reuses.
    """
    calls, settled = list(calls), [call for call in of_base if call.state == "settled"]
    inputs = {(call.step, call.alias, call.input_hash) for call in calls if "taken" in call.labels}
    used = [*calls, *(call for call in settled if (call.step, call.alias, call.input_hash) in inputs)]
    used += [call for call in settled if 0 < call.round < first_round]
    return sum(call.tokens for call in used), sum((call.cost for call in used), Decimal(0))
