"""`confirm`, `say`, `answer` and the like: messages to a process, for its demander, a participant, or an operator."""

from __future__ import annotations

import asyncio
import uuid
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.context import AppContext
from tongyao.app.errors import NotFound, Refused
from tongyao.app.messaging.messages import Receipt, send_message
from tongyao.app.messaging.wire import MessageBody
from tongyao.app.operators.resume_all import Resumed, resume_all
from tongyao.app.people.consents import ConsentBody, ConsentView, read_consents, set_consent
from tongyao.commands.shared.common import OPERATOR, app_context, validated
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, EXIT_PENDING, console, fail, run
from tongyao.commands.shared.next_steps import next_step
from tongyao.commands.shared.options import Process, Who, complete_person, complete_process, find_process
from tongyao.commands.shared.references import alias_in, find_person
from tongyao.commands.shared.tension_editing import edited, revised, tension_as_text, tension_of_text
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules.consent import Consent
from tongyao.records.process.processes import ProcessRow

OPERATORS: Final = "operator"
Key = Annotated[str | None, typer.Option(help="The same key again is the same message.")]


def add_to(app: typer.Typer) -> None:
    for command in (
        confirm,
        revise,
        select,
        decide,
        conclude,
        replan,
        branch,
        resume,
        cancel,
        say,
        answer,
        switch,
        extend,
        leave,
        consent,
        consents,
    ):
        app.command()(command)


def confirm(
    process: Process,
    hide: Annotated[
        list[str] | None, typer.Option(help="What else identifies: others read a mark instead; repeat it.")
    ] = None,
    show: Annotated[list[str] | None, typer.Option(help="A name that was found and may stay; repeat it.")] = None,
    key: Key = None,
) -> None:
    """Confirm the tension as it stands. `tongyao show` lists the names in it that others will not read."""
    if hide or show:
        _report(*run(_renamed(process, hide or [], show or [])))
    _send(process, "confirm_tension", key)


async def _renamed(process: str, hide: list[str], show: list[str]) -> tuple[Receipt, str]:
    """Send the tension as it stands, with these names added to those that are hidden, and those taken out."""
    async with app_context() as context:
        tension = (await context.repositories.record(process)).tension
        if tension is None:
            fail(f"{process} has no tension yet")
        names = [one.model_dump() for one in tension.names if one.name not in (*hide, *show)]
        names += [{"name": one} for one in dict.fromkeys(hide)]
        parts = tension.model_dump(include={"transition", "initial_state", "barriers", "exchange"})
        body = validated(MessageBody, {"kind": "revise_tension", "tension": {**parts, "names": names}})
        return await _deliver(process, body, uuid.uuid4().hex, DEMANDER, "")


def revise(
    process: Process,
    transition: Annotated[str | None, typer.Option(help="T: the structure of the change.")] = None,
    initial_state: Annotated[str | None, typer.Option(help="I: where you stand, facts.")] = None,
    barrier: Annotated[list[str] | None, typer.Option(help="B: what stands in the way; repeat it.")] = None,
    exchange: Annotated[str | None, typer.Option(help="E: what you can give.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the whole tension in your editor ($EDITOR).")] = False,
    key: Key = None,
) -> None:
    """Change the tension before it is confirmed. What you do not name stays as it is; "" empties a part.

    Barriers are replaced together: name all of them.
    """
    tension = {"transition": transition, "initial_state": initial_state, "barriers": barrier, "exchange": exchange}
    changes = {name: part for name, part in tension.items() if part is not None}
    if not changes and not edit:
        fail("say what changes: --transition, --initial-state, --barrier, --exchange, or --edit", EXIT_BAD_INPUT)
    whole = run(revised(process, changes))
    if edit:
        shown = tension_as_text(whole)
        written = edited(shown)
        if written == shown:
            fail("nothing was changed in the editor, and nothing was sent", EXIT_BAD_INPUT)
        whole = tension_of_text(written)
    _send(process, "revise_tension", key, tension=whole)


def select(
    process: Process,
    participant: Annotated[list[str], typer.Option(help="A profile id; repeat it.")],
    key: Key = None,
) -> None:
    """Choose who takes part, and start the rounds."""
    _send(process, "select_participants", key, participants=participant)


def decide(
    process: Process,
    decision: Annotated[str, typer.Argument(help="accept_as_is, extend, raise_budget, add_participants or abandon")],
    participant: Annotated[list[str] | None, typer.Option(help="With add_participants: a profile id.")] = None,
    tokens: Annotated[int | None, typer.Option(help="With raise_budget: the new limit.")] = None,
    cost: Annotated[str | None, typer.Option(help="With raise_budget: the new limit in US dollars.")] = None,
    key: Key = None,
) -> None:
    """Decide how a process goes on that has come to a limit."""
    _send(process, "decide", key, decision=decision, participants=participant or [], tokens=tokens, cost=cost)


def conclude(process: Process, key: Key = None) -> None:
    """End the rounds after the present one, and plan."""
    _send(process, "conclude", key)


def resume(
    process: Annotated[
        str,
        typer.Argument(
            help="Id of the process; empty with --all.", callback=find_process, autocompletion=complete_process
        ),
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Every suspended process.")] = False,
    reason: Annotated[
        str | None, typer.Option(help="With --all: those with this cause, as `list --suspended` shows it.")
    ] = None,
    scene: Annotated[str | None, typer.Option(help="With --all: of this scene only.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --all: list them and change nothing.")] = False,
    key: Key = None,
) -> None:
    """Go on with a suspended process, or with all of them, once the cause is mended."""
    if bool(process) == every:
        fail("name one process, or say --all", EXIT_BAD_INPUT)
    if not every:
        _send(process, "resume", key, sender=OPERATORS)
        return
    resumed = run(_resume_all(reason, scene, dry_run, key or uuid.uuid4().hex))
    for one in resumed:
        console.print(f"{one.process_id}  {', '.join(one.suspended)}  {one.result}", highlight=False)
    console.print(
        f"{len(resumed)} suspended processes" + (" (nothing was changed)" if dry_run else ""), highlight=False
    )


async def _resume_all(cause: str | None, scene: str | None, dry_run: bool, key: str) -> list[Resumed]:
    async with app_context() as context:
        return await resume_all(context, OPERATOR, key=key, cause=cause, scene=scene, dry_run=dry_run, via="cli")


def cancel(
    process: Process, branch: Annotated[bool, typer.Option(help="With everything below it.")] = False, key: Key = None
) -> None:
    """Cancel a process. What was said stays in the records."""
    _send(process, "cancel", key, branch=branch)


def say(
    process: Process,
    who: Who,
    round_number: Annotated[
        int | None, typer.Option("--round", help="The round it answers; the present one by default.")
    ] = None,
    text: Annotated[str, typer.Option(help="What you have to say, in your own words.")] = "",
    nothing_new: Annotated[bool, typer.Option(help="There is nothing new.")] = False,
    key: Key = None,
) -> None:
    """Speak in a turn that waits for a person."""
    if round_number is None:
        round_number = run(_present(process)).round
    _send(process, "submit_projection", key, sender=who, round=round_number, text=text, nothing_new=nothing_new)


def answer(
    process: Process,
    who: Who,
    decision: Annotated[str, typer.Argument(help="commit, decline or propose")],
    revision: Annotated[
        int | None, typer.Option(help="Which revision of the plan it answers; the latest by default.")
    ] = None,
    text: Annotated[str, typer.Option(help="Your own words with it: what you propose instead.")] = "",
    key: Key = None,
) -> None:
    """Answer a plan for a participant."""
    if revision is None:
        revision = run(_latest_revision(process))
    _send(process, "answer_plan", key, sender=who, answer=decision, revision=revision, text=text)


def replan(
    process: Process,
    without: Annotated[list[str] | None, typer.Option(help="Who declined, as P03 or by their id; repeat it.")] = None,
    proposal: Annotated[
        list[str] | None, typer.Option(help="Whose proposal to take up, as P03 or by their id; repeat it.")
    ] = None,
    key: Key = None,
) -> None:
    """Have the plan made once more: without people who declined, with what others proposed."""
    aliases = run(_aliases(process, [without or [], proposal or []]))
    _send(process, "replan", key, without=aliases[0], proposals=aliases[1])


def branch(
    process: Process,
    residual: Annotated[str, typer.Argument(help="plan/1/residual/2, or plan/1/hole/P03: of who declined.")],
    no: Annotated[bool, typer.Option("--no", help="It does not go back to the field.")] = False,
    key: Key = None,
) -> None:
    """Say whether a residual tension goes back to the field, in a process of its own; also after the process has ended."""
    _send(process, "approve_residual", key, residual=residual, approve=not no)


def switch(
    process: Process,
    who: Who,
    endpoint: Annotated[str, typer.Argument(help="proxy, human or agent")],
    key: Key = None,
) -> None:
    """Change what speaks for a participant."""
    _send(process, "switch_endpoint", key, sender=OPERATORS, about=who, endpoint=endpoint)


def extend(
    process: Process, who: Who, hours: Annotated[float, typer.Option(help="So much longer.")] = 24, key: Key = None
) -> None:
    """Give a participant more time for the present turn."""
    _send(process, "extend_deadline", key, sender=OPERATORS, about=who, seconds=int(hours * 3600))


def leave(process: Process, who: Who, key: Key = None) -> None:
    """A participant leaves the process."""
    _send(process, "leave", key, sender=OPERATORS, about=who)


def consent(
    process: Process,
    person: Annotated[
        str,
        typer.Option("--as", help="Id of the profile that is asked, or a part of it.", autocompletion=complete_person),
    ],
    allow: Annotated[bool, typer.Option("--allow/--refuse", help="Whether a proxy may speak for them here.")],
    key: Key = None,
) -> None:
    """Answer whether a proxy may speak for somebody in a process. No answer is no."""
    body = validated(MessageBody, {"kind": "consent", "allow": allow})
    _report(*run(_answer(process, body, key or uuid.uuid4().hex, person)))


async def _answer(process: str, body: MessageBody, key: str, person: str) -> tuple[Receipt, str]:
    async with app_context() as context:
        asked = await find_person(context, person)
        receipt = await send_message(context, Caller(Role.PERSON, asked), process, body, key=key, via="cli")
        return receipt, await next_step(context.repositories, process)


def consents(
    person: Annotated[str, typer.Argument(help="Id of the profile.")],
    scene: Annotated[str | None, typer.Option(help="The scene to decide for.")] = None,
    decision: Annotated[
        Consent | None, typer.Option("--set", help="ask: each time; allow: in this scene; never.")
    ] = None,
) -> None:
    """Show where a proxy may speak for somebody, or decide it for a scene."""
    if (scene is None) != (decision is None):
        fail("to decide, say both --scene and --set", EXIT_BAD_INPUT)
    table = Table("scene", "consent", "", box=None)
    for one in run(_consents(person, scene, decision)):
        table.add_row(one.scene, one.consent.value, "" if one.own else f"by default ({one.origin.value})")
    console.print(table)


async def _consents(person: str, scene: str | None, decision: Consent | None) -> list[ConsentView]:
    caller = Caller(Role.PERSON, person)
    async with app_context() as context:
        if scene is not None and decision is not None:
            return [await set_consent(context, caller, person, scene, ConsentBody(consent=decision))]
        return await read_consents(context, caller, person)


def _send(process: str, kind: str, key: str | None, *, sender: str = DEMANDER, about: str = "", **fields: Any) -> None:
    """Send a message for `sender`: an alias, a person in the process (`P00`: the demander) or an operator.

    `about`: the participant whom an operator's message is about.
    """
    body = validated(MessageBody, {"kind": kind, **fields})
    _report(*run(_deliver(process, body, key or uuid.uuid4().hex, sender, about)))


def _report(receipt: Receipt, then: str) -> None:
    """One line of what happened, one of what comes next."""
    if receipt.state == "waiting":
        console.print(f"accepted and kept as {receipt.id}: it is delivered as soon as a worker answers", style="yellow")
        raise typer.Exit(EXIT_PENDING)
    repeated = " (it had been applied before)" if receipt.repeated else ""
    console.print(f"{receipt.en or receipt.kind}{repeated}", highlight=False, markup=False, soft_wrap=True)
    if receipt.id.startswith("c-"):
        then = f"Next: tongyao watch {receipt.id}"
    console.print(then, style="dim", highlight=False, markup=False, soft_wrap=True)


async def _deliver(process: str, body: MessageBody, key: str, sender: str, about: str) -> tuple[Receipt, str]:
    async with app_context() as context:
        row = await context.repositories.processes.get(process)
        if about:
            body = body.model_copy(update={"alias": await alias_in(context, row, about)})
        caller = await _caller(context, row, sender)
        try:
            receipt = await send_message(context, caller, process, body, key=key, via="cli")
        except Refused as refused:
            refused.add_note(await next_step(context.repositories, process))
            raise
        if receipt.state == "applied":
            await _until_written(context, row)
        return receipt, await next_step(context.repositories, process)


async def _until_written(context: AppContext, before: ProcessRow) -> None:
    """Wait a moment for the records to show what the message changed: the workflow writes them after it has applied it."""
    for _ in range(15):
        if (await context.repositories.processes.get(before.id)).seq > before.seq:
            return
        await asyncio.sleep(0.1)


async def _caller(context: AppContext, row: ProcessRow, sender: str) -> Caller:
    """The caller in whose role a message is sent. Raises `NotFound`."""
    if sender == OPERATORS:
        return OPERATOR
    alias = await alias_in(context, row, sender)
    if alias == DEMANDER:
        return Caller(Role.PERSON, row.demander)
    seats = await context.repositories.seats.seats(row.id)
    person = next((seat.person for seat in seats if seat.alias == alias), None)
    if person is None:
        raise NotFound("no_such_seat", f"{row.id} has no {alias}")
    return Caller(Role.PARTICIPANT, person, process_id=row.id, alias=alias)


async def _aliases(process: str, given: list[list[str]]) -> list[list[str]]:
    if not any(given):
        return given
    async with app_context() as context:
        row = await context.repositories.processes.get(process)
        return [[await alias_in(context, row, one) for one in names] for names in given]


async def _present(process: str) -> ProcessRow:
    async with app_context() as context:
        return await context.repositories.processes.get(process)


async def _latest_revision(process: str) -> int:
    async with app_context() as context:
        plan = await context.repositories.plans.latest(process)
        return plan.revision if plan is not None else 1
