"""`start`: a process from a raw intent, with people that are given as profiles or files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tongyao.commands.shared.terminal import run


def add_to(app: typer.Typer) -> None:
    app.command()(start)


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
    from tongyao.app.errors import BadInput
    from tongyao.commands.actions import start as actions

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
    run(actions.start(given, wait=wait, as_json=as_json))
