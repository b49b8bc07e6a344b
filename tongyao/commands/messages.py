"""`confirm`, `say`, `answer` and the like: messages to a process, for its demander, a participant, or an operator."""

from __future__ import annotations

import sys
import uuid
from typing import Annotated

import typer
from rich.table import Table

from tongyao.commands import words
from tongyao.commands.options import PERSON, Process, Who, complete_person, complete_process, find_process
from tongyao.commands.terminal import EXIT_BAD_INPUT, console, fail, run

Key = Annotated[str | None, typer.Option(help="Idempotency key: a message with the same key is applied once.")]


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
        list[str] | None,
        typer.Option(
            help="A name to hide, in addition to those found; `NAME (firm)` for a firm. Others read a mark instead. May be repeated."
        ),
    ] = None,
    show: Annotated[
        list[str] | None, typer.Option(help="A name in the list that others may read. May be repeated.")
    ] = None,
    key: Key = None,
) -> None:
    """Confirm the tension as it stands. `tongyao show` lists the names in it that others will not read."""
    from tongyao.commands.actions import messages as actions

    if hide or show:
        actions.stop_if_waiting(run(actions.renamed(process, hide or [], show or []))[0])
    actions.send(process, "confirm_tension", key)


def revise(
    process: Process,
    transition: Annotated[str | None, typer.Option(help="T: the change that is wanted, in general words.")] = None,
    initial_state: Annotated[str | None, typer.Option(help="I: your situation, as facts.")] = None,
    barrier: Annotated[
        list[str] | None, typer.Option(help="B: a barrier, what stands in the way. May be repeated.")
    ] = None,
    exchange: Annotated[str | None, typer.Option(help="E: what you can give.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the whole tension in your editor ($EDITOR).")] = False,
    key: Key = None,
) -> None:
    """Change the tension before it is confirmed. Parts that you do not name stay as they are; "" empties a part.

    Barriers are replaced together: name all of them. Afterwards the whole time to confirm runs again.
    """
    from tongyao.commands.actions import messages as actions
    from tongyao.commands.tension_editing import edited, revised, tension_as_text, tension_of_text

    tension = {"transition": transition, "initial_state": initial_state, "barriers": barrier, "exchange": exchange}
    changes = {name: part for name, part in tension.items() if part is not None}
    if not changes and not edit:
        fail(words.say("sent.no_change_named"), EXIT_BAD_INPUT)
    whole = run(revised(process, changes))
    if edit:
        shown = tension_as_text(whole)
        written = edited(shown)
        if written == shown:
            fail(words.say("sent.nothing_edited"), EXIT_BAD_INPUT)
        whole = tension_of_text(written)
    actions.send(process, "revise_tension", key, tension=whole)


def select(
    process: Process,
    participant: Annotated[
        list[str] | None, typer.Option(help=f"{PERSON} May be repeated.", autocompletion=complete_person)
    ] = None,
    human: Annotated[
        list[str] | None,
        typer.Option(
            help="Like --participant, for a person who speaks for themselves.", autocompletion=complete_person
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Like --participant, for a person whose own agent speaks.", autocompletion=complete_person),
    ] = None,
    key: Key = None,
) -> None:
    """Choose who takes part, and start the rounds. For a --participant a proxy speaks, which cannot commit to anything.

    In a process that `branch` started, whoever spoke for themselves in the process before does so again. `switch` changes that.
    """
    from tongyao.commands.actions import messages as actions
    from tongyao.commands.references import find_people

    chosen = [
        {"profile_id": one} | ({"endpoint": endpoint} if endpoint else {})
        for endpoint, given in (("", participant), ("human", human), ("agent", agent))
        for one in run(find_people(given or []))
    ]
    actions.send(process, "select_participants", key, participants=chosen)


def decide(
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
    from tongyao.commands.actions import messages as actions
    from tongyao.commands.references import find_people

    people = run(find_people(participant)) if participant else []
    actions.send(process, "decide", key, decision=decision, participants=people, tokens=tokens, cost=cost)


def conclude(
    process: Process,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask where people are still asked about the plan.")] = False,
    key: Key = None,
) -> None:
    """End the rounds after the current one, and make the plan. After the plan, end the waiting for answers."""
    from tongyao.commands.actions import messages as actions

    if not yes and run(actions.present(process)).phase == "answering":
        _ask_before(words.say("sent.ends_answers"))
    actions.send(process, "conclude", key)


def resume(
    process: Annotated[
        str,
        typer.Argument(
            help="Id of the process, or the beginning of the id. Leave it out with --all.",
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
    from tongyao.commands.actions import messages as actions

    if bool(process) == every:
        fail(words.say("sent.one_or_all"), EXIT_BAD_INPUT)
    if not every:
        actions.send(process, "resume", key, sender=actions.OPERATORS)
        return
    resumed = run(actions.resume_suspended(reason, scene, dry_run, key or uuid.uuid4().hex))
    for one in resumed:
        console.print(f"{one.process_id}  {', '.join(one.suspended)}  {one.result}", highlight=False)
    console.print(words.say("sent.resumed_none" if dry_run else "sent.resumed", n=len(resumed)), highlight=False)


def cancel(
    process: Process,
    branch: Annotated[bool, typer.Option(help="Also cancel all child processes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be cancelled.")] = False,
    key: Key = None,
) -> None:
    """Cancel a process. Everything that was said stays in the records."""
    from tongyao.commands.actions import messages as actions

    if dry_run:
        for line in run(actions.would_cancel(process, branch)):
            console.print(line, highlight=False)
        console.print(words.say("sent.nothing_changed"))
        return
    actions.send(process, "cancel", key, branch=branch)


def say(
    process: Process,
    who: Who,
    round_number: Annotated[
        int | None, typer.Option("--round", help="The round to answer. Default: the current one.")
    ] = None,
    text: Annotated[str, typer.Option(help="The text to say.")] = "",
    nothing_new: Annotated[bool, typer.Option(help="Say that there is nothing new.")] = False,
    key: Key = None,
) -> None:
    """Answer a turn that waits for a person."""
    from tongyao.commands.actions import messages as actions

    if round_number is None:
        row = run(actions.present(process))
        if row.round < 1:
            fail(
                words.say("wrong.no_round_yet", process=process, phase=words.say(f"phase.{row.phase}")), EXIT_BAD_INPUT
            )
        round_number = row.round
    actions.send(process, "submit_projection", key, sender=who, round=round_number, text=text, nothing_new=nothing_new)


def answer(
    process: Process,
    who: Who,
    decision: Annotated[str, typer.Argument(help="commit, decline or propose")],
    revision: Annotated[
        int | None, typer.Option(help="The revision of the plan to answer. Default: the latest.")
    ] = None,
    text: Annotated[str, typer.Option(help="The text of the answer: what you propose, or why you decline.")] = "",
    contact: Annotated[
        str, typer.Option(help="With commit: how the demander and those who commit too reach you. Only they read it.")
    ] = "",
    key: Key = None,
) -> None:
    """Answer a plan for a participant."""
    from tongyao.commands.actions import messages as actions

    if revision is None:
        revision = run(actions.latest_revision(process))
    actions.send(
        process, "answer_plan", key, sender=who, answer=decision, revision=revision, text=text, contact=contact
    )


def replan(
    process: Process,
    without: Annotated[
        list[str] | None, typer.Option(help="A person who declined: an alias (P03) or an id. May be repeated.")
    ] = None,
    proposal: Annotated[
        list[str] | None,
        typer.Option(help="A person whose proposal to include: an alias (P03) or an id. May be repeated."),
    ] = None,
    key: Key = None,
) -> None:
    """Have the plan made once more, without people who declined and with changes that others proposed.

    This is possible once. The engine without a model cannot work in what was proposed: `tongyao show` says so.
    """
    from tongyao.commands.actions import messages as actions

    aliases = run(actions.aliases(process, [without or [], proposal or []]))
    actions.send(process, "replan", key, without=aliases[0], proposals=aliases[1])


def branch(
    process: Process,
    residual: Annotated[
        str,
        typer.Argument(
            help="plan/1/residual/2, or plan/1/hole/P03 for the part of a person who declined (P03, or who sits there)."
        ),
    ],
    no: Annotated[bool, typer.Option("--no", help="Start no process for it.")] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Do not ask where this is the last thing that is waited for, and ends the process."),
    ] = False,
    key: Key = None,
) -> None:
    """Start a process for a residual tension, also after the process has ended.

    --no refuses it while the process asks about it. After the end nothing is asked, and no process starts by itself.
    """
    from tongyao.commands.actions import messages as actions

    residual = run(actions.residual_in(process, residual))
    if not yes and run(actions.ends_answering(process, residual)):
        _ask_before(words.say("sent.last_reaction", process=process))
    actions.send(process, "approve_residual", key, residual=residual, approve=not no)


def switch(
    process: Process,
    who: Who,
    endpoint: Annotated[str, typer.Argument(help="proxy, human or agent")],
    key: Key = None,
) -> None:
    """Change what speaks for a participant.

    With `proxy` the round may close at once, and the next ones may follow without a pause.
    """
    from tongyao.commands.actions import messages as actions

    actions.send(process, "switch_endpoint", key, sender=actions.OPERATORS, about=who, endpoint=endpoint)


def extend(
    process: Process, who: Who, hours: Annotated[float, typer.Option(help="Hours to add.")] = 24, key: Key = None
) -> None:
    """Give a participant more time for the present turn."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "extend_deadline", key, sender=actions.OPERATORS, about=who, seconds=int(hours * 3600))


def leave(process: Process, who: Who, key: Key = None) -> None:
    """A participant leaves the process."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "leave", key, sender=actions.OPERATORS, about=who)


def consent(
    process: Process,
    person: Annotated[
        str,
        typer.Option("--as", help="Id of the profile that is asked, or a part of it.", autocompletion=complete_person),
    ],
    allow: Annotated[
        bool | None,
        typer.Option(
            "--allow/--refuse", help="Whether they take part in this process. Without it the question is shown."
        ),
    ] = None,
    endpoint: Annotated[
        str, typer.Option(help="With --allow: proxy, human or agent. Unless it is proxy, no proxy speaks for them.")
    ] = "proxy",
    key: Key = None,
) -> None:
    """Answer whether a person takes part in a process, and whether a proxy may speak for them. No answer means no."""
    from tongyao.app.messaging.wire import MessageBody
    from tongyao.commands.actions import messages as actions
    from tongyao.commands.context import validated

    if allow is None:
        run(actions.show_question(process, person))
        return
    body = validated(MessageBody, {"kind": "consent", "allow": allow, "endpoint": endpoint})
    actions.report(*run(actions.answer(process, body, key or uuid.uuid4().hex, person)))


def consents(
    person: Annotated[str, typer.Argument(help="Id of the profile, a part of it, or its file.")],
    scene: Annotated[str | None, typer.Option(help="The scene to decide for.")] = None,
    decision: Annotated[
        str | None, typer.Option("--set", help="ask: in each process; allow: in every process of the scene; never.")
    ] = None,
) -> None:
    """Show for each scene whether a proxy may speak for a person, or decide it for one scene."""
    from tongyao.commands.actions import messages as actions

    if (scene is None) != (decision is None):
        fail(words.say("sent.scene_and_set"), EXIT_BAD_INPUT)
    table = Table(words.say("sent.scene"), words.say("sent.consent"), "", box=None)
    for one in run(actions.consents(person, scene, decision)):
        table.add_row(
            one.scene, one.consent.value, "" if one.own else words.say("sent.by_default", origin=one.origin.value)
        )
    console.print(table)


def _ask_before(told: str) -> None:
    """Ask at the terminal whether to go on; where there is none, refuse and name `--yes`."""
    if not sys.stdin.isatty():
        fail(f"{told} {words.say('sent.say_yes')}", EXIT_BAD_INPUT)
    if not typer.confirm(f"{told} {words.say('sent.go_on')}", err=True):
        raise typer.Exit(EXIT_BAD_INPUT)
