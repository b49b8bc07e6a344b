"""An installation for tests: the records, real workers on a real server, and the use cases."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.dependencies import Deps, Field, ProfileMemory
from activities.llm.budget import SpendingLimits
from activities.llm.model_calls import ModelCalls
from tests.support.time_skipping import skip
from tests.support.until import until
from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.gateway_options import GatewayOptions
from tongyao.app.messaging.message_relay import MessageRelay
from tongyao.app.messaging.messages import build_message
from tongyao.app.people.profile_versions import register_profile
from tongyao.app.start import StartProcessBody, start_process
from tongyao.llm.engine import Engine
from tongyao.protocol.model.messages import (
    MESSAGE,
    Author,
    MessageBody,
    ReviseTensionBody,
    SubmitProjectionBody,
    TensionBody,
)
from tongyao.protocol.model.process import DEMANDER, Choice, ProfileRef
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import Material, Piece
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.consent import Origin
from tongyao.protocol.rules.refusals import MessageVerdict
from tongyao.records.budgets import DayBudgets
from tongyao.records.database import open_pool
from tongyao.records.privacy.keys import Keyring
from tongyao.records.process.messages import StoredMessage
from tongyao.records.process.seats import CandidateRow
from tongyao.records.repositories import Repositories
from tongyao.runtime import wiring
from tongyao.runtime.settings import MaintenanceSettings, Settings
from tongyao.runtime.start_recitation import reciting as recitations
from tongyao.runtime.temporal import workers


class FirstPart:
    """A retriever that shows the beginning of a profile."""

    name = "first"

    async def retrieve(self, profile: ProfileRef, text: str, tension: Tension, focus: Sequence[str] = ()) -> Material:
        return Material(pieces=(Piece(start=0, text=text[:15_000]),), total_chars=len(text))


class WholeScene:
    """A field that finds all people, in the order of their ids."""

    def __init__(self, repositories: Repositories) -> None:
        self._library = repositories

    async def discover(
        self, tension: Tension, *, scene: str, limit: int, excluded: Sequence[str]
    ) -> Sequence[CandidateRow]:
        people = [one for one in await self._library.profiles.of_scene(scene) if one.profile_id not in excluded]
        return [
            CandidateRow(perspective="resonance", rank=rank, profile_id=one.profile_id, score=1.0 / rank)
            for rank, one in enumerate(people[:limit], 1)
        ]


OPERATOR = Caller(Role.OPERATOR, id="test", on_the_machine=True)
_OF_A_SEAT = ("submit_projection", "switch_endpoint", "leave", "answer_plan", "set_mandate")


class Stack:
    """Everything that a test of a process needs, through public interfaces."""

    def __init__(
        self,
        context: AppContext,
        environment: WorkflowEnvironment | None = None,
    ) -> None:
        self.context = context
        self.repositories, self.client, self.relay = context.repositories, context.client, context.relay
        self._environment = environment

    async def people(self, texts: Mapping[str, str], *, scene: str | None = None) -> list[str]:
        """Register profiles under new ids that begin with the given names. Returns the ids in order."""
        scene = scene or f"scene-{uuid.uuid4().hex[:8]}"
        await self.repositories.scenes.put(scene, scene)
        ids = []
        for name, text in texts.items():
            profile_id = f"{name}-{uuid.uuid4().hex[:8]}"
            await self.register(profile_id, scene=scene, name=name.title() + " Example", text=text)
            ids.append(profile_id)
        return ids

    async def register(self, profile_id: str, *, scene: str, name: str, text: str) -> None:
        """Store a profile in an existing scene."""
        await register_profile(self.context, profile_id, scene=scene, name=name, text=text, origin=Origin.FILE)

    async def start(self, people: Sequence[str | Choice], *, intent: str = "", key: str = "", **given: Any) -> str:
        """Start a process. Keywords are settings of the process, or fields of `StartProcessBody`."""
        fields = {name: given.pop(name) for name in list(given) if name in StartProcessBody.model_fields}
        if tension := fields.pop("tension", None):
            fields["tension"] = tension.model_dump(include=set(TensionBody.model_fields))
        body = StartProcessBody.model_validate(
            {
                "intent": intent or "I want to learn whether my idea for a ferry timetable works.",
                "demander": fields.pop("demander", f"person-{uuid.uuid4().hex[:8]}"),
                "participants": [one if isinstance(one, str) else one.model_dump() for one in people],
                "settings": given,
                **fields,
            }
        )
        return await start_process(self.context, OPERATOR, body, key=key or uuid.uuid4().hex)

    def handle(self, process_id: str) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(process_id)

    async def end(self, process_id: str, *, seconds: float = 60) -> Record:
        """Wait for the end and read the record.

        When no answers are awaited any more, the demander lets the residual tensions go.
        """
        if self._environment is not None:
            await self.pass_time(days=1_000)
        else:
            await self._let_residuals_go(process_id, seconds)
        async with asyncio.timeout(seconds):
            await self.handle(process_id).result()
        return await self.repositories.record(process_id)

    async def _let_residuals_go(self, process_id: str, seconds: float) -> None:
        """Return when the process has ended, or when it was told that no residual returns to the field."""

        async def ends() -> bool:
            row = await self.repositories.processes.get(process_id)
            if row.ended_at is not None:
                return True
            asked = await self.repositories.inbox.of_process(process_id, open_only=True)
            if row.phase == "answering" and asked and not any(ask.ask == "answer" for ask in asked):
                await self.say(process_id, "conclude", ask="conclude/answering")
                return True
            return False

        await until(ends, f"the end of {process_id}", seconds=seconds)

    async def say(self, process_id: str, kind: str, *, alias: str = DEMANDER, **fields: Any) -> MessageVerdict:
        """Send one message through the message relay. Returns its verdict. `whom`: the alias of the seat that the message concerns; by default the author's."""
        whom = fields.pop("whom", alias)
        if whom != DEMANDER or kind in _OF_A_SEAT:
            fields["alias"] = whom
        role = fields.pop("role", "demander" if alias == DEMANDER else "participant")
        author = Author(role=role, alias="" if role == "operator" else alias)
        key = fields.pop("key", uuid.uuid4().hex)
        message = MESSAGE.validate_python({"kind": kind, "key": key, "author": author, **fields})
        return await self._verdict(await self.relay.send(process_id, message, author_id=f"{role}:{alias}", via="test"))

    async def _verdict(self, stored: StoredMessage) -> MessageVerdict:
        """The verdict of a message after the relay has delivered it."""

        async def known() -> bool:
            nonlocal stored
            stored = await self.repositories.messages.get(stored.id)
            return stored.verdict is not None

        if stored.verdict is None:
            await until(known, f"a verdict on {stored.message.kind}")
        assert stored.verdict is not None
        return stored.verdict

    async def until(self, process_id: str, phase: str, *, round_number: int | None = None) -> None:
        """Return when the records show the process in `phase` (and in that round, if given)."""

        async def shown() -> bool:
            row = await self.repositories.processes.get(process_id)
            return row.phase == phase and round_number in (None, row.round)

        await until(shown, f"{process_id} in {phase}, round {round_number}")

    async def until_round(self, process_id: str, phase: str, round_number: int) -> None:
        """Return when the records show the process in `phase` of that round."""
        await self.until(process_id, phase, round_number=round_number)

    async def until_suspended(self, process_id: str) -> None:
        """Return when the records show at least one cause of suspension."""

        async def shown() -> bool:
            return bool((await self.repositories.processes.get(process_id)).suspended)

        await until(shown, f"{process_id} is suspended")

    async def until_ended(self, process_id: str, *, seconds: float = 60) -> None:
        """Return when the records show that the process has ended."""

        async def ended() -> bool:
            return (await self.repositories.processes.get(process_id)).ended_at is not None

        await until(ended, f"the end of {process_id}", seconds=seconds)

    async def pass_time(self, *, days: float) -> None:
        """Move the clock of the time-skipping server."""
        assert self._environment is not None, "only a time-skipping server has a clock that can be moved"
        await skip(self._environment, timedelta(days=days))

    async def asked(self, process_id: str, alias: str, round_number: int, *, what: str = "projection") -> None:
        """Return when the inbox of `alias` contains this ask."""

        async def waits() -> bool:
            open_asks = await self.repositories.inbox.of_process(process_id, open_only=True)
            return (what, alias, round_number) in {(one.ask, one.alias, one.round) for one in open_asks}

        await until(waits, f"{what} of {alias} in round {round_number}")

    async def speak(
        self, process_id: str, alias: str, round_number: int, text: str | None, *, key: str = ""
    ) -> MessageVerdict:
        """Send words for a turn, as the gateway would. None: nothing new."""
        body = SubmitProjectionBody(kind="submit_projection", round=round_number, text=text or "", nothing_new=not text)
        return await self.send(process_id, alias, body, key=key)

    async def finish(self, process_id: str, *people: str) -> Record:
        """Let `people` answer "nothing new" and commit until the process ends."""
        await self.answer_all(process_id, *people)
        return await self.end(process_id)

    async def answer_all(self, process_id: str, *people: str, seconds: float = 60) -> None:
        """Like `finish`, until the records show the end. Without `people` everybody answers, and every decision is `accept_as_is`."""

        async def over() -> bool:
            for ask in await self.repositories.inbox.of_process(process_id, open_only=True):
                if people and ask.alias not in people:
                    continue
                if ask.ask in ("projection", "gap"):
                    await self.speak(process_id, ask.alias, ask.round, None)
                elif ask.ask == "answer":
                    await self.say(process_id, "answer_plan", alias=ask.alias, revision=ask.round, answer="commit")
                elif ask.ask == "decision":
                    await self.say(process_id, "decide", decision="accept_as_is")
            return (await self.repositories.processes.get(process_id)).ended_at is not None

        try:
            await until(over, f"the end of {process_id}", seconds=seconds)
        except AssertionError as late:
            row = await self.repositories.processes.get(process_id)
            open_asks = await self.repositories.inbox.of_process(process_id, open_only=True)
            asks = [(ask.ask, ask.alias, ask.round) for ask in open_asks]
            stands = f"{row.phase}, round {row.round}, suspended by {row.suspended}, open asks {asks}"
            raise AssertionError(f"{late}: {stands}, {(await self.kinds(process_id))[-8:]}") from None

    async def happened(self, process_id: str, kind: str) -> bool:
        """Whether the records show an event of this kind."""
        return kind in await self.kinds(process_id)

    async def revise(self, process_id: str, **parts: Any) -> MessageVerdict:
        """Revise the tension through the message relay. Its text is stored beside the message."""
        body = ReviseTensionBody(kind="revise_tension", tension=TensionBody(**parts))
        return await self.send(process_id, DEMANDER, body)

    async def send(self, process_id: str, alias: str, body: MessageBody, *, key: str = "") -> MessageVerdict:
        """Send a message as the gateway would for the person with this alias."""
        if alias == DEMANDER:
            caller = Caller(Role.PERSON, (await self.repositories.processes.get(process_id)).demander)
        else:
            seats = await self.repositories.seats.seats(process_id)
            caller = Caller(Role.PERSON, next(seat.person for seat in seats if seat.alias == alias))
        access: ProcessAccess = await authorize_in_process(self.repositories, caller, process_id, Action.SEND_MESSAGE)
        message, text = build_message(body, access, key or uuid.uuid4().hex)
        return await self._verdict(
            await self.relay.send(process_id, message, author_id=access.author_id, via="test", text=text)
        )

    async def kinds(self, process_id: str) -> list[str]:
        return [event.kind.value for event in await self.repositories.events.events(process_id, limit=1_000)]


@asynccontextmanager
async def open_stack(
    client: Client,
    database_url: str,
    engine: Engine,
    *,
    workers_run: bool = True,
    role: workers.Role = "all",
    environment: WorkflowEnvironment | None = None,
    long_profiles: Literal["highway", "both"] | None = None,
    field: Callable[[Repositories], Field] = WholeScene,
    memory: ProfileMemory | None = None,
    keys: Keyring | None = None,
    day: DayBudgets | None = None,
    maintenance: MaintenanceSettings | None = None,
) -> AsyncIterator[Stack]:
    """A stack with workers of every role, or of one. `engine` answers the five steps.

    `day`: the day budgets for model calls; None: no limit. `long_profiles`: the retriever for long profiles.
    If it is None, the beginning of a profile is shown, and only `memory` remembers.
    """
    settings = Settings(
        worker_cached_workflows=200,
        retriever=long_profiles or "chunks",
        maintenance=maintenance or MaintenanceSettings(),
    )
    pool = await open_pool(database_url, keys=keys)
    repositories = Repositories(pool)
    retriever, own, reciting = wiring.long_profiles(settings, repositories, recitations(client))
    deps = Deps(
        repositories=repositories,
        model_calls=ModelCalls(
            {"*": engine},
            repositories.ledger,
            worker="test",
            limits=SpendingLimits(repositories.budgets, repositories.ledger, day=day),
        ),
        retriever=FirstPart() if long_profiles is None else retriever,
        memory=memory or own,
        reciting=reciting,
        field=field(repositories),
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(pool.close)
        context = AppContext(
            repositories,
            client,
            process_defaults=settings.process,
            options=GatewayOptions(answer_seconds=60),  # a slow machine must not cause the answer "later"
            remember=deps.memory is not None,
            request_recitation=recitations(client) if long_profiles is not None else None,
        )
        if workers_run:
            deps = replace(deps, duties=wiring.duties(settings, context))
            built: list[Worker] = workers.build(client, deps, settings, role=role)
            for worker in built:
                await stack.enter_async_context(worker)
            await stack.enter_async_context(_relaying(context.relay))
        yield Stack(context, environment)


@asynccontextmanager
async def _relaying(relay: MessageRelay) -> AsyncIterator[None]:
    """Deliver messages for which no sender waits: ends of children, messages that are sent again."""
    stop = asyncio.Event()
    running = asyncio.create_task(relay.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running
