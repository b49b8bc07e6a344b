"""`start`, `watch`, `show`, `list`: processes and how they stand."""

from __future__ import annotations

import asyncio
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.markdown import Markdown
from rich.table import Column, Table
from rich.text import Text

from tongyao.app.choices import choices
from tongyao.app.errors import BadInput
from tongyao.app.start import Wish
from tongyao.commands.common import EXIT_FAILED, console, print_json, run, settings
from tongyao.commands.live_view import picture
from tongyao.protocol.documents.markdown import tension_markdown
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.audit import audit
from tongyao.runtime import installation
from tongyao.runtime.installation import Office

LOCAL_SCENE = "local"
"""The scene of profiles that were given as files."""


_SIDES = {"offers": "what they offer", "moves": "what they move toward", "needs": "what they need"}
"""How a side of a person is called that the field found."""


def add_to(app: typer.Typer) -> None:
    app.command()(start)
    app.command()(watch)
    app.command()(show)
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
    speaking = {EndpointKind.PROXY: participant, EndpointKind.HUMAN: human, EndpointKind.AGENT: agent}
    named = [(one, kind) for kind, given in speaking.items() for one in given or []]
    ask = _Ask(intent, demander, named, scene, changes, strategy)
    run(_start(ask, wait=wait, as_json=as_json))


class _Ask:
    def __init__(
        self,
        intent: str,
        demander: str | None,
        participants: list[tuple[str, EndpointKind]],
        scene: str,
        changes: dict[str, Any],
        strategy: str,
    ) -> None:
        self.intent, self.demander, self.participants = intent, demander, participants
        self.scene, self.changes, self.strategy = scene, changes, strategy


async def _start(ask: _Ask, *, wait: bool, as_json: bool) -> None:
    config = settings()
    async with installation.brought_up(config) if wait else installation.running(config) as here:
        pid = await start_from_files(
            here, ask.intent, ask.demander, ask.participants, ask.scene, ask.changes, ask.strategy
        )
        if not wait:
            print_json({"id": pid}) if as_json else console.print(f"started [bold]{pid}[/bold]  (tongyao watch {pid})")
            return
        phase = await follow(here, pid, quiet=as_json)
        if as_json:
            print_json(await summary(here, pid))
        else:
            await print_plan(here, pid)
        if phase not in (Phase.COMPLETED, Phase.ANSWERING):
            raise typer.Exit(EXIT_FAILED)


async def start_from_files(
    here: Office,
    intent: str,
    demander: str | None,
    participants: list[tuple[str, EndpointKind]],
    scene: str,
    changes: dict[str, Any],
    strategy: str = "",
) -> str:
    """Register the profiles that were given as files, then start. Raises `BadInput`."""
    text = _read_intent(intent)
    owner = await _demander(here, demander, scene) if demander else f"person:{secrets.token_hex(4)}"
    choices = tuple([Choice(profile_id=await _profile(here, one, scene), endpoint=kind) for one, kind in participants])
    wish = Wish(intent=text, demander=owner, scene=scene, participants=choices, settings=changes, strategy=strategy)
    return await here.starting.start(wish)


def _read_intent(intent: str) -> str:
    if not intent.startswith("@"):
        return intent
    path = Path(intent[1:])
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadInput("no_such_file", f"cannot read {path}: {error.strerror}", field="intent") from None
    except UnicodeDecodeError:
        raise BadInput("not_utf8", f"{path} is not UTF-8: save it as UTF-8", field="intent") from None


async def _demander(here: Office, given: str, scene: str) -> str:
    owner = await _profile(here, given, scene)
    if owner not in await here.library.profiles.get_many([owner]) and not owner.startswith("person:"):
        raise BadInput("unknown_profiles", f"there is no profile {owner}, and no such file", field="demander")
    return owner


async def _profile(here: Office, given: str, scene: str) -> str:
    """An id as it is; a file as the profile in it, registered in the scene under an id made of its path."""
    path = Path(given)
    if not (path.suffix or "/" in given or path.exists()):
        return given
    name, text = here.registering.read_file(path)
    slug = re.sub(r"[^\w.-]+", "-", "-".join(path.resolve().with_suffix("").parts[-3:])).strip("-")
    if not scene:
        await here.library.profiles.put_scene(LOCAL_SCENE, LOCAL_SCENE)
    elif scene not in {known.id for known in await here.library.profiles.scenes()}:
        raise BadInput("unknown_scene", f"there is no scene {scene!r}: `tongyao field import` makes one", field="scene")
    else:
        slug = f"{scene}-{slug}"
    await here.registering.register(slug, scene=scene or LOCAL_SCENE, name=name, text=text)
    return slug


def watch(process: Annotated[str, typer.Argument(help="Id of the process.")]) -> None:
    """Watch a process live: its phase, rounds × participants, and who is waited for. Ctrl-C leaves it running."""
    run(_watch(process))


async def _watch(process: str) -> None:
    async with installation.running(settings()) as here:
        await follow(here, process)


async def follow(here: Office, process_id: str, *, quiet: bool = False) -> Phase:
    """Show the process until it ends, or until it waits for people to answer a finished plan; returns its phase."""
    await here.library.processes.get(process_id)
    if quiet:
        while not (phase := await _phase(here, process_id)).ended and phase is not Phase.ANSWERING:
            await asyncio.sleep(0.3)
        return phase
    if not console.is_terminal:
        return await _follow_in_lines(here, process_id)
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while True:
            phase = await _phase(here, process_id)
            live.update(await picture(here.library, process_id))
            if phase.ended or phase is Phase.ANSWERING:
                return phase
            await asyncio.sleep(0.3)


async def _follow_in_lines(here: Office, process_id: str) -> Phase:
    """For a log: a line for each phase and round as it begins, the picture once at the end."""
    shown = ""
    while True:
        row = await here.library.processes.get(process_id)
        line = f"{row.phase}, round {row.round}" if row.phase == Phase.CRYSTALLIZING else row.phase
        if line != shown:
            console.print(line, style="dim")
            shown = line
        phase = Phase(row.phase)
        if phase.ended or phase is Phase.ANSWERING:
            console.print(await picture(here.library, process_id))
            return phase
        await asyncio.sleep(0.3)


async def _phase(here: Office, process_id: str) -> Phase:
    return Phase((await here.library.processes.get(process_id)).phase)


def show(
    process: Annotated[str, typer.Argument(help="Id of the process.")],
    with_audit: Annotated[bool, typer.Option("--audit", help="The 13 properties, each with its figure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show how a process stands, and its plan when there is one."""
    run(_show(process, with_audit, as_json))


async def _show(process: str, with_audit: bool, as_json: bool) -> None:
    async with installation.running(settings()) as here:
        if as_json:
            shown = await summary(here, process)
            if with_audit:
                shown["audit"] = [finding.model_dump() for finding in await audited(here, process)]
            print_json(shown)
            return
        console.print(await picture(here.library, process))
        await print_before_rounds(here, process)
        await print_choices(here, process)
        await print_plan(here, process)
        if with_audit:
            await print_audit(here, process)


async def summary(here: Office, process_id: str) -> dict[str, Any]:
    """A process as one JSON object."""
    row = await here.library.processes.get(process_id)
    seats = await here.library.room.seats(process_id)
    plan = await here.library.plans.latest(process_id)
    return {
        "id": row.id,
        "phase": row.phase,
        "scene": row.scene_id or "",
        "round": row.round,
        "participants": [seat.alias for seat in seats],
        "waiting": row.waiting,
        "grade": row.grade,
        "suspended_reason": row.suspended_reason,
        "plan_revision": plan.revision if plan else 0,
        "tokens": row.tokens,
        "cost": f"{row.cost.normalize():f}",
        "root": row.root_id,
        "depth": row.depth,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
    }


async def print_before_rounds(here: Office, process_id: str) -> None:
    """What the demander is asked about before the rounds: the tension as formulated, the people that were found."""
    phase = await _phase(here, process_id)
    if phase in (Phase.CONFIRMING, Phase.SELECTING):
        record = await here.library.record(process_id)
        if record.tension is not None:
            console.print(Markdown(tension_markdown(record.tension)))
    if phase is Phase.SELECTING:
        table = Table("profile", "perspective", "rank", "score", box=None)
        for found in await here.library.room.candidates(process_id):
            table.add_row(found.profile_id, found.perspective, str(found.rank), f"{found.score:.2f}")
        console.print(table)


async def print_choices(here: Office, process_id: str) -> None:
    """What the demander may choose among now: at a limit what is open and who could be added, after a plan its residuals."""
    for ask in await here.library.inbox.of_process(process_id, open_only=True):
        given = await choices(here.library, ask)
        if given is None:
            continue
        if given.residual is not None:
            console.print(Text(f"{ask.subject}: {given.residual.title}", style="bold"))
            console.print(Markdown(tension_markdown(given.residual.tension)))
        if given.open:
            console.print(Text("What nobody here covers:", style="bold"))
            for point in given.open:
                console.print(Text(f"  {point.id}  {point.text}"))
        if given.proposals:
            console.print(Text("Who could be added for it:", style="bold"))
            table = Table("profile", "perspective", "rank", "score", "because", box=None)
            for found in given.proposals:
                why = ", ".join(f"{one['part']}: {_SIDES.get(one['facet'], one['facet'])}" for one in found.reasons)
                table.add_row(found.profile_id, found.perspective, str(found.rank), f"{found.score:.2f}", why)
            console.print(table)
        if given.note:
            console.print(Text(given.note))


async def print_plan(here: Office, process_id: str) -> None:
    plan = await here.library.plans.latest(process_id)
    if plan is not None:
        console.print(Markdown(await here.library.texts.get(plan.markdown_text_id)))


async def audited(here: Office, process_id: str) -> Any:
    record = await here.library.record(process_id)
    rounds = await here.library.rounds.projections(process_id)
    return audit(record, guards=[row.guards for row in rounds])


async def print_audit(here: Office, process_id: str) -> None:
    table = Table("", "property", "finding", "figure", box=None, title="Audit", title_justify="left")
    for finding in await audited(here, process_id):
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
        "phases": [phase.value] if phase else None,
        "open": True if open_only else None,
        "person": person,
        "since": since.replace(tzinfo=UTC) if since else None,
        "until": until.replace(tzinfo=UTC) if until else None,
    }
    run(_list(wanted, limit, as_json))


async def _list(wanted: dict[str, Any], limit: int, as_json: bool) -> None:
    async with installation.running(settings()) as here:
        page = await here.library.processes.list(**wanted, limit=limit)
        if as_json:
            print_json([await summary(here, row.id) for row in page.rows])
            return
        whole = [Column(name, no_wrap=True) for name in ("id", "phase", "round", "scene", "people", "waits", "created")]
        table = Table(*whole, box=None)
        for row in page.rows:
            table.add_row(
                row.id, row.phase, str(row.round), row.scene_id or "", str(row.participants),
                "for people" if row.waiting else "", f"{row.created_at:%m-%d %H:%M}",
            )  # fmt: skip
        none = "no process is like this" if any(wanted.values()) else "no processes yet: `tongyao start --help`"
        console.print(table if page.rows else Text(none))
