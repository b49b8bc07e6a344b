"""`eval`: runs written cases with the engine of the settings, and measures what each run found (docs/evaluation.md)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from tongyao.commands.context import operator, settings
from tongyao.commands.options import AsJson
from tongyao.commands.terminal import EXIT_BAD_INPUT, EXIT_FAILED, CommandGroup, console, errors, fail, print_json, put
from tongyao.commands.words import say

if TYPE_CHECKING:
    from tongyao.evals.cases import Case
    from tongyao.evals.measure import Measures
    from tongyao.records.model_calls import Attempt
    from tongyao.runtime.installation import Installation

app = CommandGroup()


@app.command("eval")
async def evaluate(
    cases: Annotated[list[Path], typer.Argument(help="Folders of cases (examples/cases/*).")],
    people: Annotated[
        str | None, typer.Option(help="Only these participants of each case, in this order: a,b,c")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Also have a Claude model judge each run by the rubric.")
    ] = False,
    cap: Annotated[
        float | None,
        typer.Option(
            help="US dollars that one case may use. When they are used up, its plan is made from the record so far."
        ),
    ] = None,
    beside: Annotated[
        Path | None, typer.Option(help="A file that `eval --json` wrote. Its rows are added to the tables.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run cases one after another, and count which of their known links were found, and in which round."""
    from tongyao.evals.cases import CaseError, load, only

    try:
        loaded = [load(folder) for folder in cases]
        if people:
            loaded = [only(case, tuple(name.strip() for name in people.split(","))) for case in loaded]
        others = measured_before(beside) if beside else []
    except (CaseError, ValueError) as error:
        fail(str(error), EXIT_BAD_INPUT)
    rows = await _evaluate(loaded, judge, cap)
    if as_json:
        print_json([row.model_dump(mode="json") | ({"judgement": judged} if judged else {}) for row, judged in rows])
        return
    wide = Console(width=max(console.width, 170))  # so that no column is cut
    measures = [*(row for row, _ in rows), *others]
    for table in (table_of(measures), plans_of(measures), links_of(measures)):
        wide.print(table)
    for row, judgement in rows:
        if judgement:
            scores = ", ".join(f"{name} {score}" for name, score in judgement["scores"].items())
            console.print(f"[bold]{row.case}[/bold] {say('eval.judged', scores=scores)}\n{judgement['remarks']}")


def measured_before(file: Path) -> list[Measures]:
    """Return the rows of an earlier run from its JSON file. Raises `ValueError` that names the file."""
    from tongyao.evals.measure import Measures

    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return [
            Measures.model_validate({name: value for name, value in row.items() if name != "judgement"}) for row in rows
        ]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{file} is not what `tongyao eval --json` writes: {error}") from error


async def _evaluate(cases: list[Case], judge: bool, cap: float | None) -> list[tuple[Measures, dict[str, Any]]]:
    from tongyao.protocol.model.phase import Phase
    from tongyao.runtime import installation

    config = settings()
    rows = []
    async with installation.brought_up(config) as installed:
        for case in cases:
            said = say("eval.case", case=case.id, people=len(case.profiles), engine=config.chosen_engine)
            put(said, style="dim", to=errors)
            process, names = await run_case(installed, case, cap)
            record = await installed.context.repositories.record(process)
            if record.phase is not Phase.COMPLETED:
                phase = say(f"phase.{record.phase.value}")
                fail(say("eval.ended_as", case=case.id, phase=phase, process=process), EXIT_FAILED)
            measures = await measured(installed, case, process, names)
            rows.append((measures, await _judged(installed, case, process, names) if judge else {}))
    return rows


async def run_case(
    installed: Installation, case: Case, cap: float | None = None, *, mark: str = ""
) -> tuple[str, dict[str, str]]:
    """Run one case to its end. Returns the process id, and the case's name of each participant by alias.

    `cap`: US dollars. The same `mark` gives the same process.
    """
    from tongyao.app.people.profile_versions import register_profile
    from tongyao.app.start import StartProcessBody, start_process
    from tongyao.protocol.identity.names import name_in_heading
    from tongyao.protocol.rules.consent import Origin

    context = installed.context
    mark = mark or secrets.token_hex(3)
    scene = f"eval-{case.id}-{mark}"
    demander = f"{scene}.demander"
    await context.repositories.scenes.put(scene, case.title or case.id)
    texts = {f"{scene}.{name}": text for name, text in case.profiles.items()}
    for profile_id, text in (texts | ({demander: case.demander_text} if case.demander_text else {})).items():
        name = name_in_heading(text)
        await register_profile(context, profile_id, scene=scene, name=name, text=text, origin=Origin.FILE)
    process = await start_process(
        context,
        operator(),
        StartProcessBody(
            intent=case.intent,
            demander=demander,
            scene=scene,
            participants=tuple(texts),
            settings={
                "auto_confirm": True,
                "residuals": "off",
                "language": case.language,
                "deciding_seconds": 1,
                **({} if cap is None else {"cost_budget": str(cap)}),
                "aliases_as_named": installed.settings.chosen_engine == "recorded",
            },
        ),
        key=mark,
    )
    await context.client.get_workflow_handle(process).result()
    seats = await context.repositories.seats.seats(process)
    return process, {seat.alias: seat.person.removeprefix(f"{scene}.") for seat in seats}


async def measured(installed: Installation, case: Case, process: str, names: dict[str, str]) -> Measures:
    from tongyao.evals.measure import measure

    repositories = installed.context.repositories
    used = await repositories.ledger.usage(process)
    guards = [row.guards for row in await repositories.rounds.projections(process)]
    guards += [row.guards for row in await repositories.rounds.observations(process)]
    return measure(
        case,
        await repositories.record(process),
        names,
        engine=installed.settings.chosen_engine,
        guards=guards,
        calls=used.calls,
        tokens=used.tokens,
        fresh=fresh_by_round(await repositories.ledger.calls(process)),
        cost=used.cost,
    )


def fresh_by_round(calls: Sequence[Attempt]) -> dict[int, int]:
    """Return by round the prompt tokens that were not read from the cache, including those written to the cache."""
    rounds = sorted({call.round for call in calls})
    fresh = {
        number: sum(call.input_tokens + call.cache_write_tokens for call in calls if call.round == number)
        for number in rounds
    }
    return {number: tokens for number, tokens in fresh.items() if tokens}


async def _judged(installed: Installation, case: Case, process: str, names: dict[str, str]) -> dict[str, Any]:
    from tongyao.evals.judge import judge_record
    from tongyao.runtime.wiring import judge_of

    async with judge_of(installed.settings) as judge:
        return (
            await judge_record(judge, case, await installed.context.repositories.record(process), names)
        ).model_dump(mode="json")


Column = tuple[str, Callable[["Measures"], object]]

ROUNDS: Final[tuple[Column, ...]] = (
    ("case", lambda row: row.case),
    ("engine", lambda row: row.engine),
    ("people", lambda row: row.people),
    ("links", lambda row: _of(*row.found())),
    ("by round", lambda row: " ".join(f"R{number}:{count}" for number, count in row.by_round().items()) or "-"),
    ("in time", lambda row: _of(sum(link.in_time for link in row.links), len(row.links))),
    ("offsets", lambda row: _of(*row.found("offsetting"))),
    ("false", lambda row: ", ".join(row.false_relations) or "0"),
    ("unexpected", lambda row: _of(row.unexpected, row.relations)),
    ("inferred", lambda row: row.inferred),
    ("translations", lambda row: _of(len(row.translations), row.translations_expected)),
    ("coverage", lambda row: _share(row.coverage)),
    ("delta", lambda row: _share(row.delta)),
    ("struck", lambda row: row.struck),
    ("rounds", lambda row: f"{row.rounds}" + ("" if row.converged else " open")),
)
PLANS: Final[tuple[Column, ...]] = (
    ("case", lambda row: row.case),
    ("engine", lambda row: row.engine),
    ("roles", lambda row: _of(row.roles, row.contributors)),
    ("traceable", lambda row: _share(row.traceable)),
    ("doubtful", lambda row: row.doubtful),
    ("words", lambda row: row.plan_units),
    ("walked in", lambda row: ", ".join(row.walked_in) or "0"),
    ("calls", lambda row: row.calls),
    ("tokens", lambda row: f"{row.tokens:,}"),
    ("fresh input by round", lambda row: " ".join(f"R{r}:{tokens:,}" for r, tokens in row.fresh.items() if r) or "-"),
    ("$", lambda row: f"{row.cost:.4f}"),
)


def table_of(rows: list[Measures]) -> Table:
    """Return a table with the findings of the rounds, a line for each case (docs/evaluation.md §2)."""
    return _table("What the rounds found", ROUNDS, rows)


def plans_of(rows: list[Measures]) -> Table:
    """Return a table with figures of the plan and of the use of models, a line for each case."""
    return _table("The plan, and what was used", PLANS, rows)


def _table(title: str, columns: Sequence[Column], rows: list[Measures]) -> Table:
    table = Table(box=None, title=title, title_justify="left")
    for name, _ in columns:
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*(str(shown(row)) for _, shown in columns))
    return table


def links_of(rows: list[Measures]) -> Table:
    table = Table(box=None, title="Links", title_justify="left")
    for name in ("case", "link", "kind", "between", "by round", "found in", "kind right in"):
        table.add_column(name, no_wrap=True)
    for row in rows:
        for link in row.links:
            shown = [f"R{number}" if number else "-" for number in (link.by_round, link.round, link.named_round)]
            table.add_row(row.case, link.id, link.kind, " + ".join(link.between), *shown)
    return table


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
