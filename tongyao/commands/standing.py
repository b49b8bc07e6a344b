"""`standing`: tensions of ended processes that wait in a scene for new people (docs/protocol.md §7.8)."""

from __future__ import annotations

from typing import Annotated

import typer

from tongyao.commands.context import app_context, operator, settings, validated
from tongyao.commands.options import Process
from tongyao.commands.terminal import CommandGroup, print_table, put
from tongyao.commands.words import say, tell

app = CommandGroup()
standing = CommandGroup(help="Tensions that stayed unresolved and wait in a scene until somebody comes for them.")
app.add_typer(standing, name="standing")


@standing.command("list")
async def list_standing(person: Annotated[str, typer.Argument(help="Id of the person who asked.")]) -> None:
    """List the standing tensions of a person, with the number of candidates that the person was told of."""
    from tongyao.app.action_permissions import Role
    from tongyao.app.authorization import Caller
    from tongyao.app.standing import read_standing

    async with app_context() as context:
        found = await read_standing(context, Caller(Role.PERSON, person))
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
        bool | None, typer.Option("--visible/--hidden", help="The people of the scene may read it.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, max=365, help="Days for which it waits.")] = None,
    per_week: Annotated[
        int | None,
        typer.Option(min=1, max=20, help="The largest number of candidates that its demander is told of in a week."),
    ] = None,
    close: Annotated[bool, typer.Option("--close", help="It waits no longer.")] = False,
) -> None:
    """Have a tension of an ended process wait in its scene, change how it waits, or close it."""
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
