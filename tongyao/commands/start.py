"""`start`, `suggest`: a process from a raw intent, with people that are given as profiles or files, and help to find an intent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tongyao.commands.shared.terminal import run
from tongyao.commands.shared.words import say


def add_to(app: typer.Typer) -> None:
    app.command()(start)
    app.command()(suggest)


def suggest(person: Annotated[str, typer.Argument(help="The person: a profile id.")]) -> None:
    """Read a profile and suggest, as questions, what its person could ask for. Needs a model; without one, shows sample intents."""
    from tongyao.commands.actions import start as actions

    run(actions.suggest(person))


def start(
    intent: Annotated[str, typer.Option(help="The request: a text, or @FILE.")],
    demander: Annotated[str | None, typer.Option(help="The person who asks: a profile id, or a profile FILE.")] = None,
    participant: Annotated[
        list[str] | None,
        typer.Option(help="A participant: a profile id or FILE. May be repeated. Without it the scene is searched."),
    ] = None,
    human: Annotated[
        list[str] | None, typer.Option(help="Like --participant, for a person who speaks for themselves.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Like --participant, for a person whose own agent speaks.")
    ] = None,
    scene: Annotated[str, typer.Option(help="The scene to search for participants.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the tension at once, even if its grade is C.")] = False,
    auto_start: Annotated[
        bool, typer.Option("--auto-start", help="Start with the people who were found, without asking.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="A setting of the process, NAME=VALUE (docs/protocol.md §10). May be repeated."),
    ] = None,
    strategy: Annotated[str, typer.Option(help="What the catalyst should attend to.")] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the process to its end. Starts a service for that time if none runs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Start a process from a raw intent."""
    from tongyao.app.errors import BadInput
    from tongyao.commands.actions import start as actions

    changes: dict[str, Any] = {"auto_confirm": yes, "auto_start": auto_start}
    for one in setting or []:
        name, equals, value = one.partition("=")
        if not equals:
            raise BadInput("setting", say("file.no_value", given=repr(one)), field="setting")
        changes[name.strip()] = value.strip()
    named = [
        {"profile_id": one, "endpoint": endpoint}
        for endpoint, given in (("proxy", participant), ("human", human), ("agent", agent))
        for one in given or []
    ]
    given = {"intent": intent, "demander": demander, "participants": named, "scene": scene or None,
             "settings": changes, "strategy": strategy}  # fmt: skip
    run(actions.start(given, wait=wait, as_json=as_json))
