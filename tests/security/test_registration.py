"""Nobody gets a token, credentials or a script past their owner."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from functools import partial

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.conftest import gateway as gateway  # the fixture
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.people.sessions import find_session, issue_link, open_session
from tongyao.gateway.outbound.http_agent import HttpProfileSource
from tongyao.records.database import session
from tongyao.records.privacy.texts import TextErased


async def test_a_key_that_can_be_guessed_gets_no_token_again(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    said = {"scene": scene, "name": "Anna Example", "text": f"I keep bees. {uuid.uuid4().hex}"}
    for key, again in (("join-1", False), (uuid.uuid4().hex, True)):
        first = (await gateway.ask("POST", "/profiles", json=said, key=key)).json()
        second = (await gateway.ask("POST", "/profiles", json=said, key=key)).json()
        assert first["token"] and second["profile_id"] == first["profile_id"]
        assert bool(second["token"]) is again
        if not again:
            assert (await gateway.ask("GET", "/me", first["token"])).status_code == 200, "nobody revoked it"


async def test_nothing_that_is_made_with_a_token_outlives_it(gateway: GatewayHarness) -> None:
    joined = await gateway.join(await gateway.scene())
    person, context, place = joined["profile_id"], gateway.context, "http://127.0.0.1:8700"
    short = (await gateway.ask("POST", "/tokens", joined["token"], json={"role": "person", "seconds": 600})).json()
    end = datetime.fromisoformat(short["token"]["expires_at"])
    for body in ({"role": "person"}, {"role": "person", "seconds": 86_400}):
        made = (await gateway.ask("POST", "/tokens", short["secret"], json=body)).json()["token"]
        assert datetime.fromisoformat(made["expires_at"]) <= end + timedelta(seconds=30), body
    opened = await open_session(context, short["secret"], place=place)
    for _ in range(2):  # from the session a link, from the link a session
        link = await issue_link(context, Caller(Role.PERSON, person, id=opened.token.id), person)
        opened = await open_session(context, link.secret, place=place)
        for one in (link.token, opened.token):
            assert one.expires_at is not None and one.expires_at <= end + timedelta(seconds=30), one.kind
    assert (await gateway.ask("DELETE", f"/tokens/{short['token']['id']}", joined["token"])).status_code == 200
    ended = await find_session(context, opened.secret, place=place)
    assert ended is not None and ended.revoked_at is not None
    endless = (await gateway.ask("POST", "/tokens", joined["token"], json={"role": "person"})).json()["token"]
    assert endless["expires_at"] is None, "the token of a registration has no end here"


async def test_the_reference_has_no_script_and_nothing_from_elsewhere(gateway: GatewayHarness) -> None:
    page = await gateway.ask("GET", "/docs")
    assert page.status_code == 200 and "POST /profiles" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert 'name="viewport"' in page.text, "a phone shows it at its own width"
    assert "<script" not in page.text and "http" not in page.text.replace("HTTP", "").lower().split("<table>")[0]
    assert (await gateway.ask("GET", "/redoc")).status_code == 404


async def test_replaced_and_removed_credentials_are_not_kept(gateway: GatewayHarness) -> None:
    gateway = gateway.also(profile_sources={"http": partial(HttpProfileSource, private_allowed=True)})
    joined = await gateway.join(await gateway.scene())
    path, token = f"/profiles/{joined['profile_id']}/source", joined["token"]
    sources, texts = gateway.context.repositories.sources, gateway.context.repositories.texts
    kept = []
    for secret in ("first", "second"):
        body = {"config": {"chat_url": "https://agent.example/chat"}, "credentials": {"access_token": secret}}
        assert (await gateway.ask("PUT", path, token, json=body)).status_code == 200
        kept.append((await sources.get(joined["profile_id"])).credentials_text_id)
    with pytest.raises(TextErased):
        await texts.get(kept[0])
    async with sources.renewing(await sources.get(joined["profile_id"])) as credentials:
        credentials["access_token"] = "third"
    kept.append((await sources.get(joined["profile_id"])).credentials_text_id)
    assert "third" in await texts.get(kept[2])
    assert (await gateway.ask("DELETE", path, token)).status_code == 204
    for id in kept:
        with pytest.raises(TextErased):
            await texts.get(id)
    async with session(gateway.context.repositories.pool) as connection:
        cursor = await connection.execute("SELECT body FROM texts WHERE id = ANY(%s::uuid[])", [kept])
        assert [row["body"] for row in await cursor.fetchall()] == [None, None, None]
