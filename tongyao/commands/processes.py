"""`start`, `watch`, `show`, `list`: processes and how they stand."""

from __future__ import annotations

import asyncio
import secrets
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from tongyao.app import processes
from tongyao.app.action_permissions import Action
from tongyao.app.authorization import authorize_in_process
from tongyao.app.choices import choices_of
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotFound, Unavailable
from tongyao.commands.common import EXIT_FAILED, OPERATOR, app_context, console, print_json, run, settings, validated
from tongyao.commands.live_view import live_view
from tongyao.commands.profile_files import profile_id_of, read_text
from tongyao.protocol.documents.markdown import tension_markdown
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules.audit import audit
from tongyao.protocol.rules.formulation import not_taken_up
from tongyao.records.repositories import Repositories
from tongyao.runtime import installation

_FACETS = {"offers": "what they offer", "moves": "what they move toward", "needs": "what they need"}
"""The facets of a person that a search result names, in words."""


def add_to(app: typer.Typer) -> None:
    app.command()(start)
    app.command()(watch)
    app.command()(show)
    app.command()(why)
    app.command("list")(list_processes)


def start(
    intent: Annotated[str, typer.Option(help="The raw intent: text, or @FILE.")],
    demander: Annotated[str | None, typer.Option(help="Whose it is: a profile id, or a profile FILE.")] = None,
    participant: Annotated[
        list[str] | None, typer.Option(help="A profile id or FILE; repeat it. None: the nearest of the scene.")
    ] = None,
    human: Annotated[
        list[str] | None, typer.Option(help="As --participant, for somebody who speaks for themself.")
    ] = None,
    agent: Annotated[list[str] | None, typer.Option(help="As --participant, where one's own agent speaks.")] = None,
    scene: Annotated[str, typer.Option(help="Where participants are found.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the tension at once, grade C included.")] = False,
    auto_start: Annotated[bool, typer.Option("--auto-start", help="Start with the nearest, without asking.")] = False,
    setting: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the process's settings (docs/protocol.md §10).")
    ] = None,
    strategy: Annotated[str, typer.Option(help="What the catalyst should attend to.")] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Watch it to its end; brings a service up if none runs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Start a process from a raw intent."""
    changes: dict[str, Any] = {"auto_confirm": yes, "auto_start": auto_start}
    for one in setting or []:
        name, equals, value = one.partition("=")
        if not equals:
            raise BadInput("setting", f"--setting {one!r}: write NAME=VALUE", field="setting")
        changes[name.strip()] = value.strip()
    named = [
        {"profile_id": one, "endpoint": endpoint}
        for endpoint, given in (("proxy", participant), ("human", human), ("agent", agent))
        for one in given or []
    ]
    given = {"intent": intent, "demander": demander, "participants": named, "scene": scene or None,
             "settings": changes, "strategy": strategy}  # fmt: skip
    run(_start(given, wait=wait, as_json=as_json))


async def _start(given: dict[str, Any], *, wait: bool, as_json: bool) -> None:
    config = settings()
    async with installation.brought_up(config) if wait else installation.running(config) as installed:
        context = installed.context
        pid = await start_from_files(context, given)
        if not wait:
            print_json({"id": pid}) if as_json else console.print(f"started [bold]{pid}[/bold]  (tongyao watch {pid})")
            return
        phase = await follow(context.repositories, pid, quiet=as_json)
        if as_json:
            print_json(await _summary(context, pid))
        else:
            await print_plan(context.repositories, pid)
        if phase not in (Phase.COMPLETED, Phase.ANSWERING):
            raise typer.Exit(EXIT_FAILED)


async def start_from_files(context: AppContext, given: dict[str, Any]) -> str:
    """Start a process from the fields of `StartProcessBody`, where files may stand for texts and profiles.

    `intent` may be `@FILE`; `demander` and participants may be files, which are registered first. Raises `BadInput`.
    """
    intent, demander, scene = given["intent"], given.get("demander"), given.get("scene") or ""
    if intent.startswith("@"):
        intent = read_text(Path(intent[1:]), field="intent")
    owner = await profile_id_of(context, demander, scene) if demander else f"person:{secrets.token_hex(4)}"
    if (
        demander
        and owner not in await context.repositories.profiles.get_many([owner])
        and not owner.startswith("person:")
    ):
        raise BadInput("unknown_profiles", f"there is no profile {owner}, and no such file", field="demander")
    participants = [
        {**one, "profile_id": await profile_id_of(context, one["profile_id"], scene)} for one in given["participants"]
    ]
    from tongyao.app.start import StartProcessBody, start_process

    body = validated(StartProcessBody, {**given, "intent": intent, "demander": owner, "participants": participants})
    return await start_process(context, OPERATOR, body, key=secrets.token_hex(8))


def watch(process: Annotated[str, typer.Argument(help="Id of the process.")]) -> None:
    """Watch a process live: its phase, rounds × participants, and who is waited for. Ctrl-C leaves it running."""
    run(_watch(process))


async def _watch(process: str) -> None:
    async with app_context() as context:
        await follow(context.repositories, process)


async def follow(repositories: Repositories, process_id: str, *, quiet: bool = False) -> Phase:
    """Show the process until it ends, or until it waits for people to answer a finished plan; returns its phase."""
    await repositories.processes.get(process_id)
    if quiet:
        while not (phase := await _phase(repositories, process_id)).ended and phase is not Phase.ANSWERING:
            await asyncio.sleep(0.3)
        return phase
    if not console.is_terminal:
        return await _follow_in_lines(repositories, process_id)
    from rich.live import Live

    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while True:
            phase = await _phase(repositories, process_id)
            live.update(await live_view(repositories, process_id))
            if phase.ended or phase is Phase.ANSWERING:
                return phase
            await asyncio.sleep(0.3)


async def _follow_in_lines(repositories: Repositories, process_id: str) -> Phase:
    """For a log: a line for each phase and round as it begins, the picture once at the end."""
    shown = ""
    while True:
        row = await repositories.processes.get(process_id)
        line = f"{row.phase}, round {row.round}" if row.phase == Phase.CRYSTALLIZING else row.phase
        if line != shown:
            console.print(line, style="dim")
            shown = line
        phase = Phase(row.phase)
        if phase.ended or phase is Phase.ANSWERING:
            console.print(await live_view(repositories, process_id))
            return phase
        await asyncio.sleep(0.3)


async def _phase(repositories: Repositories, process_id: str) -> Phase:
    return Phase((await repositories.processes.get(process_id)).phase)


def show(
    process: Annotated[str, typer.Argument(help="Id of the process.")],
    with_audit: Annotated[bool, typer.Option("--audit", help="The 13 properties, each with its figure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show how a process stands, and its plan when there is one."""
    run(_show(process, with_audit, as_json))


async def _show(process: str, with_audit: bool, as_json: bool) -> None:
    async with app_context() as context:
        repositories = context.repositories
        if as_json:
            shown = await _summary(context, process)
            if with_audit:
                shown["audit"] = [finding.model_dump() for finding in await audited(repositories, process)]
            print_json(shown)
            return
        console.print(await live_view(repositories, process))
        await print_why(context, process)
        await print_before_rounds(repositories, process)
        await print_choices(repositories, process)
        await print_plan(repositories, process)
        if with_audit:
            await print_audit(repositories, process)


def why(process: Annotated[str, typer.Argument(help="Id of the process.")]) -> None:
    """Say what a process waits for, since when, and what would move it."""
    run(_why(process))


async def _why(process: str) -> None:
    async with app_context() as context:
        await context.repositories.processes.get(process)  # raises for an unknown id
        await print_why(context, process)


async def print_why(context: AppContext, process_id: str) -> None:
    """One line for each thing that is waited for. Where no worker answers, that is said."""
    from tongyao.app.why import read_why

    try:
        told = await read_why(context, OPERATOR, process_id)
    except (NotFound, Unavailable) as error:
        console.print(Text(str(error), style="yellow"))
        return
    for line in [reason.sentence for reason in told.reasons] or [told.sentence]:
        console.print(Text(line))


async def _summary(context: AppContext, process_id: str) -> dict[str, Any]:
    """The summary of a process as it goes to operators."""
    await context.repositories.processes.get(process_id)  # raises for an unknown id
    access = await authorize_in_process(context.repositories, OPERATOR, process_id, Action.READ_PROCESS)
    return (await processes.summary(context, access)).model_dump(mode="json")


async def print_before_rounds(repositories: Repositories, process_id: str) -> None:
    """What the demander is asked about before the rounds: the tension as formulated, the people that were found."""
    phase = await _phase(repositories, process_id)
    if phase in (Phase.CONFIRMING, Phase.SELECTING):
        record = await repositories.record(process_id)
        if record.tension is not None:
            console.print(markdown(tension_markdown(record.tension)))
            if phase is Phase.CONFIRMING and (left := not_taken_up(record.intent, record.tension.spans)):
                console.print("Sentences of the intent that no line quotes:")
                for sentence in left:
                    console.print(f"- {sentence}", markup=False)
    if phase is Phase.SELECTING:
        table = Table("profile", "perspective", "rank", "score", box=None)
        for found in await repositories.seats.candidates(process_id):
            table.add_row(found.profile_id, found.perspective, str(found.rank), f"{found.score:.2f}")
        console.print(table)


async def print_choices(repositories: Repositories, process_id: str) -> None:
    """What the demander may choose among now: at a limit what is open and who could be added, after a plan its residuals."""
    for ask in await repositories.inbox.of_process(process_id, open_only=True):
        given = await choices_of(repositories, ask)
        if given is None:
            continue
        if given.residual is not None:
            console.print(Text(f"{ask.subject}: {given.residual.title}", style="bold"))
            console.print(markdown(tension_markdown(given.residual.tension)))
        if given.open:
            console.print(Text("What nobody here covers:", style="bold"))
            for point in given.open:
                console.print(Text(f"  {point.id}  {point.text}"))
        if given.proposals:
            console.print(Text("Who could be added for it:", style="bold"))
            table = Table("profile", "perspective", "rank", "score", "because", box=None)
            for found in given.proposals:
                why = ", ".join(f"{one['part']}: {_FACETS.get(one['facet'], one['facet'])}" for one in found.reasons)
                table.add_row(found.profile_id, found.perspective, str(found.rank), f"{found.score:.2f}", why)
            console.print(table)
        if given.note:
            console.print(Text(given.note))


def markdown(text: str) -> RenderableType:
    """Markdown for the terminal. Its library is loaded only where something is shown."""
    from rich.markdown import Markdown

    return Markdown(text)


async def print_plan(repositories: Repositories, process_id: str) -> None:
    plan = await repositories.plans.latest(process_id)
    if plan is not None:
        console.print(markdown(await repositories.texts.get(plan.markdown_text_id)))


async def audited(repositories: Repositories, process_id: str) -> Any:
    record = await repositories.record(process_id)
    rounds = await repositories.rounds.projections(process_id)
    return audit(record, guards=[row.guards for row in rounds])


async def print_audit(repositories: Repositories, process_id: str) -> None:
    table = Table("", "property", "finding", "figure", box=None, title="Audit", title_justify="left")
    for finding in await audited(repositories, process_id):
        table.add_row(str(finding.number), finding.claim, finding.result, finding.figure)
    console.print(table)


def list_processes(
    scene: Annotated[str | None, typer.Option(help="Of this scene only.")] = None,
    phase: Annotated[Phase | None, typer.Option(help="In this phase only.")] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Those that have not ended.")] = False,
    person: Annotated[str | None, typer.Option(help="Who brought the intent, or sits in the room.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Announced on this day (UTC) or later.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Announced before this day (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list on standard output.")] = False,
) -> None:
    """List processes, newest first."""
    wanted: dict[str, Any] = {
        "scene": scene,
        "phase": [phase.value] if phase else None,
        "open": True if open_only else None,
        "person": person,
        "since": since,
        "until": until,
    }
    run(_list(wanted, limit, as_json))


async def _list(wanted: dict[str, Any], limit: int, as_json: bool) -> None:
    async with app_context() as context:
        found = await processes.list_processes(context, OPERATOR, **wanted, limit=limit)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found.processes])
        return
    columns = ("id", "phase", "round", "scene", "people", "waits", "created")
    table = Table(*[Column(name, no_wrap=True) for name in columns], box=None)
    for one in found.processes:
        table.add_row(
            one.id, one.phase, str(one.round), one.scene or "", str(one.participants),
            "for people" if one.waiting else "", f"{one.created_at:%m-%d %H:%M}",
        )  # fmt: skip
    none = "no process is like this" if any(wanted.values()) else "no processes yet: `tongyao start --help`"
    console.print(table if found.processes else Text(none))
