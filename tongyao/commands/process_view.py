"""A process on the terminal: the view of `watch`, and the parts of `show`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tongyao.app import processes
from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.choosing.candidates import Because, candidates
from tongyao.app.choosing.choices import FULL, NO_SCENE, NOBODY, choices_of, nothing_found
from tongyao.commands.context import operator
from tongyao.commands.next_steps import after_end, commands_for, questions_in, waits_for, with_places
from tongyao.commands.terminal import console, print_table, put
from tongyao.commands.words import dollars, known, language, say, tell
from tongyao.protocol.documents.markdown import observation_markdown, projection_markdown, tension_markdown
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.sizes import shortened
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.audit import AuditFinding, audit
from tongyao.protocol.rules.formulation import not_taken_up
from tongyao.protocol.rules.plans.answered import own_answer
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.seats import SeatRow
from tongyao.records.repositories import Repositories

_MARKS = {
    Outcome.REPLIED: "[green]●[/]",
    Outcome.NOTHING_NEW: "[dim]○[/]",
    Outcome.LAPSED: "[yellow]–[/]",
    Outcome.FAILED: "[red]×[/]",
}
_STEPS = (
    Phase.FORMULATING, Phase.CONFIRMING, Phase.SELECTING, Phase.CRYSTALLIZING, Phase.PLANNING, Phase.DELIVERING,
    Phase.ANSWERING, Phase.COMPLETED,
)  # fmt: skip
_NOTES: Final = {NO_SCENE: "no_scene", FULL: "full", NOBODY: "nobody"}
SHOWN_UNITS: Final = 24
"""Units of a part of the tension that are shown beside a candidate, and in a shortened tension."""


async def asks_of(repositories: Repositories, row: ProcessRow, *, alias: str = "") -> list[str]:
    """Return for each open ask (to `alias`) a line that describes it, its questions, then the commands that answer it."""
    lines, branches = [], False
    for ask in await repositories.inbox.of_process(row.id, open_only=True):
        if alias not in ("", ask.alias):
            continue
        lines.append(waits_for(ask, row))
        lines += [f"  ? {question}" for question in await questions_in(repositories, ask, row)]
        lines += [f"  {with_places(command)}" for command in await commands_for(repositories, ask)]
        branches = branches or ask.ask in ("residual", "hole")
    if branches and row.phase == Phase.ANSWERING:
        lines.append(say("waits.last_answer"))
    return lines


async def left_open(repositories: Repositories, row: ProcessRow) -> list[str]:
    """Return lines with the unresolved tensions of an ended process and the commands that start processes for them.

    While people answer the plan: lines with the participants who may answer it themselves.
    """
    if row.phase == Phase.ANSWERING:
        return await _may_answer(repositories, row)
    lines = [line for said, command in await after_end(repositories, row) for line in (said, f"  {command}")]
    return [say("waits.left_open"), *lines] if lines else []


async def _may_answer(repositories: Repositories, row: ProcessRow) -> list[str]:
    """Return lines about the participants whose proxy spoke and who may answer the plan themselves (docs/protocol.md §7.5)."""
    record = await repositories.record(row)
    lines = []
    for alias in (seat.alias for seat in record.participants if own_answer(record, seat.alias) == "possible"):
        lines.append(say("waits.may_answer", alias=alias))
        lines.append(f"  tongyao answer {row.id} commit --as {alias}")
    return lines


async def live_view(repositories: Repositories, process_id: str, *, with_asks: bool = True) -> RenderableType:
    """Return the view of `watch`. Raises `ProcessUnknown`."""
    row = await repositories.processes.get(process_id)
    phase = Phase(row.phase)
    title = Text.assemble((row.id, "bold"), "  ", *_path(phase))
    parts: list[RenderableType] = [title]
    if row.forked_from:
        parts.append(Text(say("forks.is_fork", origin=row.forked_from, round=row.fork_round)))
    if row.suspended_reason:
        parts.append(Text(say("show.suspended", reason=row.suspended_reason), style="red"))
    seats = await repositories.seats.seats(process_id)
    if seats:
        parts.append(await _rounds(repositories, process_id, seats, row.round))
        parts.append(Text(f"  {say('show.legend')}", style="dim"))
        parts.append(Text("  " + " · ".join(f"{seat.alias} {seat.person}" for seat in seats), style="dim"))
    if with_asks:
        parts += [Text(line, no_wrap=True, overflow="ignore") for line in await asks_of(repositories, row)]
    if row.cost or row.tokens:
        cost = dollars(row.cost, unknown=row.price_unknown)
        parts.append(Text(say("show.cost", tokens=f"{row.tokens:,}", cost=cost), style="dim"))
    return Group(*parts)


def _path(phase: Phase) -> list[tuple[str, str] | str]:
    """Return the usual phases in words, with the current one in brackets. An unusual current phase comes at the end."""
    shown: list[tuple[str, str] | str] = []
    steps = _STEPS if phase in _STEPS else (*_STEPS, phase)
    for step in steps:
        name = say(f"phase.{step.value}")
        shown += [(f"[{name}]", "bold reverse") if step is phase else (name, "dim"), " › "]
    return shown[:-1]


async def _rounds(repositories: Repositories, process_id: str, seats: Sequence[SeatRow], current: int) -> Table:
    aliases = [seat.alias for seat in seats]
    still = {seat.alias for seat in seats if seat.active}
    projections = {(row.round, row.alias): row for row in await repositories.rounds.projections(process_id)}
    observations = {row.round: row for row in await repositories.rounds.observations(process_id)}
    of_kind = repositories.events.of_kind
    figures = {event.data["round"]: event.data for event in await of_kind(process_id, EventKind.OBSERVATION_READY)}
    opened = await of_kind(process_id, EventKind.ROUND_OPENED)
    asked: dict[Any, Any] = {event.data["round"]: event.data["aliases"] for event in opened}
    for event in await of_kind(process_id, EventKind.GATE_COMPLETE):
        asked.pop(event.data["round"], None)
    columns = (say(f"show.{name}") for name in ("relations", "gaps", "catalyst"))
    table = Table("", *aliases, *columns, box=None, padding=(0, 2))
    for number in range(1, max([current, *observations, *(key[0] for key in projections)], default=0) + 1):
        cells = []
        for alias in aliases:
            row = projections.get((number, alias))
            awaited = alias in still and alias in asked.get(number, ())
            mark = _mark(row.outcome) if row is not None else "…" if awaited else ""
            cells.append(f"{mark} {row.items}" if row is not None and row.items else mark)
        verdict = say(f"show.verdict_{observations[number].verdict.value}") if number in observations else ""
        seen = figures.get(number, {})
        table.add_row(f"R{number}", *cells, str(seen.get("relations", "")), str(seen.get("gaps", "")), verdict)
    return table


def _mark(outcome: Outcome) -> str:
    return _MARKS.get(outcome) or f"[dim]{say('show.left')}[/]"


async def states(repositories: Repositories, process_id: str) -> AsyncIterator[ProcessRow]:
    """Yield the current state of the process repeatedly, until it has ended or people answer its plan."""
    while True:
        row = await repositories.processes.get(process_id)
        yield row
        if Phase(row.phase).ended or row.phase == Phase.ANSWERING:
            return
        await asyncio.sleep(0.3)


async def follow(repositories: Repositories, process_id: str, *, quiet: bool = False) -> Phase:
    """Show the process until it has ended or people answer its plan. Returns its phase."""
    await repositories.processes.get(process_id)
    if quiet:
        async for _ in states(repositories, process_id):
            pass
    elif not console.is_terminal:
        await _follow_in_lines(repositories, process_id)
    else:
        from rich.live import Live

        with Live(console=console, refresh_per_second=4, transient=False) as live:
            async for _ in states(repositories, process_id):
                live.update(await live_view(repositories, process_id))
    return Phase((await repositories.processes.get(process_id)).phase)


async def _follow_in_lines(repositories: Repositories, process_id: str) -> None:
    """Print a line for each phase and round when it begins, and the view once at the end."""
    shown = ""
    async for row in states(repositories, process_id):
        line = say(f"phase.{row.phase}")
        if row.phase == Phase.CRYSTALLIZING:
            line = say("show.round", phase=line, round=row.round)
        if line != shown:
            console.print(line, style="dim")
            shown = line
    console.print(await live_view(repositories, process_id, with_asks=False))
    print_lines(await asks_of(repositories, row))


def print_lines(lines: Sequence[str]) -> None:
    """Print lines without breaking them, so that the commands can be copied."""
    for line in lines:
        put(line, whole=True)


async def summary_as_json(repositories: Repositories, process_id: str) -> dict[str, Any]:
    """Return the summary of a process as `list --json` and `GET /processes` return it to an operator, without nulls."""
    access = await authorize_in_process(repositories, operator(), process_id, Action.READ_PROCESS)
    return (await processes.summary(repositories, access)).model_dump(mode="json", exclude_none=True)


async def shown_as_json(repositories: Repositories, process_id: str) -> dict[str, Any]:
    """Return the summary, and all fields that `GET /processes/{id}` returns to the demander or an operator.

    Further fields: `nothing_found`, why no relation was found; `commands`, which answer the open asks.
    """
    row = await repositories.processes.get(process_id)
    asks = await repositories.inbox.of_process(process_id, open_only=True)
    views = (
        await processes.read_process(repositories, operator(), process_id),
        await _of_demander(repositories, process_id),
    )
    seen = [view.model_dump(mode="json", exclude_none=True, exclude={"you"}) for view in views]
    return {
        **seen[0],
        **seen[1],
        **await summary_as_json(repositories, process_id),
        "nothing_found": await nothing_found(repositories, row),
        "commands": [command for ask in asks for command in await commands_for(repositories, ask)]
        + [command for _, command in await after_end(repositories, row)],
    }


async def _of_demander(repositories: Repositories, process_id: str) -> PartyView:
    """Return the demander's view. The operator of the machine may read it."""
    row = await repositories.processes.get(process_id)
    return await processes.read_process(repositories, Caller(Role.PERSON, row.demander), process_id)


async def print_before_plan(repositories: Repositories, process_id: str) -> None:
    """Print the tension and the candidates to select. It shortens the tension unless the demander must answer it."""
    record = await repositories.record(process_id, own=(DEMANDER,))
    tension = record.demanders_tension or record.own_tension
    if record.phase not in (Phase.CONFIRMING, Phase.SELECTING):
        if tension is not None and not record.plans:
            _print_shortened(tension)
        return
    if tension is not None:
        console.print(markdown(tension_markdown(tension, language())))
        if record.phase is Phase.CONFIRMING and tension.names:
            tell("show.hidden", whole=True)
            for name in tension.names:
                put(f"- {name.name} ({name.kind})")
        if record.phase is Phase.CONFIRMING and (left := not_taken_up(record.intent, tension.spans)):
            tell("show.not_quoted")
            for sentence in left:
                put(f"- {sentence}")
    if record.phase is Phase.SELECTING:
        await _print_candidates(repositories, process_id)


def _print_shortened(tension: Tension) -> None:
    """Print a line for each part of the tension."""
    for part, text in tension.targets().items():
        put(f"{part:<3}{shortened(text, SHOWN_UNITS)}", whole=True)


async def _print_candidates(repositories: Repositories, process_id: str) -> None:
    """Print the candidates with perspectives and reasons. A mark shows those who are preselected."""
    row = await repositories.processes.get(process_id)
    found = await candidates(repositories, Caller(Role.PERSON, row.demander), process_id)
    if not found:
        tell("show.found_nobody")
        return
    console.print(Text(say("show.found"), style="bold"))
    for candidate in found:
        sides = "; ".join(say(f"show.found_{name}") for name in candidate.perspectives)
        mark = "*" if candidate.taken else " "
        put(f"{mark} {candidate.profile_id}: {sides}")
        for because in candidate.because:
            for line in _because(because):
                put(line, whole=True, style="dim")


def _because(reason: Because) -> list[str]:
    part = (
        f"{reason.part} ({say(f'show.lens_{reason.part[0]}')}) “{shortened(reason.part_text, SHOWN_UNITS)}”"
        if reason.part_text
        else reason.part
    )
    lines = [f"    {say('show.near', facet=say(f'show.facet_{reason.facet}'), part=part)}"]
    return [*lines, f"    {say('show.they_say', sentence=reason.sentence)}"] if reason.sentence else lines


async def print_choices(repositories: Repositories, process_id: str) -> None:
    """Print the demander's options: at a limit the open points and people to add, after a plan its residuals."""
    for ask in await repositories.inbox.of_process(process_id, open_only=True):
        given = await choices_of(repositories, ask)
        if given is None or ask.ask == "select_participants":  # `print_before_plan` prints the candidates
            continue
        if given.residual is not None:
            console.print(Text(f"{ask.subject}: {given.residual.title}", style="bold"))
            console.print(markdown(tension_markdown(given.residual.tension, language())))
        if given.open:
            console.print(Text(say("show.not_covered"), style="bold"))
            for point in given.open:
                console.print(Text(f"  {point.id}  {point.text}"))
        if given.proposals:
            console.print(Text(say("show.could_be_added"), style="bold"))
            table = Table(*(say(f"show.{name}") for name in ("profile", "because", "near_column")), box=None)
            for found in given.proposals:
                sides = "; ".join(say(f"show.found_{name}") for name in found.perspectives)
                near = dict.fromkeys(f"{one.part}: {say('show.facet_' + one.facet)}" for one in found.because)
                table.add_row(found.profile_id, sides, ", ".join(near))
            console.print(table)
        if given.note:
            tell(f"show.{_NOTES[given.note]}")
        if not given.takes_up_proposals:
            console.print(Text(say("show.proposals_stay")))


def markdown(text: str) -> RenderableType:
    """Return Markdown for the terminal. The library is imported only for this."""
    from rich.markdown import Markdown

    return Markdown(text)


async def print_plan(repositories: Repositories, process_id: str) -> None:
    """Print the current plan with its answers, and if the rounds found no relation, the reason."""
    view = await _of_demander(repositories, process_id)
    if view.plan is not None:
        console.print(markdown(view.plan.markdown))  # ends with the answers
    said = await nothing_found(repositories, await repositories.processes.get(process_id))
    if said:
        console.print(Text(said, style="yellow"))


def print_view(view: PartyView) -> None:
    """Print one person's view: the tension or their delivery, the words said by or for them, and the observations."""
    if view.delivery is not None:
        console.print(markdown(view.delivery.markdown))
    elif view.tension is not None:
        console.print(markdown(tension_markdown(view.tension, language())))
    said = [(turn.round, projection_markdown(turn, language())) for turn in view.own or ()]
    seen = [(seen.round, observation_markdown(seen, language())) for seen in view.observations or ()]
    for title, texts in (("own_words", said), ("observations", seen)):
        if texts:
            console.print(Text(say(f"show.{title}", alias=view.you), style="bold"))
        for number, text in texts:
            console.print(Text(say("show.of_round", number=number), style="bold"))
            console.print(markdown(text))
    if view.said_now:
        console.print(Text(say("show.said_now", round=view.round), style="bold"))
        put(view.said_now)
    if view.delivery is None and view.tension is None:
        tell("show.reads_nothing", alias=view.you, phase=say(f"phase.{view.phase}"))


async def audited(repositories: Repositories, process_id: str) -> Any:
    record = await repositories.record(process_id)
    rounds = await repositories.rounds.projections(process_id)
    return audit(record, guards=[row.guards for row in rounds])


async def print_audit(repositories: Repositories, process_id: str) -> None:
    print_table(
        ["", *(say(f"show.{name}") for name in ("property", "finding", "figure"))],
        [(finding.number, *_told(finding)) for finding in await audited(repositories, process_id)],
        title=say("show.audit"),
        title_justify="left",
    )
    tell("show.audit_listed", style="dim")


def _told(finding: AuditFinding) -> tuple[str, str, str]:
    """Return the property, the result and the figure, in the language of the terminal."""
    figure = finding.figure if language() == "en" else finding.figure_zh
    if known(f"audit.experiment{finding.number}"):
        figure = f"{figure}\n{say(f'audit.experiment{finding.number}')}"
    return say(f"audit.p{finding.number}"), say(f"audit.{finding.result.name.lower()}"), figure
