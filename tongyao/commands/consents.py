"""`consent`, `consents`: whether people take part in a process, and whether a proxy may speak for them in a scene. `standing`:
standing tensions."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer
from rich.text import Text

from tongyao.commands.context import app_context, open_records, operator, settings, validated
from tongyao.commands.options import Key, Process, complete_person
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, console, fail, print_table, put
from tongyao.commands.words import language, say, tell

app = CommandGroup()


@app.command()
async def consent(
    process: Process,
    person: Annotated[
        str,
        typer.Option("--as", help="Id of the profile that is asked, or a part of it.", autocompletion=complete_person),
    ],
    allow: Annotated[
        bool | None,
        typer.Option(
            "--allow/--refuse",
            help="Whether the person takes part in this process. Without this option the question is shown.",
        ),
    ] = None,
    endpoint: Annotated[
        str, typer.Option(help="With --allow: proxy, human or agent. Unless it is proxy, no proxy speaks for them.")
    ] = "proxy",
    key: Key = None,
) -> None:
    """Answer whether a person takes part in a process, and whether a proxy may speak for them. No answer means no."""
    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller
    from tongyao.app.messaging.messages import send_message
    from tongyao.app.people.acting import tell_spoken_for
    from tongyao.commands.next_steps import next_step
    from tongyao.commands.references import find_person
    from tongyao.commands.sending import report
    from tongyao.protocol.model.messages import MessageBody

    if allow is None:
        await _show_question(process, person)
        return
    body = validated(MessageBody, {"kind": "consent", "allow": allow, "endpoint": endpoint})
    async with app_context() as context:
        asked, key = await find_person(context.repositories, person), key or uuid.uuid4().hex
        receipt = await send_message(context, Caller(Role.PERSON, asked), process, body, key=key, via="cli")
        await tell_spoken_for(context, operator(), asked, body.kind, process_id=process)
        report(receipt, await next_step(context.repositories, process))


@app.command()
async def consents(
    person: Annotated[str, typer.Argument(help="Id of the profile, a part of it, or its file.")],
    scene: Annotated[str | None, typer.Option(help="The scene to decide for.")] = None,
    decision: Annotated[
        str | None,
        typer.Option(
            "--set",
            help="ask: the person is asked each time; allow: a proxy may always speak; never: no proxy may speak.",
        ),
    ] = None,
) -> None:
    """Show for each scene whether a proxy may speak for a person, or decide it for one scene."""
    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller
    from tongyao.app.people.consents import SceneConsentBody, read_consents, set_consent
    from tongyao.commands.references import find_person

    if (scene is None) != (decision is None):
        fail(say("sent.scene_and_set"), EXIT_BAD_INPUT)
    async with app_context() as context:
        person = await find_person(context.repositories, person)
        caller = Caller(Role.PERSON, person)
        if scene is not None:
            body = validated(SceneConsentBody, {"consent": decision})
            found = [await set_consent(context, caller, person, scene, body)]
        else:
            found = await read_consents(context, caller, person)
    print_table(
        [say("sent.scene"), say("sent.consent"), ""],
        [
            (view.scene, view.consent.value, "" if view.own else say("sent.by_default", origin=view.origin.value))
            for view in found
        ],
    )


async def _show_question(process: str, person: str) -> None:
    """Print an invitation: who asks, the tension, the use of the person's data, and the commands that answer."""
    from tongyao.app.people.consents import question_of
    from tongyao.commands.next_steps import commands_for
    from tongyao.commands.process_view import markdown
    from tongyao.commands.references import find_person
    from tongyao.protocol.documents.markdown import tension_markdown

    async with open_records() as repositories:
        asked = await find_person(repositories, person)
        row = await repositories.inbox.invitation(process, asked)
        question = await question_of(repositories, row) if row is not None else None
        if row is None or question is None:
            fail(say("sent.not_invited", person=asked, process=process), EXIT_BAD_INPUT)
        zh = language() == "zh"
        for paragraph in (question.invitation_zh if zh else question.invitation_en).paragraphs:
            console.print(Text(f"{paragraph}\n"))
        if question.tension is not None:
            console.print(markdown(tension_markdown(question.tension, language())))
        console.print(Text(question.discloses_zh if zh else question.discloses_en))
        for command in await commands_for(repositories, row):
            console.print(Text(f"  {command}"))


standing = CommandGroup(help="Tensions that stayed unresolved and wait in a scene until somebody comes for them.")
app.add_typer(standing, name="standing")


@standing.command("list")
async def list_standing(person: Annotated[str, typer.Argument(help="Id of the person who asked.")]) -> None:
    """List the standing tensions of a person, with the number of candidates that the person was told of."""
    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller
    from tongyao.app.standing import read_standing
    from tongyao.commands.references import find_person

    async with app_context() as context:
        whose = await find_person(context.repositories, person)
        found = await read_standing(context, Caller(Role.PERSON, whose))
    rows = [
        (one.process_id, one.residual, one.scene, f"{one.until:%Y-%m-%d}", str(one.found), one.child or "")
        for one in found.own
    ]
    print_table(
        [say(f"standing_tensions.{name}") for name in ("process", "residual", "scene", "until", "found", "child")], rows
    )


@standing.command()
async def keep(
    process: Process,
    residual: Annotated[
        str, typer.Argument(help="plan/1/residual/2; or `tension`, the tension of the process itself.")
    ] = "tension",
    visible: Annotated[
        bool | None, typer.Option("--visible/--hidden", help="Let the people of the scene read the tension.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, max=365, help="Days for which the tension waits.")] = None,
    per_week: Annotated[
        int | None,
        typer.Option(min=1, max=20, help="The largest number of candidates that its demander is told of in a week."),
    ] = None,
    close: Annotated[bool, typer.Option("--close", help="End the waiting.")] = False,
) -> None:
    """Let a tension of an ended process wait in its scene. Also changes how it waits, or ends the waiting."""
    from tongyao.app.standing import KeepLookingBody, keep_looking

    given = {"residual": residual, "looking": not close, "visible": visible, "days": days, "per_week": per_week}
    async with app_context() as context:
        await keep_looking(context, operator(), process, validated(KeepLookingBody, given))
    tell("standing_tensions.closed" if close else "standing_tensions.waits")


@standing.command()
async def look() -> None:
    """Compare all new people with the standing tensions now. The schedule `standing` does this every minute."""
    from dataclasses import replace

    from tongyao.app.standing_look import look as look_now
    from tongyao.runtime import wiring

    async with app_context() as context:
        searching = replace(context, people_search=wiring.intent_field(settings(), context.repositories))
        put(say("standing_tensions.looked", **await look_now(searching)))
