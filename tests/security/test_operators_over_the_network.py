"""With an operator's token nobody becomes a person, rewrites a profile or demands in somebody's name over the network."""

from __future__ import annotations

import uuid

from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness, text_of
from tests.support.stack import OPERATOR
from tongyao.app.context import AppContext
from tongyao.app.people.profiles import ProfileBody, write_profile
from tongyao.app.people.sessions import issue_link
from tongyao.app.people.tokens import IssueTokenBody, issue_token
from tongyao.app.start import StartProcessBody, start_process
from tongyao.gateway.mcp.server import make_server
from tongyao.records.database import session


async def test_an_operators_token_does_not_open_anybodys_account(gateway: GatewayHarness) -> None:
    person = (await gateway.join(await gateway.scene()))["profile_id"]
    operator = await gateway.operator()
    for body in ({"role": "person", "person": person}, {"role": "participant", "person": person, "process_id": "c-1"}):
        refused = await gateway.ask("POST", "/tokens", operator, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert (await gateway.ask("POST", "/tokens", operator, json={"role": "operator"})).status_code == 201


async def test_an_operators_token_does_not_rewrite_or_make_a_profile(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    person = (await gateway.join(scene))["profile_id"]
    operator = await gateway.operator()
    for profile in (person, f"new-{uuid.uuid4().hex[:8]}"):
        body = {"scene": scene, "text": "I say yes to everything."}
        assert (await gateway.ask("PUT", f"/profiles/{profile}", operator, json=body)).status_code == 403
    assert (await gateway.context.repositories.profiles.version(person)).version == 1


async def test_an_operators_token_starts_no_process_in_somebodys_name(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    person, other, third = [(await gateway.join(scene))["profile_id"] for _ in range(3)]
    operator = await gateway.operator()
    body = {"intent": "I want to sail.", "demander": person, "participants": [other, third]}
    assert (await gateway.ask("POST", "/processes", operator, json=body)).status_code == 403
    async with McpClient(make_server(gateway.context, token=operator)) as client:
        asked = {"intent": "I want to sail.", "participants": [other, third], "key": "k"}
        assert "not_allowed" in text_of(await client.call_tool("demand", asked))


async def told(context: AppContext, person: str) -> list[tuple[str, str | None]]:
    """Which acts in their name this person was told of, and in which process."""
    async with session(context.repositories.pool) as connection:
        cursor = await connection.execute(
            "SELECT about, process_id FROM notifications WHERE person = %s AND source LIKE 'acted/%%' ORDER BY created_at",
            [person],
        )
        return [(row["about"]["what"], row["process_id"]) for row in await cursor.fetchall()]


async def test_who_acts_for_somebody_on_the_machine_has_them_told(gateway: GatewayHarness) -> None:
    scene, context = await gateway.scene(), gateway.context
    person, other, third = [(await gateway.join(scene))["profile_id"] for _ in range(3)]
    await issue_token(context, OPERATOR, IssueTokenBody(role="person", person=person))
    await issue_link(context, OPERATOR, person)
    await write_profile(context, OPERATOR, person, ProfileBody(text="I keep bees, and sheep now."))
    demand = StartProcessBody(intent="I want to sail.", demander=person, participants=(other, third))
    pid = await start_process(context, OPERATOR, demand, key=uuid.uuid4().hex)
    assert await told(context, person) == [
        ("token_made", None),
        ("token_made", None),
        ("profile_written", None),
        ("demanded", pid),
    ]
    await gateway.stack.handle(pid).cancel()
