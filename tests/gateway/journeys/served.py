"""A whole installation for scenarios: servers that can be killed, a worker that can be killed, and a gateway with people."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from mcp.client import Client as McpClient
from temporalio.client import Client

from tests.gateway.conftest import until_served
from tests.support.until import until
from tongyao.app.context import AppContext
from tongyao.app.gateway_options import GatewayOptions
from tongyao.gateway.server import listen, serve, url_of
from tongyao.records.repositories import Repositories
from tongyao.runtime import wiring
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect


class Person:
    """Somebody with a token, at their browser."""

    def __init__(self, served: ServedStack, name: str, profile_id: str, token: str) -> None:
        self.served, self.name, self.id, self.token = served, name, profile_id, token

    async def ask(self, method: str, path: str, *, key: str = "", **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key or uuid.uuid4().hex}
        return await self.served.http.request(method, path, headers=headers, **more)

    async def send(self, pid: str, *, key: str = "", **message: Any) -> httpx.Response:
        return await self.ask("POST", f"/processes/{pid}/messages", key=key, json=message)

    async def say(self, pid: str, round_number: int, text: str, *, key: str = "") -> httpx.Response:
        return await self.send(pid, key=key, kind="submit_projection", round=round_number, text=text)

    async def asked(self, pid: str, what: str, round_number: int | None = None, *, seconds: float = 60) -> Any:
        """Return the ask once it waits for this person."""

        async def waits() -> Any:
            for ask in (await self.ask("GET", "/inbox")).json():
                if (ask["process_id"], ask["ask"]) == (pid, what) and round_number in (None, ask["round"]):
                    return ask

        return await until(waits, f"{what} of {self.name} in round {round_number}", seconds=seconds)


class ServedStack:
    """`kill_worker` and `kill_temporal` are SIGKILL. The Temporal server comes back by itself, with what it had on disk."""

    def __init__(
        self, repositories: Repositories, http: httpx.AsyncClient, temporal: LocalTemporal, worker: WorkerProcess
    ) -> None:
        self.repositories, self.http, self.temporal, self.worker = repositories, http, temporal, worker
        self.scene = "town"

    async def join(self, name: str, text: str) -> Person:
        said = {"scene": self.scene, "name": f"{name} Wexample", "text": text}
        answer = await self.http.post("/profiles", json=said, headers={"Idempotency-Key": uuid.uuid4().hex})
        assert answer.status_code == 201, answer.text
        person = Person(self, name, answer.json()["profile_id"], answer.json()["token"])
        allowed = await person.ask("PUT", f"/profiles/{person.id}/consents/{self.scene}", json={"consent": "allow"})
        assert allowed.status_code == 200, allowed.text
        return person

    def agent(self) -> McpClient:
        """A real client of the MCP server, over streamable HTTP."""
        return McpClient(str(self.http.base_url.join("/mcp")))

    def kill_worker(self) -> None:
        self.worker.kill()

    async def kill_temporal(self) -> None:
        """Returns when it answers again."""
        pid = self.temporal.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: self.temporal.pid not in (None, pid), "another Temporal server")

        async def answers() -> Any:
            with suppress(RuntimeError):
                return await Client.connect(self.temporal.address)

        await until(answers, "an answer of the Temporal server")

    async def verdict(self, person: Person, sent: httpx.Response) -> str:
        """What became of a message, once that is known: `applied`, or the code of its refusal."""
        if sent.status_code == 409:
            return str(sent.json()["code"])
        assert sent.status_code in (200, 202), sent.text
        path = f"/messages/{sent.json()['id']}"

        async def known() -> bool:
            return bool((await person.ask("GET", path)).json()["state"] != "waiting")

        await until(known, f"what becomes of {path}", seconds=90)
        receipt = (await person.ask("GET", path)).json()
        return str("applied" if receipt["state"] == "applied" else receipt["code"])


@asynccontextmanager
async def open_served(database_url: str, home: Path, script: Mapping[str, Any]) -> AsyncIterator[ServedStack]:
    """`script`: of the scripted engine, which answers in the worker's own process."""
    file = home / "script.json"
    file.write_text(json.dumps(script))
    settings = Settings(home=home)
    async with AsyncExitStack() as stack:
        temporal = LocalTemporal(home)
        await temporal.start()
        stack.push_async_callback(asyncio.to_thread, temporal.stop)
        repositories = await stack.enter_async_context(wiring.repositories(settings, database_url=database_url))
        client = await connect(settings, address=temporal.address)
        environment = {
            "DATABASE_URL": database_url,
            "TEMPORAL_ADDRESS": temporal.address,
            "TONGYAO_HOME": str(home),
            "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
            "TONGYAO_ENGINE_FILE": str(file),
        }
        worker = WorkerProcess(environment, log=home / "worker.log")
        stack.push_async_callback(worker.stop)
        await worker.start()
        options = GatewayOptions(
            rate="100000/minute", join_rate="100000/minute", address_rate="100000/minute", answer_seconds=5
        )
        context = AppContext(repositories, client, options=options, process_defaults=settings.process)
        stop, bound = asyncio.Event(), listen("127.0.0.1", 0)
        work = [asyncio.create_task(serve(context, stop, bound)), asyncio.create_task(context.relay.run(stop))]
        try:
            await until_served(url_of(bound))
            async with httpx.AsyncClient(base_url=url_of(bound), timeout=30) as http:
                served = ServedStack(repositories, http, temporal, worker)
                await repositories.scenes.put(served.scene, served.scene)
                yield served
        finally:
            stop.set()
            await asyncio.gather(*work, return_exceptions=True)
