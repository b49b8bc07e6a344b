"""What `eval` does: written cases on the engine of the settings, and what each run found of what was there (docs/evaluation.md)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from tongyao.app.people.registration import register_profile
from tongyao.app.start import StartProcessBody, start_process
from tongyao.commands.shared.common import OPERATOR, settings
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_FAILED, errors, fail
from tongyao.commands.shared.words import say
from tongyao.evals.cases import Case, only
from tongyao.evals.measure import Measures, evidence_overlap, measure
from tongyao.protocol.identity.names import name_in_heading
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules.consent import Origin
from tongyao.records.model_calls import Attempt
from tongyao.runtime import installation
from tongyao.runtime.installation import Installation


def measured_before(file: Path) -> list[Measures]:
    """The rows of an earlier run. Raises `ValueError` naming the file."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return [
            Measures.model_validate({name: value for name, value in row.items() if name != "judgement"}) for row in rows
        ]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{file} is not what `tongyao eval --json` writes: {error}") from error


async def evaluate(cases: list[Case], judge: bool, cap: float | None) -> list[tuple[Measures, dict[str, Any]]]:
    config = settings()
    rows = []
    async with installation.brought_up(config) as installed:
        for case in cases:
            said = say("eval.case", case=case.id, people=len(case.profiles), engine=config.chosen_engine)
            errors.print(said, style="dim", markup=False, highlight=False)
            process, names = await _run_case(installed, case, cap)
            record = await installed.context.repositories.record(process)
            if record.phase is not Phase.COMPLETED:
                phase = say(f"phase.{record.phase.value}")
                fail(say("eval.ended_as", case=case.id, phase=phase, process=process), EXIT_FAILED)
            rows.append(
                (
                    await _measured(installed, case, process, names),
                    await _judged(installed, case, process, names) if judge else {},
                )
            )
    return rows


async def compare(cases: list[Case], without: str) -> list[dict[str, Any]]:
    """Each case beside a second run that differs in one thing: the intent (swap), or one person less."""
    found = []
    async with installation.brought_up(settings()) as installed:
        for number, case in enumerate(cases):
            if without:
                if without not in case.profiles:
                    continue
                other, beside = (
                    only(case, tuple(name for name in case.profiles if name != without)),
                    f"without {without}",
                )
            else:
                next_one = cases[(number + 1) % len(cases)]
                if next_one.id == case.id:
                    fail(say("eval.two_cases"), EXIT_BAD_INPUT)
                brought = {name: getattr(next_one, name) for name in ("intent", "demander_text", "language")}
                other, beside = case.model_copy(update=brought), f"before the tension of {next_one.id}"
            (one, names), (two, other_names) = await _run_case(installed, case), await _run_case(installed, other)
            records = await installed.context.repositories.record(one), await installed.context.repositories.record(two)
            share = evidence_overlap(records[0], names, records[1], other_names, rounds=1 if without else None)
            found.append({"case": case.id, "beside": beside, "overlap": share})
    return found


async def _run_case(installed: Installation, case: Case, cap: float | None = None) -> tuple[str, dict[str, str]]:
    """Run one case to its end; returns the process and, by alias, who of the case sat there."""
    mark = secrets.token_hex(3)
    scene = f"eval-{case.id}-{mark}"
    await installed.context.repositories.scenes.put(scene, case.title or case.id)
    ids = {f"{scene}.{name}": name for name in case.profiles}
    for profile_id, key in ids.items():
        text = case.profiles[key]
        await register_profile(
            installed.context,
            profile_id,
            scene=scene,
            name=name_in_heading(text),
            text=text,
            origin=Origin.FILE,
        )
    demander = f"{scene}.demander"
    if case.demander_text:
        await register_profile(
            installed.context,
            demander,
            scene=scene,
            name=name_in_heading(case.demander_text),
            text=case.demander_text,
            origin=Origin.FILE,
        )
    process = await start_process(
        installed.context,
        OPERATOR,
        StartProcessBody(
            intent=case.intent,
            demander=demander,
            scene=scene,
            participants=tuple(ids),
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
    await installed.context.client.get_workflow_handle(process).result()
    seats = await installed.context.repositories.seats.seats(process)
    return process, {seat.alias: ids[seat.person] for seat in seats}


async def _measured(installed: Installation, case: Case, process: str, names: dict[str, str]) -> Measures:
    record = await installed.context.repositories.record(process)
    used = await installed.context.repositories.ledger.usage(process)
    guards = [row.guards for row in await installed.context.repositories.rounds.projections(process)]
    guards += [row.guards for row in await installed.context.repositories.rounds.observations(process)]
    return measure(
        case,
        record,
        names,
        engine=installed.settings.chosen_engine,
        guards=guards,
        calls=used.calls,
        tokens=used.tokens,
        fresh=fresh_by_round(await installed.context.repositories.ledger.calls(process)),
        cost=used.cost,
    )


def fresh_by_round(calls: Sequence[Attempt]) -> dict[int, int]:
    """Round → prompt tokens of its calls that were not read from a cache; those written to it are among them."""
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


def table_of(rows: list[Measures]) -> Table:
    """One line per case: what the rounds found. All figures are counted by code (docs/evaluation.md §2)."""
    table = Table(box=None, title="What the rounds found", title_justify="left")
    for name in ("case", "engine", "people", "links", "by round", "in time", "offsets", "false", "unexpected",
                 "inferred", "translations", "coverage", "delta", "struck", "rounds"):  # fmt: skip
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(
            row.case,
            row.engine,
            str(row.people),
            _of(*row.found()),
            " ".join(f"R{number}:{count}" for number, count in row.by_round().items()) or "-",
            _of(sum(link.in_time for link in row.links), len(row.links)),
            _of(*row.found("offsetting")),
            ", ".join(row.false_relations) or "0",
            _of(row.unexpected, row.relations),
            str(row.inferred),
            _of(len(row.translations), row.translations_expected),
            share(row.coverage),
            share(row.delta),
            str(row.struck),
            f"{row.rounds}" + ("" if row.converged else " open"),
        )
    return table


def plans_of(rows: list[Measures]) -> Table:
    """One line per case: the plan, and what the run used."""
    table = Table(box=None, title="The plan, and what was used", title_justify="left")
    for name in (
        "case",
        "engine",
        "roles",
        "traceable",
        "doubtful",
        "words",
        "walked in",
        "calls",
        "tokens",
        "fresh input by round",
        "$",
    ):
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(
            row.case,
            row.engine,
            _of(row.roles, row.contributors),
            share(row.traceable),
            str(row.doubtful),
            str(row.plan_units),
            ", ".join(row.walked_in) or "0",
            str(row.calls),
            f"{row.tokens:,}",
            " ".join(f"R{number}:{tokens:,}" for number, tokens in row.fresh.items() if number) or "-",
            f"{row.cost:.4f}",
        )
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


def share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
