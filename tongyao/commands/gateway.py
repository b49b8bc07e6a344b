"""`gateway`, `mcp`, `token`: serve people and agents, and manage their tokens and links."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tongyao.commands.context import app_context, operator, settings, validated
from tongyao.commands.options import complete_person
from tongyao.commands.terminal import EXIT_BAD_INPUT, CommandGroup, fail, print_table
from tongyao.commands.words import say, tell

if TYPE_CHECKING:
    from tongyao.app.context import AppContext
    from tongyao.runtime.settings import Settings

TOKEN_VARIABLE: Final = "TY_TOKEN"
Person = Annotated[
    str | None, typer.Option(help="The id of a profile or a demander, or a part of it.", autocompletion=complete_person)
]
ForOperator = Annotated[bool, typer.Option("--operator", help="Make a token for an operator.")]

app = CommandGroup()
token = CommandGroup(no_args_is_help=True, help="Tokens for the API, MCP and console. A token is shown once.")


@app.command()
async def gateway() -> None:
    """Serve the API and MCP (streamable HTTP, at /mcp) until Ctrl-C, for a service that runs already.

    It listens on TONGYAO_GATEWAY_HOST and TONGYAO_GATEWAY_PORT. `tongyao up` has one of its own. People get their tokens by
    registering (POST /profiles, or the tool `join`), operators by `tongyao token create --operator`. docs/api.md has more.
    """
    from tongyao.app.operators.task_queues import read_roles
    from tongyao.runtime import installation
    from tongyao.runtime.observability import logs
    from tongyao.runtime.observability.telemetry import Telemetry, records_answer
    from tongyao.runtime.serve import gateway_running

    stop = stop_signals()
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
        tell("up.gateway", url=url)
        await context.relay.run(stop)


@app.command()
async def mcp() -> None:
    """Serve MCP over standard input and output. Calls without a token use the one in TY_TOKEN.

    For clients that start their servers themselves. docs/mcp.md has their configuration. The service must already run
    under the same TONGYAO_HOME. Clients that speak HTTP use /mcp of `tongyao up` or `tongyao gateway`.
    """
    from tongyao.gateway.mcp.server import make_server
    from tongyao.runtime import installation
    from tongyao.runtime.serve import gateway_context

    async with installation.running(settings()) as joined:
        await make_server(gateway_context(joined), token=os.environ.get(TOKEN_VARIABLE, "")).run_stdio_async()


@token.command("create")
async def create(
    person: Person = None,
    for_operator: ForOperator = False,
    days: Annotated[
        float | None, typer.Option(help="Days for which the token is valid. Default: until it is revoked.")
    ] = None,
    label: Annotated[str, typer.Option(help="A label that says what the token is for.")] = "",
) -> None:
    """Make a token and print it. Only its hash is stored.

    It is sent as `Authorization: Bearer …`, or given to MCP clients. A person's token opens their own data and the processes they are in.
    """
    from tongyao.app.people import tokens
    from tongyao.commands.references import demander_or_profile

    if for_operator == (person is not None):
        fail(say("token.person_or_operator"), EXIT_BAD_INPUT)
    seconds = int(days * 24 * 3600) if days is not None else None
    role = "operator" if for_operator else "person"
    body = validated(tokens.IssueTokenBody, {"role": role, "person": person, "label": label, "seconds": seconds})
    async with app_context() as context:
        if person is not None:
            body = body.model_copy(update={"person": await demander_or_profile(context.repositories, person)})
        typer.echo((await tokens.issue_token(context, operator(), body)).secret)


@token.command("link")
async def link(person: Person = None, for_operator: ForOperator = False) -> None:
    """Make a personal link to the console and print it. It works once, within seven days.

    It begins with TONGYAO_PUBLIC_URL if that is set, otherwise with the address of a gateway on this machine.
    """
    from tongyao.commands.references import demander_or_profile

    if for_operator == (person is not None):
        fail(say("token.person_or_operator"), EXIT_BAD_INPUT)
    async with app_context() as context:
        typer.echo(
            await link_of(context, settings(), person and await demander_or_profile(context.repositories, person))
        )


@token.command("list")
async def list_tokens(
    person: Annotated[str | None, typer.Option(help="Only the tokens of this person.")] = None,
) -> None:
    """All tokens, newest first, without their secrets."""
    from tongyao.app.people import tokens
    from tongyao.commands.references import demander_or_profile

    async with app_context() as context:
        person = person and await demander_or_profile(context.repositories, person)
        found = await tokens.list_tokens(context, operator(), person=person)
    rows = []
    for row in found:
        state = "revoked" if row.revoked_at else "expired" if row.expired else "good"
        role = say(f"token.role_{row.role}")
        rows.append((row.id, role, row.person or "", row.process_id or "", say(f"token.{state}"), row.label))
    print_table([say(f"token.{name}") for name in ("id", "role", "person", "process", "state", "label")], rows)


@token.command("revoke")
async def revoke(token_id: Annotated[str, typer.Argument(help="The id that `tongyao token list` shows.")]) -> None:
    """Revoke a token."""
    from tongyao.app.people import tokens

    async with app_context() as context:
        await tokens.revoke_token(context, operator(), token_id)
    tell("token.is_revoked", id=token_id)


def stop_signals() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    return stop


async def link_of(context: AppContext, config: Settings, person: str | None) -> str:
    """Return a new personal link to the console, for an operator if `person` is None."""
    from tongyao.app.people.sessions import issue_link, link_address

    return link_address(gateway_address(config), (await issue_link(context, operator(), person)).secret)


def gateway_address(config: Settings) -> str:
    """Return the address of the gateway for people: the public address if it is set, otherwise one of this machine.

    The running gateway writes its address into a file of the home. The file is used unless a port is set for this
    command. If the set port is 0 (any free port) and there is no file, the address contains the word PORT.
    """
    from tongyao.runtime.local.addresses import GATEWAY_FILE

    if config.public_url:
        return config.public_url
    if config.gateway_port == 0 or "gateway_port" not in config.model_fields_set:
        with suppress(OSError):
            return (config.home / GATEWAY_FILE).read_text(encoding="utf-8")
    return f"http://{config.gateway_host}:{config.gateway_port or 'PORT'}"


app.add_typer(token, name="token")
