"""The roles of a deployment as processes of their own, one after the other cut off from both servers (docs/deployment.md §5)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.scripted import Script
from tests.support.stack import Stack
from tests.support.tcp_proxy import TcpProxy
from tests.support.until import until
from tests.workflows.conftest import TEXTS
from tongyao.protocol.model.messages import MESSAGE, Author
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.migrate import migrate
from tongyao.runtime import installation
from tongyao.runtime.local.postgres import PORT, SUPERUSER
from tongyao.runtime.local.service import LocalService
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect
from tongyao.runtime.temporal.namespaces import register_search_attributes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 240
ROLES = ("process", "models", "field")


@dataclass
class Line:
    """What one role has between itself and both servers."""

    records: TcpProxy
    temporal: TcpProxy

    async def cut(self) -> None:
        await self.records.cut()
        await self.temporal.cut()

    def restore(self) -> None:
        self.records.restore()
        self.temporal.restore()


@dataclass
class Roles:
    stack: Stack
    lines: dict[str, Line]
    workers: dict[str, WorkerProcess]
    gateway: subprocess.Popen[bytes]

    async def put(self, process: str, alias: str) -> str:
        """Store an extension as the API does, and leave it to the gateway's relay; returns the id of its row."""
        message = MESSAGE.validate_python(
            {"kind": "extend_deadline", "key": uuid.uuid4().hex, "author": Author(role="operator"), "alias": alias,
             "seconds": 3600}
        )  # fmt: skip
        messages = self.stack.repositories.messages
        return (await messages.put(process, message, author_id="operator", via="test")).id

    async def applied(self, message: str) -> bool:
        verdict = (await self.stack.repositories.messages.get(message)).verdict
        return verdict is not None and verdict.accepted


@asynccontextmanager
async def roles(home: Path) -> AsyncIterator[Roles]:
    """Three workers of one role each, and a gateway. Each reaches PostgreSQL and Temporal through proxies of its own."""
    script = home / "script.json"
    script.write_text(Script(seconds=0.5, verdicts=["more", "exhausted"]).model_dump_json())
    settings = Settings(home=home)
    async with AsyncExitStack() as exit_stack:
        service = LocalService(settings)
        addresses = await exit_stack.enter_async_context(service)
        assert service.postgres is not None
        socket = str(service.postgres.socket_directory / f".s.PGSQL.{PORT}")
        migrate(addresses.database_url)
        client = await connect(settings, address=addresses.temporal_address)
        await register_search_attributes(client)
        installed = await exit_stack.enter_async_context(installation.running(settings))
        lines: dict[str, Line] = {}
        environments: dict[str, dict[str, str]] = {}
        for role in (*ROLES, "gateway"):
            records = await exit_stack.enter_async_context(TcpProxy(socket))
            temporal = await exit_stack.enter_async_context(TcpProxy(addresses.temporal_address))
            lines[role] = Line(records, temporal)
            environments[role] = {
                "DATABASE_URL": f"postgresql://{SUPERUSER}@{records.address}/{service.postgres.database}",
                "TEMPORAL_ADDRESS": temporal.address,
                "TONGYAO_HOME": str(home),
                "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
                "TONGYAO_ENGINE_FILE": str(script),
                "TONGYAO_GATEWAY_PORT": "0",
                "PYTHONPATH": str(REPOSITORY),
            }
        workers = {role: WorkerProcess(environments[role], log=home / f"{role}.log", role=role) for role in ROLES}
        for worker in workers.values():
            await worker.start()
            exit_stack.push_async_callback(worker.stop)
        with (home / "gateway.log").open("wb") as log:
            gateway = subprocess.Popen(
                [sys.executable, "-m", "tongyao.cli", "gateway"],
                cwd=home, env={**os.environ, **environments["gateway"]}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        exit_stack.push_async_callback(asyncio.to_thread, gateway.wait)
        exit_stack.callback(gateway.terminate)

        def served() -> bool:
            assert gateway.poll() is None, (home / "gateway.log").read_text()[-2_000:]
            return b"http://" in (home / "gateway.log").read_bytes()

        await until(served, "the gateway says its address", seconds=PATIENCE)
        yield Roles(Stack(installed.context), lines, workers, gateway)


async def test_whichever_role_is_cut_off_the_others_go_on_and_nothing_is_lost_or_done_twice(home: Path) -> None:
    async with roles(home) as here:
        stack = here.stack
        people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
        human = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in people[:2]]
        waiting = await stack.start(human, auto_confirm=True)

        async def both_asked() -> bool:
            return len(await stack.repositories.inbox.of_process(waiting, open_only=True)) == 2

        await until(both_asked, seconds=PATIENCE)

        # The models' worker, in the middle of a round: everything else works, its step is given to another try.
        rounds = await stack.start(people, auto_confirm=True)

        async def in_a_round() -> bool:
            calls = await stack.repositories.ledger.calls(rounds)
            return any(call.step == "project" and call.state == "claimed" for call in calls)

        await until(in_a_round, seconds=PATIENCE)
        await here.lines["models"].cut()

        async def tried_again() -> bool:
            described = await stack.handle(rounds).describe()
            return any(one.attempt > 1 for one in described.raw_description.pending_activities)

        meanwhile = await here.put(waiting, "P01")
        await until(lambda: here.applied(meanwhile), "the message of meanwhile is applied", seconds=PATIENCE)
        await until(tried_again, seconds=PATIENCE)
        assert here.workers["models"].pid is not None, "it waits for its servers"
        here.lines["models"].restore()
        await stack.until_ended(rounds, seconds=PATIENCE)
        calls = await stack.repositories.ledger.calls(rounds)
        settled = Counter(
            (call.step, call.round, call.alias, call.revision, call.reask) for call in calls if call.state == "settled"
        )
        assert set(settled.values()) == {1}
        assert not [call for call in calls if call.state == "claimed"]

        # The process worker: messages are kept, and applied when it is back.
        await here.lines["process"].cut()
        kept = await here.put(waiting, "P01")

        async def tried() -> bool:
            row = await stack.repositories.messages.get(kept)
            return row.attempts > 1 and row.verdict is None

        await until(tried, seconds=PATIENCE)
        here.lines["process"].restore()
        await until(lambda: here.applied(kept), "the message that was kept is applied", seconds=PATIENCE)

        # The gateway: what is stored already waits for it.
        await here.lines["gateway"].cut()

        async def noticed() -> bool:
            return here.lines["gateway"].records.refused > 0

        await until(noticed, seconds=PATIENCE)
        stored = await here.put(waiting, "P02")
        assert not await here.applied(stored)
        here.lines["gateway"].restore()
        await until(lambda: here.applied(stored), "the message that was stored is applied", seconds=PATIENCE)
        assert here.gateway.poll() is None

        # A slow line, where nothing is lost either.
        here.lines["process"].temporal.delay = 0.05
        slow = await here.put(waiting, "P02")
        await until(lambda: here.applied(slow), "the slow message is applied", seconds=PATIENCE)
        here.lines["process"].temporal.delay = 0.0

        assert (await stack.say(waiting, "cancel")).accepted
        await stack.until_ended(waiting, seconds=PATIENCE)
        events = await stack.repositories.events.events(waiting, limit=1_000)
        extended = [event for event in events if event.kind.value == "deadline_extended"]
        assert len(extended) == 4, "each message once"
        assert sorted(event.seq for event in events) == list(range(1, len(events) + 1)), "no transition is missing"
