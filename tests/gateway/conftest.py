"""The whole stack with its gateway, and callers of every role."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from temporalio.client import Client

from tests.support.page_visitor import PageVisitor, visiting
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tongyao.app.context import AppContext
from tongyao.app.gateway_options import GatewayOptions
from tongyao.field.intent_field import IntentField
from tongyao.gateway.server import application
from tongyao.protocol.model.observation import Verdict

UNLIMITED = {
    "rate": "100000/minute", "join_rate": "100000/minute", "address_rate": "100000/minute", "answer_seconds": 60
}  # fmt: skip
"""Options of a gateway that hurries nobody: neither the tests, nor the workers of a slow machine."""


class GatewayHarness:
    """The gateway of a stack, and clients of it."""

    def __init__(self, stack: Stack, context: AppContext, app: FastAPI, engine: ScriptedEngine) -> None:
        self.stack, self.context, self.app, self.engine = stack, context, app, engine

    def also(self, **parts: Any) -> GatewayHarness:
        """Another gateway of the same stack, whose context differs in these parts."""
        context = replace(self.context, **parts)
        return GatewayHarness(self.stack, context, application(context), self.engine)

    def with_aliases_as_named(self) -> GatewayHarness:
        """Another gateway of the same stack: participants get their aliases in the order in which they are named."""
        return self.also(process_defaults=self.context.process_defaults.model_copy(update={"aliases_as_named": True}))

    @asynccontextmanager
    async def client(self, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700", headers=headers) as client:
            yield client

    def visitor(self, secret: str = "", *, language: str = "en") -> AbstractAsyncContextManager[PageVisitor]:
        """Somebody at the console without a browser, signed in with this token."""
        return visiting(self.app, secret, language=language)

    async def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        """One request; POSTs get a fresh key unless they bring one."""
        headers = more.pop("headers", {})
        if method == "POST":
            headers = {"Idempotency-Key": more.pop("key", uuid.uuid4().hex), **headers}
        async with self.client(token) as client:
            return await client.request(method, path, headers=headers, **more)

    async def operator(self) -> str:
        return (await self.context.repositories.tokens.issue("operator")).secret

    async def person(self, person: str) -> str:
        return (await self.context.repositories.tokens.issue("person", person=person)).secret

    async def scene(self) -> str:
        scene = f"scene-{uuid.uuid4().hex[:8]}"
        await self.context.repositories.scenes.put(scene, scene)
        return scene

    async def join(
        self,
        scene: str,
        text: str = "I keep bees and sell honey at two markets.",
        *,
        consent: str = "allow",
        **more: Any,
    ) -> Any:
        """Somebody introduces themself, and says when a proxy may speak for them; `consent` empty: they say nothing of it."""
        said = {"scene": scene, "name": "Anna Example", "text": text, **more}
        answer = await self.ask("POST", "/profiles", json=said)
        assert answer.status_code == 201, answer.text
        joined = answer.json()
        if consent:
            path = f"/profiles/{joined['profile_id']}/consents/{scene}"
            assert (await self.ask("PUT", path, joined["token"], json={"consent": consent})).status_code == 200
        return joined


def text_of(result: Any) -> str:
    """What a tool of MCP answered."""
    return str(result.content[0].text)


def said_by(result: Any) -> Any:
    """What a tool of MCP answered, read; it must not have failed."""
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


async def until_served(url: str) -> None:
    """Return when the gateway at this address answers."""
    async with httpx.AsyncClient() as http:

        async def answers() -> bool:
            with suppress(
                httpx.TransportError
            ):  # also on a busy machine, where a proxy's own short limits cut the question off
                return (await http.get(f"{url}/scenes")).is_success
            return False

        await until(answers, f"the gateway at {url}")


@pytest.fixture(scope="module")
async def gateway(temporal: Client, database_url: str) -> AsyncIterator[GatewayHarness]:
    engine = ScriptedEngine(Script(verdicts=[Verdict.MORE, Verdict.MORE, Verdict.EXHAUSTED]))
    async with open_stack(temporal, database_url, engine) as stack:
        options = GatewayOptions.model_validate(UNLIMITED)
        field = IntentField(stack.repositories.pool)
        context = replace(stack.context, options=options, people_search=field)
        yield GatewayHarness(stack, context, application(context), engine)
