"""`fork` and `compare`: start a process with a change, and compare processes (docs/forks.md)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from tongyao.commands.context import (
    app_context,
    assignments,
    open_records,
    operator,
    read_json,
    read_text,
    settings,
    validated,
)
from tongyao.commands.options import AsJson, Process, find_process
from tongyao.commands.terminal import CommandGroup, console, print_json, print_table
from tongyao.commands.words import dollars, known, language, say, tell

if TYPE_CHECKING:
    from tongyao.app.context import AppContext
    from tongyao.app.forks import Forked
    from tongyao.evals.comparison import Comparison, Side
    from tongyao.evals.experiment import Step, Variant
    from tongyao.records.repositories import Repositories

app = CommandGroup()


@app.command()
async def fork(
    process: Process,
    round_number: Annotated[
        int, typer.Option("--round", min=1, help="The first round in which the changes apply. Rounds before it stay.")
    ] = 1,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out this participant: an alias (P03). May be repeated.")
    ] = None,
    add: Annotated[list[Path] | None, typer.Option(help="Add a participant: a profile FILE. May be repeated.")] = None,
    profile: Annotated[
        list[str] | None, typer.Option(help="Another profile for a participant, P02=FILE. May be repeated.")
    ] = None,
    tension: Annotated[
        Path | None,
        typer.Option(help="Another tension: a JSON FILE with transition, initial_state, barriers, exchange."),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="A setting, NAME=VALUE (docs/protocol.md §10). May be repeated.")
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            help="A folder with other prompts: DIR/en/observe.md. Prompts that it does not contain stay as they are."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(help="Another engine for every step (docs/models.md).")] = "",
    model: Annotated[
        list[str] | None, typer.Option(help="Another model for a step, STEP=MODEL. May be repeated.")
    ] = None,
    again: Annotated[
        Literal["project", "observe", "plan"] | None,
        typer.Option(help="Ask again from this step of the first round on, even if answers are known."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the fork to its end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a fork: the same process with something changed. Answers to questions that stay the same are reused.

    Nobody is told or asked: the words of people are used as they said them. The plan is delivered to nobody.
    """
    from tongyao.commands.process_view import follow
    from tongyao.evals.experiment import Variant

    change = Variant(
        without=tuple(without or ()),
        add=tuple(add or ()),
        profile={alias: Path(file) for alias, file in assignments("profile", profile).items()},
        tension=tension,
        setting=assignments("setting", setting),
        prompts=prompts,
        engine=engine,
        model=assignments("model", model),
    )
    async with app_context() as context:
        forked = await start_fork(context, process, change, round_number, again or "", key=secrets.token_hex(8))
        if not as_json:
            console.print(say("forks.started", id=f"[bold]{forked.id}[/bold]", origin=process, round=forked.round))
            if forked.left_out:
                tell("forks.left_out", style="yellow", aliases=", ".join(forked.left_out))
        if wait:
            await follow(context.repositories, forked.id, quiet=as_json)
            side = await side_of(context.repositories, forked.id)
            if not as_json:
                tell("forks.calls", taken=side.taken, asked=side.asked)
        if as_json:
            print_json(forked.model_dump(mode="json"))
        else:
            tell("forks.next", whole=True, style="dim", origin=process, id=forked.id)


async def start_fork(
    context: AppContext, origin: str, change: Variant, first_round: int, again: Step | Literal[""], *, key: str
) -> Forked:
    """Start a fork. `change` names people by their aliases, and files. The same `key` gives the same fork.

    Raises `BadInput`, `SettingsError`.
    """
    from tongyao.app.forks import ForkBody, LocalChanges, fork_process
    from tongyao.app.messaging.body_conversion import tension_of
    from tongyao.commands.profile_files import profile_id_of
    from tongyao.protocol.model.messages import TensionBody
    from tongyao.protocol.rules.consent import Consent
    from tongyao.runtime.engines import engines, with_engines

    body = {"round": first_round, "without": change.without, "settings": change.setting}
    tension = None
    if change.tension is not None:
        tension = tension_of(validated(TensionBody, read_json(change.tension, field="tension")))
    row = await context.repositories.processes.get(origin)
    ids = {
        file: await profile_id_of(context, str(file.resolve()), "") for file in (*change.add, *change.profile.values())
    }
    for person in ids.values() if row.scene_id else ():  # the operator gave these files for use in this process
        await context.repositories.consents.put(person, row.scene_id or "", Consent.ALLOW)
    if change.engine or change.model:
        engines(with_engines(settings(), change.engine, change.model))
    local = LocalChanges(
        added=tuple(ids[file] for file in change.add),
        replaced={alias: ids[file] for alias, file in change.profile.items()},
        prompts=_prompts_in(change.prompts, row.language) if change.prompts is not None else {},
        engine=change.engine,
        models=change.model,
        again=again,
        tension=tension,
    )
    return await fork_process(context, operator(), origin, validated(ForkBody, body), key=key, local=local)


def _prompts_in(folder: Path, language_of_process: str) -> dict[str, str]:
    """Return by step the prompts of a folder that differ from the current ones. Raises `BadInput` if there are none."""
    from tongyao.llm import prompts
    from tongyao.protocol.model.requests import known_language
    from tongyao.protocol.model.steps import STEPS

    chosen = known_language(language_of_process)
    files = {step: file for step in STEPS if (file := folder / chosen / f"{step}.md").is_file()}
    if not files:
        raise bad("prompts", say("forks.no_prompts", folder=folder / chosen, steps=", ".join(STEPS)))
    texts = {step: read_text(file, field="prompts") for step, file in files.items()}
    in_use = {step: prompts.load(step, chosen, folder=settings().prompts).sha256 for step in texts}
    return {step: text for step, text in texts.items() if prompts.load(step, chosen, text).sha256 != in_use[step]}


@app.command()
async def compare(
    processes: Annotated[
        list[str], typer.Argument(help="Ids of two or more processes, or the beginnings of their ids.")
    ],
    html: Annotated[Path | None, typer.Option(help="Also write the comparison as a web page to this FILE.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show processes side by side, round by round: their items, relations, notes and plans, and which of these only one process has."""
    ids = [find_process(one) for one in processes]
    if len(set(ids)) < 2:
        raise bad("processes", say("forks.two_needed"))
    async with open_records() as repositories:
        comparison = await compared(repositories, ids)
        if html is not None:
            html.write_text(await page_of(repositories, comparison), encoding="utf-8")
    if as_json:
        print_json(comparison.model_dump(mode="json"))
        return
    _print(comparison)
    if html is not None:
        tell("forks.written", file=html)


async def compared(repositories: Repositories, ids: Iterable[str]) -> Comparison:
    from tongyao.evals.comparison import compare as compare_records

    ids = list(ids)
    records = [await repositories.record(id) for id in ids]
    return compare_records([await side_of(repositories, id) for id in ids], records)


async def side_of(repositories: Repositories, process_id: str) -> Side:
    from tongyao.evals.comparison import Side
    from tongyao.protocol.contracts.process import NO_WORDS

    row = await repositories.processes.get(process_id)
    used = await repositories.ledger.usage(process_id)
    turns = await repositories.rounds.projections(process_id)
    return Side(
        id=row.id,
        forked_from=row.forked_from,
        fork_round=row.fork_round,
        phase=row.phase,
        participants=tuple(seat.alias for seat in await repositories.seats.seats(process_id)),
        rounds=max((seen.round for seen in await repositories.rounds.observations(process_id)), default=0),
        asked=used.settled - used.taken,
        taken=used.taken,
        tokens=used.tokens,
        cost=used.cost,
        price_unknown=row.price_unknown,
        seconds=((row.ended_at or datetime.now(UTC)) - row.created_at).total_seconds(),
        lapsed=tuple(f"{turn.alias} R{turn.round}" for turn in turns if turn.guards.get(NO_WORDS)),
    )


def figures(comparison: Comparison, side: Side, at: int) -> list[tuple[str, str]]:
    """Return the figures of one process as (name, value) in the terminal's language, without empty values."""
    shown = {
        **{name: str(getattr(side, name)) for name in ("rounds", "asked", "taken")},
        "phase": say(f"phase.{side.phase}"),
        "people": ", ".join(side.participants),
        "tokens": f"{side.tokens:,}",
        "cost": dollars(side.cost, unknown=side.price_unknown),
        "seconds": f"{side.seconds:,.0f} s",
        "only_here": str(comparison.only_in(at)),
        "lapsed": ", ".join(side.lapsed),
    }
    return [(say(f"forks.column_{name}"), value) for name, value in shown.items() if value]


def _print(comparison: Comparison) -> None:
    rows = [dict(figures(comparison, side, at)) for at, side in enumerate(comparison.sides)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    heads = [f"{side.id}{' ⑂' if side.forked_from else ''}" for side in comparison.sides]
    print_table(["", *heads], [[name, *(row.get(name, "") for row in rows)] for name in names])
    for number in comparison.rounds():
        console.print(f"\n[bold]{say('forks.round', round=number) if number else say('forks.plan')}[/bold]")
        for what in ("said", "related", "noted", "planned"):
            entries = comparison.of(number, what)
            if entries:
                same = sum(entry.everywhere for entry in entries)
                tell("forks.of_all", what=say(f"forks.what_{what}"), same=same, all=len(entries))
            for entry in entries:
                if not entry.everywhere:
                    where = "".join("●" if text is not None else "·" for text in entry.texts)
                    text = next(text for text in entry.texts if text is not None)
                    told = " ".join(filter(None, (entry.who, kind_in_words(entry.kind), text)))
                    console.print(f"  {where} {escape(told)}", highlight=False)


async def page_of(repositories: Repositories, comparison: Comparison) -> str:
    """Return the comparison as one self-contained HTML page."""
    from tongyao.app.pictures.files import relation_svg
    from tongyao.evals.experiment import rendered
    from tongyao.protocol.rules.standing import rounds_of, standing

    pictures = []
    for side in comparison.sides:
        record = await repositories.record(side.id)
        state = standing(rounds_of(record.projections, record.observations))
        pictures.append(relation_svg(list(side.participants), state.relations, language=language()))
    return rendered(
        "comparison.html",
        comparison=comparison,
        pictures=pictures,
        language=language(),
        say=say,
        kind=kind_in_words,
        figures=lambda side, at: figures(comparison, side, at),
    )


def kind_in_words(kind: str) -> str:
    return say(f"forks.kind_{kind}") if known(f"forks.kind_{kind}") else kind.replace("_", " ")


def bad(field: str, message: str) -> Exception:
    from tongyao.app.errors import BadInput

    return BadInput(field, message, field=field)
