"""`confirm`, `say`, `answer` and others: messages of the demander, a participant or an operator to a process."""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tongyao.commands import words
from tongyao.commands.context import app_context, open_records, operator, validated
from tongyao.commands.options import PERSON, Key, People, Process, Who, complete_person, complete_process, find_process
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, console, fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongyao.records.process.process_rows import ProcessRow

Humans = Annotated[
    list[str] | None,
    typer.Option(help="Like --participant, for a person who speaks for themselves.", autocompletion=complete_person),
]
Agents = Annotated[
    list[str] | None,
    typer.Option(help="Like --participant, for a person whose own agent speaks.", autocompletion=complete_person),
]

app = CommandGroup()


async def _send(process: str, kind: str, key: str | None, **given: Any) -> None:
    from tongyao.commands.sending import send

    await send(process, kind, key, **given)


@app.command()
async def confirm(
    process: Process,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            help="A name to hide, besides those that were found; `NAME (firm)` for a firm. Others read a mark instead. May be repeated."
        ),
    ] = None,
    show: Annotated[
        list[str] | None, typer.Option(help="A name in the list that others may read. May be repeated.")
    ] = None,
    key: Key = None,
) -> None:
    """Confirm the tension in its present wording. `tongyao show` lists the names in it that others will not read."""
    key = key or uuid.uuid4().hex
    if hide or show:
        await _rename(process, hide or [], show or [], key=f"{key}-names")
    await _send(process, "confirm_tension", key)


@app.command()
async def revise(
    process: Process,
    transition: Annotated[str | None, typer.Option(help="T: the change that is wanted, in general words.")] = None,
    initial_state: Annotated[str | None, typer.Option(help="I: your situation, as facts.")] = None,
    barrier: Annotated[
        list[str] | None, typer.Option(help="B: a barrier, something that is in the way. May be repeated.")
    ] = None,
    exchange: Annotated[str | None, typer.Option(help="E: what you can give.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the whole tension in your editor ($EDITOR).")] = False,
    key: Key = None,
) -> None:
    """Change the tension before it is confirmed. Parts that you do not give stay as they are; "" empties a part.

    Barriers are replaced together: give all of them. After the change the time to confirm starts again.
    """
    from tongyao.commands.tension_editing import edited, revised, tension_as_text, tension_of_text

    tension = {"transition": transition, "initial_state": initial_state, "barriers": barrier, "exchange": exchange}
    changes = {name: part for name, part in tension.items() if part is not None}
    if not changes and not edit:
        fail(words.say("sent.no_change_named"), EXIT_BAD_INPUT)
    whole = await revised(process, changes)
    if edit:
        shown = tension_as_text(whole)
        written = edited(shown)
        if written == shown:
            fail(words.say("sent.nothing_edited"), EXIT_BAD_INPUT)
        whole = tension_of_text(written)
    await _send(process, "revise_tension", key, tension=whole)


@app.command()
async def select(
    process: Process,
    participant: People = None,
    human: Humans = None,
    agent: Agents = None,
    key: Key = None,
) -> None:
    """Choose who takes part, and start the rounds. A proxy speaks for each --participant; it cannot commit to anything.

    In a process that `branch` started, people who spoke for themselves in the previous process do so again. `switch` changes that.
    """
    from tongyao.commands.references import find_people

    chosen = [
        {"profile_id": person} | ({"endpoint": endpoint} if endpoint else {})
        for endpoint, given in (("", participant), ("human", human), ("agent", agent))
        for person in await find_people(given or [])
    ]
    await _send(process, "select_participants", key, participants=chosen)


@app.command()
async def decide(
    process: Process,
    decision: Annotated[str, typer.Argument(help="accept_as_is, extend, raise_budget, add_participants or abandon")],
    participant: Annotated[
        list[str] | None,
        typer.Option(help=f"With add_participants: {PERSON.lower()} May be repeated.", autocompletion=complete_person),
    ] = None,
    tokens: Annotated[int | None, typer.Option(help="With raise_budget: the new limit in tokens.")] = None,
    cost: Annotated[str | None, typer.Option(help="With raise_budget: the new limit in US dollars.")] = None,
    key: Key = None,
) -> None:
    """Decide how a process continues after it has reached a limit."""
    from tongyao.commands.references import find_people

    people = await find_people(participant or [])
    await _send(process, "decide", key, decision=decision, participants=people, tokens=tokens, cost=cost)


@app.command()
async def conclude(
    process: Process,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for confirmation if people are still asked about the plan.")
    ] = False,
    key: Key = None,
) -> None:
    """End the rounds after the current one, and make the plan. If there is a plan, end the waiting for answers."""
    if not yes and (await _row(process)).phase == "answering":
        _ask_before(words.say("sent.ends_answers"))
    await _send(process, "conclude", key)


@app.command()
async def resume(
    process: Annotated[
        str,
        typer.Argument(
            help="Id of the process, or the beginning of the id. Do not give it together with --all.",
            callback=find_process,
            autocompletion=complete_process,
        ),
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Resume all suspended processes.")] = False,
    reason: Annotated[
        str | None, typer.Option(help="With --all: only processes with this cause, as `list --suspended` shows it.")
    ] = None,
    scene: Annotated[str | None, typer.Option(help="With --all: only processes of this scene.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --all: list the processes and change nothing.")
    ] = False,
    key: Key = None,
) -> None:
    """Resume a suspended process, or all of them, after the cause has been fixed."""
    from tongyao.app.operators.in_bulk import resume_all

    if bool(process) == every:
        fail(words.say("sent.one_or_all"), EXIT_BAD_INPUT)
    if not every:
        await _send(process, "resume", key, sender="operator")
        return
    async with app_context() as context:
        key = key or uuid.uuid4().hex
        resumed = await resume_all(context, operator(), key=key, cause=reason, scene=scene, dry_run=dry_run, via="cli")
    for row in resumed:
        console.print(f"{row.process_id}  {', '.join(row.suspended)}  {row.result}", highlight=False)
    words.tell("sent.resumed_none" if dry_run else "sent.resumed", n=len(resumed))


@app.command()
async def cancel(
    process: Process,
    branch: Annotated[bool, typer.Option(help="Also cancel all child processes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be cancelled.")] = False,
    key: Key = None,
) -> None:
    """Cancel a process. Everything that was said stays in the records."""
    if dry_run:
        async with open_records() as repositories:
            tree = (await repositories.lineage.tree(process)).all()
        for row in tree if branch else tree[:1]:
            if row.ended_at is None:
                words.tell("sent.would_be_cancelled", id=row.id, phase=row.phase)
        words.tell("sent.nothing_changed")
        return
    await _send(process, "cancel", key, branch=branch)


@app.command()
async def say(
    process: Process,
    who: Who,
    round_number: Annotated[
        int | None, typer.Option("--round", help="The round to answer. Default: the current one.")
    ] = None,
    text: Annotated[str, typer.Option(help="The text to say.")] = "",
    nothing_new: Annotated[bool, typer.Option(help="Answer “nothing new”.")] = False,
    key: Key = None,
) -> None:
    """Answer a turn that waits for a person."""
    if round_number is None:
        row = await _row(process)
        if row.round < 1:
            fail(
                words.say("wrong.no_round_yet", process=process, phase=words.say(f"phase.{row.phase}")), EXIT_BAD_INPUT
            )
        round_number = row.round
    await _send(process, "submit_projection", key, sender=who, round=round_number, text=text, nothing_new=nothing_new)


@app.command()
async def answer(
    process: Process,
    who: Who,
    decision: Annotated[str, typer.Argument(help="commit, decline or propose")],
    revision: Annotated[
        int | None, typer.Option(help="The revision of the plan to answer. Default: the latest.")
    ] = None,
    text: Annotated[str, typer.Option(help="The text of the answer: what you propose, or why you decline.")] = "",
    contact: Annotated[
        str, typer.Option(help="With commit: how the demander and the others who commit reach you. Only they read it.")
    ] = "",
    key: Key = None,
) -> None:
    """Answer a plan for a participant."""
    if revision is None:
        async with open_records() as repositories:
            plan = await repositories.plans.latest(process)
        revision = plan.revision if plan is not None else 1
    await _send(process, "answer_plan", key, sender=who, answer=decision, revision=revision, text=text, contact=contact)


@app.command()
async def replan(
    process: Process,
    without: Annotated[
        list[str] | None, typer.Option(help="A person who declined: an alias (P03) or an id. May be repeated.")
    ] = None,
    proposal: Annotated[
        list[str] | None,
        typer.Option(help="A person whose proposal is included: an alias (P03) or an id. May be repeated."),
    ] = None,
    key: Key = None,
) -> None:
    """Have the plan made once more, without people who declined and with changes that others proposed.

    This is possible once. If the plan is made without a model, it cannot include proposed changes: `tongyao show` states this.
    """
    aliases = [await _aliases(process, people or []) for people in (without, proposal)]
    await _send(process, "replan", key, without=aliases[0], proposals=aliases[1])


@app.command()
async def branch(
    process: Process,
    residual: Annotated[
        str,
        typer.Argument(
            help="plan/1/residual/2, or plan/1/hole/P03 for the part of a person who declined (an alias, or the person's id)."
        ),
    ],
    no: Annotated[bool, typer.Option("--no", help="Start no process for this tension.")] = False,
    ask: Annotated[
        str,
        typer.Option(
            help="candidate/…: begin with the candidate, a person who came for a standing tension. With --no: do not begin with them."
        ),
    ] = "",
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Do not ask for confirmation if this is the last thing that the process waits for, and ends it.",
        ),
    ] = False,
    key: Key = None,
) -> None:
    """Start a process for a residual tension, also after the process has ended.

    With --no none is started. This is possible as long as the process asks about the tension. After the end nothing is asked, and no process starts by itself.
    """
    part, hole, who = residual.partition("/hole/")
    residual = f"{part}{hole}{(await _aliases(process, [who]))[0]}" if who else residual
    if not yes and await _ends_answering(process, residual):
        _ask_before(words.say("sent.last_reaction", process=process))
    await _send(process, "approve_residual", key, residual=residual, approve=not no, ask=ask)


@app.command()
async def switch(
    process: Process,
    who: Who,
    endpoint: Annotated[str, typer.Argument(help="proxy, human or agent")],
    key: Key = None,
) -> None:
    """Change what speaks for a participant.

    With `proxy` the round may close at once, and the next ones may follow without a pause.
    """
    await _send(process, "switch_endpoint", key, sender="operator", about=who, endpoint=endpoint)


@app.command()
async def extend(
    process: Process, who: Who, hours: Annotated[float, typer.Option(help="Hours to add.")] = 24, key: Key = None
) -> None:
    """Give a participant more time for the current turn."""
    await _send(process, "extend_deadline", key, sender="operator", about=who, seconds=int(hours * 3600))


@app.command()
async def leave(process: Process, who: Who, key: Key = None) -> None:
    """A participant leaves the process."""
    await _send(process, "leave", key, sender="operator", about=who)


async def _rename(process: str, hide: list[str], show: list[str], *, key: str) -> None:
    """Send the current tension with a changed list of hidden names: `hide` is added and `show` is removed."""
    from tongyao.commands.sending import deliver, stop_if_waiting
    from tongyao.protocol.identity.listed import parts_of_line
    from tongyao.protocol.model.messages import MessageBody
    from tongyao.protocol.model.process import DEMANDER

    async with open_records() as repositories:
        tension = (await repositories.record(process, own=(DEMANDER,))).own_tension
    if tension is None:
        fail(words.say("sent.no_tension_yet", process=process))
    given = {name["name"]: name for name in map(parts_of_line, hide)}
    names = [name.model_dump() for name in tension.names if name.name not in (*given, *show)]
    names += given.values()
    parts = tension.model_dump(include={"transition", "initial_state", "barriers", "exchange"})
    body = validated(MessageBody, {"kind": "revise_tension", "tension": {**parts, "names": names}})
    stop_if_waiting((await deliver(process, body, key, DEMANDER, ""))[0])


async def _row(process: str) -> ProcessRow:
    async with open_records() as repositories:
        return await repositories.processes.get(process)


async def _aliases(process: str, people: Sequence[str]) -> list[str]:
    from tongyao.commands.references import alias_in

    if not people:
        return []
    async with open_records() as repositories:
        row = await repositories.processes.get(process)
        return [await alias_in(repositories, row, person) for person in people]


async def _ends_answering(process: str, residual: str) -> bool:
    """Return whether a decision on this residual ends the answers to the plan (docs/protocol.md §7.5)."""
    async with open_records() as repositories:
        asked = await repositories.inbox.of_process(process, open_only=True)
    return any(ask.ends_answers for ask in asked if ask.subject == residual)


def _ask_before(told: str) -> None:
    """Ask for confirmation at the terminal. Without a terminal, exit with a message that names `--yes`."""
    if not sys.stdin.isatty():
        fail(f"{told} {words.say('sent.say_yes')}", EXIT_BAD_INPUT)
    if not typer.confirm(f"{told} {words.say('sent.go_on')}", err=True):
        raise typer.Exit(EXIT_BAD_INPUT)
