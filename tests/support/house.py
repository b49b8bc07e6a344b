"""A whole house for tests: the records, real workers on a real server, and the doors of a process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from activities.budgeting import Purse
from activities.deps import Deps
from activities.settling import Settling
from tongyao.gateway.door import Door
from tongyao.gateway.registering import Registering
from tongyao.gateway.starting import Starting, Wish
from tongyao.llm.engine import Engine
from tongyao.protocol.messages import MESSAGE, Author
from tongyao.protocol.process import DEMANDER, Choice, ProfileRef, TensionRef
from tongyao.protocol.record import Record
from tongyao.protocol.refusals import Verdict
from tongyao.protocol.requests import Material, Piece
from tongyao.protocol.settings import ProcessSettings
from tongyao.protocol.tension import Tension
from tongyao.records.database import open_pool
from tongyao.records.library import Library
from tongyao.records.messages import Words, words_id
from tongyao.records.room import CandidateRow
from tongyao.runtime import workers
from tongyao.runtime.settings import Settings


class FirstPart:
    """A retriever that shows the beginning."""

    name = "first"

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension) -> Material:
        return Material(pieces=(Piece(start=0, text=text[:15_000]),), total_chars=len(text))


class WholeScene:
    """A field that finds everybody, in order of their ids."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def discover(
        self, tension: Tension, *, scene: str, limit: int, excluded: Sequence[str]
    ) -> Sequence[CandidateRow]:
        people = [one for one in await self._library.profiles.of_scene(scene) if one.profile_id not in excluded]
        return [
            CandidateRow(perspective="resonance", rank=rank, profile_id=one.profile_id, score=1.0 / rank)
            for rank, one in enumerate(people[:limit], 1)
        ]


class House:
    """Everything a test of a process needs, over its public interfaces."""

    def __init__(self, library: Library, client: Client, settings: ProcessSettings) -> None:
        self.library, self.client = library, client
        self.door = Door(library, client)
        self.starting = Starting(library, client, settings)
        self.registering = Registering(library, max_chars=2_000_000)

    async def people(self, texts: Mapping[str, str], *, scene: str | None = None) -> list[str]:
        """Register profiles under fresh ids that begin with the given names; returns the ids in order."""
        scene = scene or f"scene-{uuid.uuid4().hex[:8]}"
        await self.library.profiles.put_scene(scene, scene)
        ids = []
        for name, text in texts.items():
            profile_id = f"{name}-{uuid.uuid4().hex[:8]}"
            await self.registering.register(profile_id, scene=scene, name=name.title() + " Example", text=text)
            ids.append(profile_id)
        return ids

    async def start(self, people: Sequence[str | Choice], *, intent: str = "", **wish: Any) -> str:
        """Start a process; settings are given as keywords besides the fields of `Wish`."""
        fields = {key: wish.pop(key) for key in list(wish) if key in Wish.model_fields}
        choices = tuple(one if isinstance(one, Choice) else Choice(profile_id=one) for one in people)
        return await self.starting.start(
            Wish(
                intent=intent or "I want to learn whether my idea for a ferry timetable works.",
                demander=fields.pop("demander", f"person-{uuid.uuid4().hex[:8]}"),
                participants=choices,
                settings=wish,
                **fields,
            )
        )

    def handle(self, process_id: str) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(process_id)

    async def end(self, process_id: str) -> Record:
        """Wait for the end, and read the record."""
        await self.handle(process_id).result()
        return await self.library.record(process_id)

    async def say(self, process_id: str, kind: str, *, alias: str = DEMANDER, **fields: Any) -> Verdict:
        """Send one message through the durable door; returns its verdict."""
        role = fields.pop("role", "demander" if alias == DEMANDER else "participant")
        author = Author(role=role, alias="" if role == "operator" else alias)
        key = fields.pop("key", uuid.uuid4().hex)
        message = MESSAGE.validate_python({"kind": kind, "key": key, "author": author, **fields})
        stored = await self.door.send(process_id, message, author_id=f"{role}:{alias}", door="test")
        assert stored.verdict is not None, "no verdict within the time of one delivery"
        return stored.verdict

    async def until(self, process_id: str, phase: str) -> None:
        """Return when the records show the process in `phase`."""
        async with asyncio.timeout(30):
            while (await self.library.processes.get(process_id)).phase != phase:
                await asyncio.sleep(0.02)

    async def until_round(self, process_id: str, phase: str, round_number: int) -> None:
        """Return when the records show the process in `phase` of that round."""
        async with asyncio.timeout(30):
            while True:
                row = await self.library.processes.get(process_id)
                if (row.phase, row.round) == (phase, round_number):
                    return
                await asyncio.sleep(0.02)

    async def revise(self, process_id: str, **parts: Any) -> Verdict:
        """Revise the tension through the durable door, its text stored beside the message."""
        tension = Tension.model_validate(parts)
        key, row = uuid.uuid4().hex, await self.library.processes.get(process_id)
        author = f"demander:{row.demander}"
        ref = TensionRef(text_id=words_id(process_id, author, key), grade=tension.grade, barriers=len(tension.barriers))
        message = MESSAGE.validate_python(
            {
                "kind": "revise_tension",
                "key": key,
                "author": Author(role="demander", alias=DEMANDER),
                "tension": ref.model_dump(mode="json"),
            }
        )
        words = Words(owner=row.demander, kind="tension", text=tension.model_dump_json())
        stored = await self.door.send(process_id, message, author_id=author, door="test", words=words)
        assert stored.verdict is not None
        return stored.verdict

    async def kinds(self, process_id: str) -> list[str]:
        return [event.kind.value for event in await self.library.events.events(process_id, limit=1_000)]


@asynccontextmanager
async def open_house(
    client: Client, database_url: str, engine: Engine, *, workers_run: bool = True
) -> AsyncIterator[House]:
    """A house with workers of every role, whose five steps `engine` answers."""
    settings = Settings(worker_cached_workflows=200)
    pool = await open_pool(database_url)
    library = Library(pool)
    deps = Deps(
        library=library,
        settling=Settling(
            {"*": engine}, library.ledger, worker="test", purse=Purse(library.budgets, library.ledger)
        ),
        retriever=FirstPart(),
        field=WholeScene(library),
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(pool.close)
        if workers_run:
            built: list[Worker] = workers.build(client, deps, settings)
            for worker in built:
                await stack.enter_async_context(worker)
        yield House(library, client, settings.process)
