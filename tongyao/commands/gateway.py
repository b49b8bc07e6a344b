"""`gateway`, `mcp`, `token`: serving people and agents, and their tokens."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from tongyao.commands.options import complete_person
from tongyao.commands.terminal import EXIT_BAD_INPUT, console, fail, run
from tongyao.commands.words import say

token = typer.Typer(no_args_is_help=True, help="Tokens for the API, MCP and console. A token is shown once.")


def add_to(app: typer.Typer) -> None:
    app.command()(gateway)
    app.command()(mcp)
    app.add_typer(token, name="token")


def gateway() -> None:
    """Serve the API and MCP (streamable HTTP, at /mcp) until Ctrl-C, for a service that runs already.

    It listens on TONGYAO_GATEWAY_HOST and TONGYAO_GATEWAY_PORT. `tongyao up` has one of its own. People get their tokens by
    registering (POST /profiles, or the tool `join`), operators by `tongyao token create --operator`. docs/api.md goes on.
    """
    from tongyao.commands.actions import gateway as actions

    run(actions.gateway())


def mcp() -> None:
    """Serve MCP over standard input and output; the token of calls that name none is in TY_TOKEN.

    For clients that start their servers themselves (docs/mcp.md has their configuration), beside a service that runs
    already under the same TONGYAO_HOME. Clients that speak HTTP use /mcp of `tongyao up` or `tongyao gateway`.
    """
    from tongyao.commands.actions import gateway as actions

    run(actions.mcp())


@token.command("create")
def create(
    person: Annotated[
        str | None,
        typer.Option(help="The id of a profile or a demander, or a part of it.", autocompletion=complete_person),
    ] = None,
    operator: Annotated[bool, typer.Option("--operator", help="Make a token for an operator.")] = False,
    days: Annotated[
        float | None, typer.Option(help="Days for which the token is valid. Default: until it is revoked.")
    ] = None,
    label: Annotated[str, typer.Option(help="A label that says what the token is for.")] = "",
) -> None:
    """Make a token and print it. It is not kept: only its hash is.

    It is sent as `Authorization: Bearer …`, or given to MCP clients. A person's opens what is theirs and the processes they are in.
    """
    from tongyao.app.people import tokens
    from tongyao.commands.actions import gateway as actions
    from tongyao.commands.context import validated

    if operator == (person is not None):
        fail(say("token.person_or_operator"), EXIT_BAD_INPUT)
    seconds = int(days * 24 * 3600) if days is not None else None
    role = "operator" if operator else "person"
    body = validated(tokens.IssueTokenBody, {"role": role, "person": person, "label": label, "seconds": seconds})
    typer.echo(run(actions.create(body)))


@token.command("link")
def link(
    person: Annotated[
        str | None,
        typer.Option(help="The id of a profile or a demander, or a part of it.", autocompletion=complete_person),
    ] = None,
    operator: Annotated[bool, typer.Option("--operator", help="Make a token for an operator.")] = False,
) -> None:
    """Make a personal link to the console and print it. It works once, within seven days.

    It begins with TONGYAO_PUBLIC_URL where that is set, else with the address of a gateway on this machine.
    """
    from tongyao.commands.actions import gateway as actions

    if operator == (person is not None):
        fail(say("token.person_or_operator"), EXIT_BAD_INPUT)
    typer.echo(run(actions.link(person)))


@token.command("list")
def list_tokens(person: Annotated[str | None, typer.Option(help="Only the tokens of this person.")] = None) -> None:
    """All tokens, newest first, without their secrets."""
    from tongyao.commands.actions import gateway as actions

    columns = ("id", "role", "person", "process", "state", "label")
    table = Table(*(say(f"token.{name}") for name in columns), box=None)
    for one in run(actions.list_tokens(person)):
        state = "revoked" if one.revoked_at else "expired" if one.expired else "good"
        role = say(f"token.role_{one.role}")
        table.add_row(one.id, role, one.person or "", one.process_id or "", say(f"token.{state}"), one.label)
    console.print(table)


@token.command("revoke")
def revoke(token_id: Annotated[str, typer.Argument(help="As `tongyao token list` shows it.")]) -> None:
    """From now on this token opens nothing."""
    from tongyao.app.people import tokens
    from tongyao.commands.context import OPERATOR, app_context

    async def work() -> None:
        async with app_context() as context:
            await tokens.revoke_token(context, OPERATOR, token_id)

    run(work())
    console.print(say("token.is_revoked", id=token_id))
