"""A credential counts at the moment of the write: a request that is held open does not outlive its token, session or person."""

from __future__ import annotations

import asyncio
import contextvars
import json
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from mcp.client import Client as McpClient

from tests.gateway.conftest import GatewayHarness
from tests.gateway.conftest import gateway as gateway  # the fixture
from tests.gateway.test_api import asked, room
from tests.gateway.test_permissions import operations
from tests.support.until import until
from tongyao.app.people.sessions import find_session, issue_link, open_session
from tongyao.gateway.access.authentication import caller_of
from tongyao.gateway.mcp.server import make_server
from tongyao.llm.delegated import DelegatedAnswers
from tongyao.records.database import session
from tongyao.records.privacy.erasure import Erasing

PLACE = "http://127.0.0.1:8700"
TABLES = (  # `texts` are left out: the process that runs meanwhile stores some
    "tokens", "consents", "mandates", "messages", "processes", "channels", "sources", "feedback", "contacts",
    "profiles", "profile_versions", "scenes", "drafts", "tombstones", "call_readers",
)  # fmt: skip
WRITES: dict[tuple[str, str], Any] = {
    ("put", "/scenes/{scene}"): {"title": "t"},
    ("put", "/profiles/{profile_id}"): {"text": "I keep bees, and sheep now."},
    ("put", "/profiles/{profile_id}/mandate"): {"never": ["honey"]},
    ("put", "/profiles/{profile_id}/consents/{scene}"): {"consent": "allow"},
    ("post", "/processes"): {"intent": "I want to sell honey.", "participants": ["{others}"]},
    ("post", "/processes/{process_id}/messages"): {"kind": "submit_projection", "round": 1, "text": "I have a barn."},
    ("post", "/tokens"): {"role": "{role}"},
    ("put", "/processes/{process_id}/feedback"): {"text": "It went well."},
    ("put", "/processes/{process_id}/contact"): {"text": "At the quay."},
    ("put", "/profiles/{profile_id}/channels/mail"): {"address": "a@example.org"},
    ("put", "/profiles/{profile_id}/source"): {"kind": "http", "config": {"chat_url": "https://agent.example/chat"}},
    ("put", "/profiles/{profile_id}/channels/webhook"): {"url": "https://example.org/hook"},
    ("put", "/profiles/{profile_id}/channels/{kind}"): {"address": "none-such"},
    ("put", "/profiles/{profile_id}/channels/{kind}/confirmation"): {"code": "guess"},
    ("post", "/processes/{process_id}/forks"): {},
    ("put", "/processes/{process_id}/standing"): {"residual": "tension"},
    ("post", "/calls/next"): {},
    ("post", "/calls/{call_id}/answer"): {"text": "{}"},
}
READS = {("post", "/scenes/{scene}/search"), ("post", "/codec/decode")}
ANONYMOUS = {("post", "/profiles")}
"""Asks for no credential."""
WITHOUT_A_BODY = {("put", "/profiles/{profile_id}/source/profile"), ("post", "/standing/{standing_id}")}
"""What is fetched is stored as `PUT /profiles/{profile_id}` stores it."""
OF_THE_DEMANDER = {("post", "/processes/{process_id}/forks"), ("put", "/processes/{process_id}/standing")}
REFUSED_BEFORE = {
    ("put", "/processes/{process_id}/feedback"): (404, "no_plan_yet"),
    ("put", "/processes/{process_id}/contact"): (404, "no_plan_yet"),
    ("post", "/processes/{process_id}/forks"): (422, "fork_too_early"),
    ("put", "/processes/{process_id}/standing"): (422, "no_scene"),
}
"""Refused before anything is written, as long as there is no plan."""


async def held(
    gateway: GatewayHarness,
    method: str,
    path: str,
    meanwhile: Callable[[], Awaitable[Any]],
    *,
    body: bytes,
    headers: dict[str, str],
) -> tuple[int, dict[str, str], bytes]:
    """A request whose head is read, and whose body comes after `meanwhile`."""
    sent: list[Any] = []
    pending = [body]

    async def receive() -> Any:
        if pending:
            await meanwhile()
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    known = {"host": "127.0.0.1:8700", "content-length": str(len(body)), "idempotency-key": uuid.uuid4().hex, **headers}
    scope = {
        "type": "http", "http_version": "1.1", "method": method.upper(), "path": path, "raw_path": path.encode(), "root_path": "",
        "scheme": "http", "query_string": b"", "server": ("127.0.0.1", 8700), "client": ("127.0.0.1", 9),
        "headers": [(name.encode(), value.encode()) for name, value in known.items()],
    }  # fmt: skip
    await gateway.app(scope, receive, send)
    assert not pending, f"{path} was answered before its body was read"
    answer = sent[0]
    found = {name.decode(): value.decode() for name, value in answer["headers"]}
    return answer["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


async def rows(gateway: GatewayHarness) -> dict[str, int]:
    async with session(gateway.context.repositories.pool) as connection:
        counts = ", ".join(f"(SELECT count(*) FROM {table}) AS {table}" for table in TABLES)
        row = await (await connection.execute(f"SELECT {counts}")).fetchone()
    assert row is not None
    return row


def test_every_operation_that_stores_something_is_tried_here(gateway: GatewayHarness) -> None:
    written = {(method, path) for method, path, _ in operations(gateway) if method in ("post", "put", "patch")}
    assert written - READS - ANONYMOUS - WITHOUT_A_BODY == set(WRITES)


async def test_a_token_that_is_revoked_while_the_body_is_on_its_way_stores_nothing(gateway: GatewayHarness) -> None:
    gateway = gateway.also(
        profile_sources={"http": lambda *_: None},
        notifiers=dict.fromkeys(("mail", "webhook", "pager"), object()),
        call_answers=DelegatedAnswers(),
    )
    tokens = gateway.context.repositories.tokens
    pid, _, people = await room(gateway)
    speaker, another = people[1], await gateway.join(await gateway.scene())
    await asked(gateway, speaker["token"], "projection", 1)
    demander = (await gateway.context.repositories.processes.get(pid)).demander
    wrong = []
    for (method, path), said in WRITES.items():
        operator = path.startswith("/scenes")
        if path.startswith("/calls"):
            token = await tokens.issue("calls", label="a reader")
        elif (method, path) in OF_THE_DEMANDER:
            token = await tokens.issue("person", person=demander)
        else:
            token = await (
                tokens.issue("operator") if operator else tokens.issue("person", person=speaker["profile_id"])
            )
        others = [people[0]["profile_id"], another["profile_id"]]
        body = json.dumps(said).replace("{role}", "person").replace('"{others}"', json.dumps(others)[1:-1])
        scene = "none-such" if operator else (await gateway.context.repositories.profiles.get(others[0])).scene_id
        where = path.format(
            process_id=pid, profile_id=speaker["profile_id"], scene=scene, kind="pager", call_id="call-0123456789"
        )
        before = await rows(gateway)
        status, _, answer = await held(
            gateway, method, where, partial(tokens.revoke, token.token.id),
            body=body.encode(), headers={"authorization": f"Bearer {token.secret}", "content-type": "application/json"},
        )  # fmt: skip
        told = (status, json.loads(answer)["code"])
        expected = REFUSED_BEFORE.get((method, path), (401, "token_revoked"))
        after = await rows(gateway)
        if told != expected or after != before:
            wrong.append((method, path, told, {name: n for name, n in after.items() if n != before[name]}))
    assert wrong == []
    await gateway.stack.handle(pid).cancel()


async def test_a_person_who_is_erased_while_the_body_is_on_its_way_gets_no_token(gateway: GatewayHarness) -> None:
    joined = await gateway.join(await gateway.scene())
    person = joined["profile_id"]
    status, _, answer = await held(
        gateway, "POST", "/tokens", lambda: Erasing(gateway.context.repositories.pool).begin(person),
        body=b'{"role": "person"}', headers={"authorization": f"Bearer {joined['token']}", "content-type": "application/json"},
    )  # fmt: skip
    assert (status, json.loads(answer)["code"]) == (401, "token_revoked")
    assert all((one.expired or one.revoked_at) for one in await gateway.context.repositories.tokens.list(person=person))


async def test_a_session_that_is_closed_while_the_form_is_on_its_way_gives_no_link_and_no_consent(
    gateway: GatewayHarness,
) -> None:
    joined = await gateway.join(await gateway.scene(), consent="")
    person, tokens = joined["profile_id"], gateway.context.repositories.tokens
    scene = (await gateway.context.repositories.profiles.get(person)).scene_id
    for form in ("do=link", f"do=consent&consent=allow&scene={scene}"):
        opened = await open_session(gateway.context, joined["token"], place=PLACE)
        cookie = {"Cookie": f"tongyao_session={opened.secret}"}
        page = (await gateway.ask("GET", "/console/me", headers=cookie)).text
        mark = page.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        before = await rows(gateway)
        status, headers, answer = await held(
            gateway, "POST", "/console/me", partial(tokens.revoke, opened.token.id),
            body=f"form_token={mark}&{form}".encode(),
            headers={"cookie": cookie["Cookie"], "content-type": "application/x-www-form-urlencoded"},
        )  # fmt: skip
        assert b"/console/enter?link=" not in answer
        assert status in (303, 401) and await rows(gateway) == before, (form, status, headers)


async def test_a_tool_whose_token_is_revoked_before_it_writes_stores_nothing(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = await gateway.join(await gateway.scene(), consent="")
    repositories = gateway.context.repositories
    scene = (await repositories.profiles.get(joined["profile_id"])).scene_id
    [token] = await repositories.tokens.list(person=joined["profile_id"])
    get = repositories.scenes.get

    async def slowly(id: str) -> Any:
        await repositories.tokens.revoke(token.id)
        return await get(id)

    monkeypatch.setattr(repositories.scenes, "get", slowly)
    async with McpClient(make_server(gateway.context)) as client:
        answer = await client.call_tool("set_consent", {"scene": scene, "consent": "allow", "token": joined["token"]})
    assert answer.is_error and "token_revoked" in str(answer.content)
    assert await repositories.consents.of_person(joined["profile_id"]) == []


async def test_a_session_that_is_opened_while_its_token_is_revoked_ends_with_it(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = await gateway.join(await gateway.scene())
    tokens = gateway.context.repositories.tokens
    opener = await tokens.issue("person", person=joined["profile_id"])
    root, revoking = tokens.root, list[asyncio.Task[Any]]()

    async def slowly(id: str) -> Any:
        """Goes on when the revocation is done, or waits for a lock."""
        revoking.append(asyncio.create_task(tokens.revoke(opener.token.id), context=contextvars.Context()))

        async def met() -> bool:
            async with session(gateway.context.repositories.pool) as connection:
                waits = await connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
                return revoking[0].done() or bool(waits.rowcount)

        await until(met, "the revocation")
        return await root(id)

    monkeypatch.setattr(tokens, "root", slowly)
    opened = await open_session(gateway.context, opener.secret, place=PLACE)
    await asyncio.gather(*revoking)
    found = await find_session(gateway.context, opened.secret, place=PLACE)
    assert found is not None and found.revoked_at is not None


async def test_a_personal_link_takes_the_place_of_the_one_before(gateway: GatewayHarness) -> None:
    joined = await gateway.join(await gateway.scene())
    person, tokens = joined["profile_id"], gateway.context.repositories.tokens
    caller = caller_of(await tokens.find(joined["token"]))
    made = [(await issue_link(gateway.context, caller, person)).token.id for _ in range(3)]
    good = [
        one.id for one in await tokens.list(person=person) if one.kind == "link" and not (one.expired or one.revoked_at)
    ]
    assert good == made[-1:]
