"""`confirm`, `say`, `answer` and the like: messages to a process, for its demander, a participant, or an operator."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer
from rich.table import Table

from tongyao.commands.shared.options import Process, Who, complete_person, complete_process, find_process
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, console, fail, run

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
    from tongyao.commands.actions import messages as actions

    if hide or show:
        actions.report(*run(actions.renamed(process, hide or [], show or [])))
    actions.send(process, "confirm_tension", key)


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
    from tongyao.commands.actions import messages as actions
    from tongyao.commands.shared.tension_editing import edited, revised, tension_as_text, tension_of_text

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
    actions.send(process, "revise_tension", key, tension=whole)


def select(
    process: Process,
    participant: Annotated[list[str], typer.Option(help="A profile id; repeat it.")],
    key: Key = None,
) -> None:
    """Choose who takes part, and start the rounds."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "select_participants", key, participants=participant)


def decide(
    process: Process,
    decision: Annotated[str, typer.Argument(help="accept_as_is, extend, raise_budget, add_participants or abandon")],
    participant: Annotated[list[str] | None, typer.Option(help="With add_participants: a profile id.")] = None,
    tokens: Annotated[int | None, typer.Option(help="With raise_budget: the new limit.")] = None,
    cost: Annotated[str | None, typer.Option(help="With raise_budget: the new limit in US dollars.")] = None,
    key: Key = None,
) -> None:
    """Decide how a process goes on that has come to a limit."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "decide", key, decision=decision, participants=participant or [], tokens=tokens, cost=cost)


def conclude(process: Process, key: Key = None) -> None:
    """End the rounds after the present one, and plan."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "conclude", key)


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
    from tongyao.commands.actions import messages as actions

    if bool(process) == every:
        fail("name one process, or say --all", EXIT_BAD_INPUT)
    if not every:
        actions.send(process, "resume", key, sender=actions.OPERATORS)
        return
    resumed = run(actions.resume_suspended(reason, scene, dry_run, key or uuid.uuid4().hex))
    for one in resumed:
        console.print(f"{one.process_id}  {', '.join(one.suspended)}  {one.result}", highlight=False)
    console.print(
        f"{len(resumed)} suspended processes" + (" (nothing was changed)" if dry_run else ""), highlight=False
    )


def cancel(
    process: Process, branch: Annotated[bool, typer.Option(help="With everything below it.")] = False, key: Key = None
) -> None:
    """Cancel a process. What was said stays in the records."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "cancel", key, branch=branch)


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
    from tongyao.commands.actions import messages as actions

    if round_number is None:
        round_number = run(actions.present(process)).round
    actions.send(process, "submit_projection", key, sender=who, round=round_number, text=text, nothing_new=nothing_new)


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
    from tongyao.commands.actions import messages as actions

    if revision is None:
        revision = run(actions.latest_revision(process))
    actions.send(process, "answer_plan", key, sender=who, answer=decision, revision=revision, text=text)


def replan(
    process: Process,
    without: Annotated[list[str] | None, typer.Option(help="Who declined, as P03 or by their id; repeat it.")] = None,
    proposal: Annotated[
        list[str] | None, typer.Option(help="Whose proposal to take up, as P03 or by their id; repeat it.")
    ] = None,
    key: Key = None,
) -> None:
    """Have the plan made once more: without people who declined, with what others proposed."""
    from tongyao.commands.actions import messages as actions

    aliases = run(actions.aliases(process, [without or [], proposal or []]))
    actions.send(process, "replan", key, without=aliases[0], proposals=aliases[1])


def branch(
    process: Process,
    residual: Annotated[str, typer.Argument(help="plan/1/residual/2, or plan/1/hole/P03: of who declined.")],
    no: Annotated[bool, typer.Option("--no", help="It does not go back to the field.")] = False,
    key: Key = None,
) -> None:
    """Say whether a residual tension goes back to the field, in a process of its own; also after the process has ended."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "approve_residual", key, residual=residual, approve=not no)


def switch(
    process: Process,
    who: Who,
    endpoint: Annotated[str, typer.Argument(help="proxy, human or agent")],
    key: Key = None,
) -> None:
    """Change what speaks for a participant."""
    from tongyao.commands.actions import messages as actions

    actions.send(process, "switch_endpoint", key, sender=actions.OPERATORS, about=who, endpoint=endpoint)


def extend(
    process: Process, who: Who, hours: Annotated[float, typer.Option(help="So much longer.")] = 24, key: Key = None
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
    allow: Annotated[bool, typer.Option("--allow/--refuse", help="Whether a proxy may speak for them here.")],
    key: Key = None,
) -> None:
    """Answer whether a proxy may speak for somebody in a process. No answer is no."""
    from tongyao.app.messaging.wire import MessageBody
    from tongyao.commands.actions import messages as actions
    from tongyao.commands.shared.common import validated

    body = validated(MessageBody, {"kind": "consent", "allow": allow})
    actions.report(*run(actions.answer(process, body, key or uuid.uuid4().hex, person)))


def consents(
    person: Annotated[str, typer.Argument(help="Id of the profile.")],
    scene: Annotated[str | None, typer.Option(help="The scene to decide for.")] = None,
    decision: Annotated[str | None, typer.Option("--set", help="ask: each time; allow: in this scene; never.")] = None,
) -> None:
    """Show where a proxy may speak for somebody, or decide it for a scene."""
    from tongyao.commands.actions import messages as actions

    if (scene is None) != (decision is None):
        fail("to decide, say both --scene and --set", EXIT_BAD_INPUT)
    table = Table("scene", "consent", "", box=None)
    for one in run(actions.consents(person, scene, decision)):
        table.add_row(one.scene, one.consent.value, "" if one.own else f"by default ({one.origin.value})")
    console.print(table)
