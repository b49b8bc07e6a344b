"""What `gateway`, `mcp`, `token` do: serving people and agents, and their tokens."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial

from tongyao.app.operators.roles import read_roles
from tongyao.app.people import tokens
from tongyao.app.people.sessions import issue_link, link_address
from tongyao.commands.context import OPERATOR, app_context, settings
from tongyao.commands.references import demander_or_profile
from tongyao.commands.terminal import console
from tongyao.commands.ways_in import gateway_address
from tongyao.commands.words import say
from tongyao.records.people.tokens import Token
from tongyao.runtime import installation
from tongyao.runtime.observability import logs

TOKEN_VARIABLE = "TY_TOKEN"


async def gateway() -> None:
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
        console.print(say("up.gateway", url=url), highlight=False)
        await context.relay.run(stop)


async def mcp() -> None:
    from tongyao.gateway.mcp.server import make_server
    from tongyao.runtime.serve import gateway_context

    async with installation.running(settings()) as joined:
        await make_server(gateway_context(joined), token=os.environ.get(TOKEN_VARIABLE, "")).run_stdio_async()


async def create(body: tokens.IssueTokenBody) -> str:
    async with app_context() as context:
        if body.person is not None:
            body = body.model_copy(update={"person": await demander_or_profile(context, body.person)})
        return (await tokens.issue_token(context, OPERATOR, body)).secret


async def link(person: str | None) -> str:
    config = settings()
    async with app_context() as context:
        issued = await issue_link(context, OPERATOR, person and await demander_or_profile(context, person))
    return link_address(gateway_address(config), issued.secret)


async def list_tokens(person: str | None) -> list[Token]:
    async with app_context() as context:
        return await tokens.list_tokens(context, OPERATOR, person=person and await demander_or_profile(context, person))
