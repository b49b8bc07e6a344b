"""The parts of `show`: the tension, the people to choose among, the plan with its answers, the audit."""

from __future__ import annotations

from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tongyao.app import processes
from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.choosing.candidates import Because, candidates
from tongyao.app.choosing.choices import choices_of
from tongyao.app.choosing.findings import nothing_found
from tongyao.app.reading import Reading
from tongyao.commands.shared.common import OPERATOR
from tongyao.commands.shared.next_steps import after_end, commands_for
from tongyao.commands.shared.terminal import console
from tongyao.commands.shared.words import language, say
from tongyao.protocol.documents.markdown import observation_markdown, projection_markdown, tension_markdown
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.sizes import shortened
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.audit import Finding, audit
from tongyao.protocol.rules.formulation import not_taken_up
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.repositories import Repositories

SHOWN_UNITS: Final = 24
"""So much of a part of the tension stands beside a person who was found, and in a short tension."""


async def summary_as_json(context: Reading, process_id: str) -> dict[str, Any]:
    """A process as `list --json`, `watch --json` and `GET /processes` have it for an operator. What there is not is left out."""
    access = await authorize_in_process(context.repositories, OPERATOR, process_id, Action.READ_PROCESS)
    return (await processes.summary(context, access)).model_dump(mode="json", exclude_none=True)


async def shown_as_json(context: Reading, process_id: str) -> dict[str, Any]:
    """The summary, and everything that `GET /processes/{id}` tells the demander or an operator, under the same names.

    Besides: `nothing_found`, why no relation was found; `commands`, which answer what is waited for.
    """
    repositories = context.repositories
    row = await repositories.processes.get(process_id)
    asks = await repositories.inbox.of_process(process_id, open_only=True)
    views = (await processes.read_process(context, OPERATOR, process_id), await _of_demander(context, process_id))
    seen = [view.model_dump(mode="json", exclude_none=True, exclude={"you"}) for view in views]
    return {
        **seen[0],
        **seen[1],
        **await summary_as_json(context, process_id),
        "nothing_found": await nothing_found(repositories, row),
        "commands": [command for ask in asks for command in await commands_for(repositories, ask, row)]
        + [command for _, command in await after_end(repositories, row)],
    }


async def _of_demander(context: Reading, process_id: str) -> PartyView:
    """What the demander may see: on the machine it is read for them."""
    row = await context.repositories.processes.get(process_id)
    return await processes.read_process(context, Caller(Role.PERSON, row.demander), process_id)


async def print_before_plan(context: Reading, process_id: str) -> None:
    """The tension, and what the demander is asked about before the rounds: the tension as a whole, the people that were found."""
    repositories = context.repositories
    record = await repositories.record(process_id, own=(DEMANDER,))
    tension = record.demanders_tension or record.own_tension
    if record.phase not in (Phase.CONFIRMING, Phase.SELECTING):
        if tension is not None and not record.plans:
            _print_shortened(tension)
        return
    if tension is not None:
        console.print(markdown(tension_markdown(tension, language())))
        if record.phase is Phase.CONFIRMING and tension.names:
            console.print(
                say("show.hidden"),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
            for name in tension.names:
                console.print(f"- {name.name} ({name.kind})", markup=False)
        if record.phase is Phase.CONFIRMING and (left := not_taken_up(record.intent, tension.spans)):
            console.print(say("show.not_quoted"))
            for sentence in left:
                console.print(f"- {sentence}", markup=False)
    if record.phase is Phase.SELECTING:
        await _print_candidates(context, process_id)


def _print_shortened(tension: Tension) -> None:
    """A line for each part."""
    for part, text in tension.targets().items():
        console.print(f"{part:<3}{shortened(text, SHOWN_UNITS)}", markup=False, highlight=False, soft_wrap=True)


async def _print_candidates(context: Reading, process_id: str) -> None:
    """Whom the field found, from which side, and why; those who would be taken are marked."""
    row = await context.repositories.processes.get(process_id)
    found = await candidates(context, Caller(Role.PERSON, row.demander), process_id)
    if not found:
        console.print(say("show.found_nobody"))
        return
    console.print(Text(say("show.found"), style="bold"))
    for one in found:
        sides = "; ".join(say(f"show.found_{name}") for name in one.perspectives)
        console.print(f"{'*' if one.taken else ' '} {one.profile_id}: {sides}", markup=False, highlight=False)
        for because in one.because:
            for line in _because(because):
                console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _because(reason: Because) -> list[str]:
    part = (
        f"{reason.part} ({say(f'show.lens_{reason.part[0]}')}) “{shortened(reason.part_text, SHOWN_UNITS)}”"
        if reason.part_text
        else reason.part
    )
    lines = [f"    {say('show.near', facet=say(f'show.facet_{reason.facet}'), part=part)}"]
    return [*lines, f"    {say('show.they_say', sentence=reason.sentence)}"] if reason.sentence else lines


async def print_choices(repositories: Repositories, process_id: str) -> None:
    """What the demander may choose among now: at a limit what is open and who could be added, after a plan its residuals."""
    for ask in await repositories.inbox.of_process(process_id, open_only=True):
        given = await choices_of(repositories, ask)
        if given is None or ask.ask == "select_participants":  # who was found is printed with their sentences
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
                near = ", ".join(f"{one.part}: {say('show.facet_' + one.facet)}" for one in found.reasons)
                table.add_row(found.profile_id, say(f"show.found_{found.perspective}"), near)
            console.print(table)
        if given.note:
            console.print(Text(given.note))
        if not given.takes_up_proposals:
            console.print(Text(say("show.proposals_stay")))


def markdown(text: str) -> RenderableType:
    """Markdown for the terminal. Its library is loaded only where something is shown."""
    from rich.markdown import Markdown

    return Markdown(text)


async def print_plan(context: Reading, process_id: str) -> None:
    """The plan that holds, how it was answered, and, where the rounds found no relation, that and why."""
    view = await _of_demander(context, process_id)
    if view.plan is not None:
        console.print(markdown(view.plan.markdown))  # ends with how it was answered
    said = await nothing_found(context.repositories, await context.repositories.processes.get(process_id))
    if said and (view.plan is None or "ANTHROPIC_API_KEY" not in view.plan.markdown):  # the plan may say so itself
        console.print(Text(said, style="yellow"))


def print_view(view: PartyView) -> None:
    """What one person reads: the tension or their delivery, what they or their proxy said, and the observations."""
    if view.delivery is not None:
        console.print(markdown(view.delivery.markdown))
    elif view.tension is not None:
        console.print(markdown(tension_markdown(view.tension, language())))
    said = [(one.round, projection_markdown(one, language())) for one in view.own or ()]
    seen = [(one.round, observation_markdown(one, language())) for one in view.observations or ()]
    for title, texts in (("own_words", said), ("observations", seen)):
        if texts:
            console.print(Text(say(f"show.{title}", alias=view.you), style="bold"))
        for number, text in texts:
            console.print(Text(say("show.of_round", number=number), style="bold"))
            console.print(markdown(text))
    if view.said_now:
        console.print(Text(say("show.said_now", round=view.round), style="bold"))
        console.print(view.said_now, markup=False, highlight=False)
    if view.delivery is None and view.tension is None:
        console.print(say("show.reads_nothing", alias=view.you, phase=say(f"phase.{view.phase}")), highlight=False)


async def audited(repositories: Repositories, process_id: str) -> Any:
    record = await repositories.record(process_id)
    rounds = await repositories.rounds.projections(process_id)
    return audit(record, guards=[row.guards for row in rounds])


async def print_audit(repositories: Repositories, process_id: str) -> None:
    table = Table(
        "",
        *(say(f"show.{name}") for name in ("property", "finding", "figure")),
        box=None,
        title=say("show.audit"),
        title_justify="left",
    )
    for finding in await audited(repositories, process_id):
        table.add_row(str(finding.number), *_told(finding))
    console.print(table)


def _told(finding: Finding) -> tuple[str, str, str]:
    """The property, the result and the figure, in the language of the terminal."""
    if language() == "en":
        return finding.claim, finding.result, finding.figure
    return say(f"audit.p{finding.number}"), say(f"audit.{finding.result.name.lower()}"), finding.figure_zh
