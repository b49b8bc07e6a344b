"""How a person comes in for whom no proxy speaks: a personal link to the console, and a token for them or their agent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from tongyao.app.context import AppContext
from tongyao.app.people import tokens
from tongyao.app.people.sessions import LINK_DAYS, issue_link, link_address
from tongyao.commands.context import OPERATOR
from tongyao.runtime.local.addresses import GATEWAY_FILE
from tongyao.runtime.settings import Settings


@dataclass(frozen=True)
class WayIn:
    """`link` opens the console once; `token` opens the API and MCP (at `mcp`) until it is revoked. Neither is shown again."""

    person: str
    endpoint: str
    link: str
    token: str
    mcp: str
    days: int = LINK_DAYS

    def as_json(self) -> dict[str, str]:
        return {"link": self.link, "token": self.token, "mcp": self.mcp}


async def link_of(context: AppContext, settings: Settings, person: str) -> str:
    """A new personal link to the console."""
    return link_address(gateway_address(settings), (await issue_link(context, OPERATOR, person)).secret)


async def ways_in(context: AppContext, settings: Settings, people: Mapping[str, str]) -> list[WayIn]:
    """A new link and a new token for each of these people. `people`: what speaks for them by profile id."""
    doors, address = [], gateway_address(settings)
    for person, endpoint in people.items():
        link = await issue_link(context, OPERATOR, person)
        body = tokens.IssueTokenBody(role="person", person=person, label="made by `tongyao start`")
        token = await tokens.issue_token(context, OPERATOR, body)
        doors.append(WayIn(person, endpoint, link_address(address, link.secret), token.secret, f"{address}/mcp"))
    return doors


def gateway_address(settings: Settings) -> str:
    """Where people reach the gateway: the public address where one is set, else this machine.

    A gateway that took any free port wrote its address into the home: it counts unless a port is set for this command.
    While none runs that will take any free port, the word PORT stands for it: `tongyao up` prints it.
    """
    if settings.public_url:
        return settings.public_url
    if settings.gateway_port == 0 or "gateway_port" not in settings.model_fields_set:
        with suppress(OSError):
            return (settings.home / GATEWAY_FILE).read_text(encoding="utf-8")
    return f"http://{settings.gateway_host}:{settings.gateway_port or 'PORT'}"
