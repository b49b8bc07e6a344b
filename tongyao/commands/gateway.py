"""`gateway`, `mcp`, `token`: serving people and agents, and their tokens."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from typing import Annotated

import typer
from rich.table import Table

from tongyao.app.context import AppContext
from tongyao.app.operators.roles import read_roles
from tongyao.app.people import tokens
from tongyao.app.people.sessions import issue_link, link_address
from tongyao.commands.shared.common import OPERATOR, app_context, settings, validated
from tongyao.commands.shared.terminal import EXIT_BAD_INPUT, console, fail, run
from tongyao.commands.shared.options import complete_person
from tongyao.commands.shared.references import find_person
from tongyao.commands.shared.ways_in import gateway_address
from tongyao.records.people.tokens import Token
from tongyao.runtime import installation
from tongyao.runtime.observability import logs

TOKEN_VARIABLE = "TY_TOKEN"

token = typer.Typer(no_args_is_help=True, help="Tokens: keys to the gateway, each shown once.")


def add_to(app: typer.Typer) -> None:
    app.command()(gateway)
    app.command()(mcp)
    app.add_typer(token, name="token")


def gateway() -> None:
    """Serve the API and MCP (streamable HTTP, at /mcp) until Ctrl-C, for a service that runs already.

    It listens on TONGYAO_GATEWAY_HOST and TONGYAO_GATEWAY_PORT. `tongyao up` has one of its own. People get their tokens by
    registering (POST /profiles, or the tool `join`), operators by `tongyao token create --operator`. docs/api.md goes on.
    """
    run(_gateway())


async def _gateway() -> None:
    from tongyao.runtime.observability.telemetry import Telemetry, records_answer
    from tongyao.runtime.serve import gateway_running  # imports the web server: a second that other commands save

    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    config = settings()
    logs.configure(config)
    telemetry = Telemetry(config, service="gateway")
    async with (
        telemetry.served(),
        installation.running(config, runtime=telemetry.runtime) as joined,
        gateway_running(joined, stop) as url,
    ):
        context = joined.context
        telemetry.records = context.repositories.pool
        telemetry.roles = partial(read_roles, context.client)
        telemetry.checks = {
            "records": records_answer(context.repositories.pool),
            "temporal": context.client.service_client.check_health,
        }
        console.print(f"API and MCP: {url} (documents: {url}/docs, MCP: {url}/mcp)", highlight=False)
        await context.relay.run(stop)


def mcp() -> None:
    """Serve MCP over standard input and output; the token of calls that name none is in TY_TOKEN.

    For clients that start their servers themselves (docs/mcp.md has their configuration), beside a service that runs
    already under the same TONGYAO_HOME. Clients that speak HTTP use /mcp of `tongyao up` or `tongyao gateway`.
    """
    run(_mcp())


async def _mcp() -> None:
    from tongyao.gateway.mcp.server import make_server
    from tongyao.runtime.serve import gateway_context

    async with installation.running(settings()) as joined:
        await make_server(gateway_context(joined), token=os.environ.get(TOKEN_VARIABLE, "")).run_stdio_async()


@token.command("create")
def create(
    person: Annotated[
        str | None,
        typer.Option(help="Whose: the id of a profile or a demander, or a part of it.", autocompletion=complete_person),
    ] = None,
    operator: Annotated[bool, typer.Option("--operator", help="For an operator instead.")] = False,
    days: Annotated[float | None, typer.Option(help="Good for so many days; left out: until revoked.")] = None,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Make a token and print it. It is not kept: only its hash is.

    It is sent as `Authorization: Bearer …`, or given to MCP clients. A person's opens what is theirs and the processes they are in.
    """
    if operator == (person is not None):
        fail("say --person ID or --operator", EXIT_BAD_INPUT)
    seconds = int(days * 24 * 3600) if days is not None else None
    role = "operator" if operator else "person"
    body = validated(tokens.IssueTokenBody, {"role": role, "person": person, "label": label, "seconds": seconds})
    typer.echo(run(_create(body)))


async def _create(body: tokens.IssueTokenBody) -> str:
    async with app_context() as context:
        if body.person is not None:
            body = body.model_copy(update={"person": await _known(context, body.person)})
        return (await tokens.issue_token(context, OPERATOR, body)).secret


async def _known(context: AppContext, person: str) -> str:
    """The id of a demander without a profile, else that of the profile `person` means. Raises `BadInput`, `NotFound`."""
    if (await context.repositories.processes.list(demander=person, limit=1)).rows:
        return person
    return await find_person(context, person)


@token.command("link")
def link(
    person: Annotated[
        str | None,
        typer.Option(help="Whose: the id of a profile or a demander, or a part of it.", autocompletion=complete_person),
    ] = None,
    operator: Annotated[bool, typer.Option("--operator", help="For an operator instead.")] = False,
) -> None:
    """Make a personal link to the console and print it. It works once, within seven days.

    It begins with TONGYAO_PUBLIC_URL where that is set, else with the address of a gateway on this machine.
    """
    if operator == (person is not None):
        fail("say --person ID or --operator", EXIT_BAD_INPUT)
    typer.echo(run(_link(person)))


async def _link(person: str | None) -> str:
    config = settings()
    async with app_context() as context:
        issued = await issue_link(context, OPERATOR, person and await _known(context, person))
    return link_address(gateway_address(config), issued.secret)


@token.command("list")
def list_tokens(person: Annotated[str | None, typer.Option(help="Only theirs.")] = None) -> None:
    """All tokens, newest first, without their secrets."""

    async def found() -> list[Token]:
        async with app_context() as context:
            return await tokens.list_tokens(context, OPERATOR, person=person)

    table = Table("id", "role", "person", "process", "state", "label", box=None)
    for one in run(found()):
        state = "revoked" if one.revoked_at else "expired" if one.expired else "good"
        table.add_row(one.id, one.role, one.person or "", one.process_id or "", state, one.label)
    console.print(table)


@token.command("revoke")
def revoke(token_id: Annotated[str, typer.Argument(help="As `tongyao token list` shows it.")]) -> None:
    """From now on this token opens nothing."""

    async def work() -> None:
        async with app_context() as context:
            await tokens.revoke_token(context, OPERATOR, token_id)

    run(work())
    console.print(f"{token_id} is revoked")
