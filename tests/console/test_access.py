"""No open cell: every page of the console, for every role, in the visitor's own process and in another's."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from tests.console.room import Ferry, ferry
from tests.gateway.actions import PAGES
from tests.gateway.conftest import GatewayHarness, gateway
from tests.support.serving import served
from tongyao.app.action_permissions import PERMISSIONS, Action, Role
from tongyao.gateway.access.rate_limits import RateLimits
from tongyao.gateway.console.app import make_console

__all__ = ["gateway"]

FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
CODE = re.compile(r'data-code="(\w+)"')
REFUSED = {"not_allowed", "no_such_process", "no_such_profile"}
VALUES = {"ask": "projection", "number": "1"}
ANYBODY = {Action.WHO_AM_I, Action.JOIN}
"""Of pages that need no session."""


def routes(harness: GatewayHarness) -> Iterator[tuple[str, str, Action]]:
    app: FastAPI = make_console(harness.context, RateLimits(harness.context.options))
    for route in app.routes:
        if isinstance(route, APIRoute):
            for method in route.methods or ():
                yield method, route.path, PAGES[f"{method} {route.path}"]


@pytest.fixture
async def two(gateway: GatewayHarness) -> AsyncIterator[tuple[Ferry, Ferry]]:
    houses = await ferry(gateway), await ferry(gateway)
    for house in houses:
        await house.start()
        await house.stack.asked(house.pid, "P03", 1)
    yield houses
    for house in houses:
        await house.stack.say(house.pid, "cancel")


async def test_every_page_lets_in_whom_the_table_names_and_nobody_else(
    gateway: GatewayHarness, two: tuple[Ferry, Ferry]
) -> None:
    own, other = two
    scoped = await gateway.context.repositories.tokens.issue(
        "participant", person=own.people["P03"], process_id=own.pid, alias="P03"
    )
    visitors = {
        "anonymous": "",
        "demander": own.tokens["P00"],
        "participant": own.tokens["P03"],
        "scoped": scoped.secret,
        "stranger": other.tokens["P01"],
        "operator": await gateway.operator(),
    }
    wrong = []
    async with served(gateway.app) as url:
        for name, secret in visitors.items():
            wrong += await seen_by(gateway, url, name, secret, own, other)
    assert not wrong


async def seen_by(gateway: GatewayHarness, url: str, name: str, secret: str, own: Ferry, other: Ferry) -> list[str]:
    """The cells of one visitor that are not as the table says."""
    wrong = []
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        await sign_in(http, secret)
        for method, path, action in routes(gateway):
            if path in ("/leave", "/enter") and method == "POST":
                continue  # would end the session; tests of sessions have them
            for house in (own, other) if "{process_id}" in path else (own,):
                let_in = await tried(http, method, path, house.pid)
                expected = allowed(name, action, path, mine=house is own)
                if let_in is not expected:
                    wrong.append(f"{name} {method} {path} {'own' if house is own else 'other'}: {let_in}")
    return wrong


def allowed(name: str, action: Action, path: str, *, mine: bool) -> bool:
    if action in ANYBODY:
        return True
    role = {"scoped": Role.PARTICIPANT, "operator": Role.OPERATOR, "anonymous": Role.ANONYMOUS}.get(name, Role.PERSON)
    if role is Role.ANONYMOUS:
        return False
    if path.startswith("/asks/"):
        return True  # it is looked for in the visitor's own inbox, where another's is not
    if "{process_id}" in path:
        if name == "stranger":
            mine = not mine
        if role is not Role.OPERATOR and not mine:
            return False
        role = Role.DEMANDER if name == "demander" else Role.PARTICIPANT if role is not Role.OPERATOR else role
        if path.endswith(("/tension", "/people")) and action is Action.SEND_MESSAGE:
            return role is Role.DEMANDER
    elif path.startswith("/me"):
        return role is Role.PERSON
    return role in PERMISSIONS[action]


async def sign_in(http: httpx.AsyncClient, secret: str) -> None:
    if secret:
        fields = {"form_token": await form_token(http), "secret": secret}
        assert (await http.post("/console/enter", data=fields)).status_code == 303


async def form_token(http: httpx.AsyncClient) -> str:
    found = FORM_TOKEN.search((await http.get("/console/enter")).text)
    assert found is not None
    return found[1]


async def tried(http: httpx.AsyncClient, method: str, path: str, process_id: str) -> bool:
    """Whether it was opened. Forms are sent without an answer: nothing changes."""
    address = "/console" + path.format(process_id=process_id, **VALUES)
    if path.endswith("/live"):
        async with http.stream("GET", address) as answer:
            return answer.status_code == 200
    fields = {"form_token": await form_token(http)} if method == "POST" else None
    answer = await http.request(method, address, data=fields)
    assert answer.status_code != 500, address
    if answer.status_code == 401 or answer.headers.get("location", "").endswith("/enter"):
        return False
    code = CODE.search(answer.text)
    return not (code and code[1] in REFUSED)
