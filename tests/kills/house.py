"""Servers, a worker in a process of its own that is killed and started again, and people: schedules are played in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tests.kills.service import REPOSITORY
from tests.support.stack import Stack
from tongyao.app.context import AppContext
from tongyao.protocol.rules.consent import Consent
from tongyao.runtime import wiring
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.worker_process import WORKER_FILE, WorkerProcess
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect

SCENE: Final = "harbour"
PEOPLE: Final = 30
"""Profiles `n0`, `n1`, …, as `tests.simulation.talk` names them. Who has an odd tens digit is asked each time."""

TEXT: Final = (
    "I repair tide gauges. I can offer ten years of readings. I will not travel in winter. I am number {n} here."
)


class House:
    """Servers, a worker of its own, and people; it holds for many schedules."""

    def __init__(
        self, stack: Stack, worker: WorkerProcess, database_url: str, environment: WorkflowEnvironment | None = None
    ) -> None:
        self.stack, self.worker, self.database_url, self.environment = stack, worker, database_url, environment
        self.down = False

    @property
    def client(self) -> Client:
        return self.stack.client

    async def set_down(self) -> None:
        self.down = True
        self.worker.kill()

    async def set_up(self) -> None:
        if self.worker.pid is None:
            await self.worker.start()
        self.down = False

    async def watch(self) -> None:
        """Start a worker that died in the middle of a call, as its supervisor would."""
        while True:
            if not self.down and self.worker.pid is None:
                await self.worker.start()
            await asyncio.sleep(0.2)


@asynccontextmanager
async def opened(
    database_url: str,
    home: Path,
    rules: Sequence[dict[str, Any]],
    *,
    environment: WorkflowEnvironment | None = None,
) -> AsyncIterator[House]:
    """A house whose engine follows `rules`; on the dev server, or on the one of `environment`."""
    script = home / "script.json"
    usage = {"verdicts": ["more", "more", "exhausted"], "seconds": 0.1, "residuals": 1, "cost": "0.05"}
    script.write_text(json.dumps({**usage, "rules": list(rules)}))
    settings = Settings(home=home)
    async with AsyncExitStack() as exit_stack:
        if environment is None:
            temporal = LocalTemporal(home)
            address = await temporal.start()
            exit_stack.push_async_callback(asyncio.to_thread, temporal.stop)
        else:
            address = environment.client.service_client.config.target_host
        client = await connect(settings, address=address, new_namespace=environment is not None)
        repositories = await exit_stack.enter_async_context(wiring.repositories(settings, database_url=database_url))
        variables = {
            "DATABASE_URL": database_url,
            "TEMPORAL_ADDRESS": address,
            "TONGYAO_HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),  # a worker is started by the path of its file
            "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
            "TONGYAO_ENGINE_FILE": str(script),
        }
        if environment is not None:  # that server never takes back a task from the sticky queue of a worker that died
            variables["TONGYAO_WORKER_CACHED_WORKFLOWS"] = "0"
        program = WORKER_FILE if environment is None else Path(__file__).with_name("worker_for_time_skipping.py")
        worker = WorkerProcess(variables, log=home / "worker.log", file=program)
        exit_stack.push_async_callback(worker.stop)
        await worker.start()
        context = AppContext(repositories, client)
        house = House(Stack(context, environment), worker, database_url, environment)
        await _settle_people(house)
        stop = asyncio.Event()
        watching = asyncio.create_task(house.watch())
        relaying = asyncio.create_task(context.relay.run(stop, idle=0.1))
        try:
            yield house
        finally:
            watching.cancel()
            stop.set()
            await asyncio.gather(watching, relaying, return_exceptions=True)


async def _settle_people(house: House) -> None:
    repositories = house.stack.repositories
    await repositories.scenes.put(SCENE, SCENE)
    for n in range(PEOPLE):
        await house.stack.register(f"n{n}", scene=SCENE, name=f"Nobody {_letters(n)}", text=TEXT.format(n=n))
        if n // 10 % 2:
            await repositories.consents.put(f"n{n}", SCENE, Consent.ASK)


def _letters(n: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(n))
