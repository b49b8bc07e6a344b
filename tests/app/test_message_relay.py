"""The relay on a real server: only the workflow's own verdict is final, whatever else happens on the way."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.app.answering import NAME, Answering, Heard, Repaired
from tests.support.kept import notifications_of, pending_messages
from tests.support.until import until
from tongyao.app.errors import Refused
from tongyao.app.messaging import message_relay
from tongyao.app.messaging.message_relay import SET_ASIDE_AFTER, MessageRelay
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import DEMANDER
from tongyao.records.database import open_pool
from tongyao.records.migrate import migrate
from tongyao.records.people.notifications import OPERATORS
from tongyao.records.process.messages import StoredMessage
from tongyao.records.process.process_rows import NewProcess
from tongyao.records.repositories import Repositories
from tongyao.runtime.errors import NamespaceUnknown
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.connection import connect

AUTHOR = m.Author(role="demander", alias=DEMANDER)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(message_relay, "RETRY_SECONDS", (0.01,))


@pytest.fixture
async def repositories(fresh_database_url: str) -> AsyncIterator[Repositories]:
    pool = await open_pool(fresh_database_url)
    yield Repositories(pool)
    await pool.close()


class Room:
    """One process with its relay; its workflow is an `Answering`."""

    def __init__(self, repositories: Repositories, client: Client, process: str) -> None:
        self.repositories, self.client, self.process = repositories, client, process
        self.relay = MessageRelay(repositories, client)

    async def send(self, message: m.Message, *, wait: float = 5.0) -> StoredMessage:
        return await self.relay.send(self.process, message, author_id="somebody", via="test", wait=wait)

    async def again(self, stored: StoredMessage) -> StoredMessage:
        """Try once more, whether it is due or not."""
        taken = await self.repositories.messages.take(stored.id)
        assert taken is not None, "something of its lane goes first"
        return await self.relay.deliver(taken, wait=5.0)

    async def set_aside(self, message: m.Message) -> StoredMessage:
        stored = await self.send(message)
        while stored.set_aside_at is None:
            stored = await self.again(stored)
        return stored

    async def applied(self) -> list[str]:
        keys: list[str] = await self.client.get_workflow_handle(self.process).query("keys")
        return keys

    async def get(self, stored: StoredMessage) -> StoredMessage:
        return await self.repositories.messages.get(stored.id)


async def announced(repositories: Repositories) -> str:
    new = NewProcess(id=f"p-{uuid.uuid4().hex[:8]}", demander="d", language="en", intent_text_id=None)
    return (await repositories.processes.create(new)).id


@asynccontextmanager
async def working(client: Client, process: str, version: type = Answering) -> AsyncIterator[None]:
    """A worker of one version, on a queue of this process alone."""
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue=process, workflows=[version], workflow_runner=runner):
        yield


@pytest.fixture
async def room(repositories: Repositories, temporal: Client) -> Room:
    process = await announced(repositories)
    await temporal.start_workflow(NAME, Heard(), id=process, task_queue=process)
    await repositories.processes.mark_started(process)
    return Room(repositories, temporal, process)


def confirm(key: str) -> m.ConfirmTension:
    return m.ConfirmTension(key=key, author=AUTHOR)


def replan(key: str) -> m.Replan:
    """Of this kind `Answering` has a bug."""
    return m.Replan(key=key, author=AUTHOR, without=("P01",))


def extend(key: str) -> m.ExtendDeadline:
    """This kind is not known to `Answering`."""
    return m.ExtendDeadline(key=key, author=AUTHOR, alias="P01", seconds=60)


async def test_the_workflows_own_verdicts_are_final(room: Room) -> None:
    async with working(room.client, room.process):
        applied = await room.send(confirm("k1"))
        refused = await room.send(m.Conclude(key="k2", author=AUTHOR))
        again = await room.send(confirm("k1"))
    assert applied.verdict is not None and applied.verdict.accepted
    assert refused.verdict is not None and refused.verdict.code == "not_now"
    assert (again.id, again.attempts) == (applied.id, 1), "what has a verdict is not sent again"
    assert await pending_messages(room.repositories.pool, room.process) == []


async def test_a_message_that_is_leased_when_its_senders_time_is_over_is_delivered_at_once(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, wait = room.repositories.messages.take, 0.2

    async def slow(message: str, *, lease: float) -> StoredMessage | None:
        leased = await take(message, lease=lease)
        await asyncio.sleep(2 * wait)  # the answer of the records is on its way
        return leased

    monkeypatch.setattr(room.repositories.messages, "take", slow)
    stored = await room.send(confirm("k1"), wait=wait)
    assert (stored.attempts, stored.leased_until) == (1, None), "no worker answered, and the lease is given back"
    monkeypatch.undo()
    async with working(room.client, room.process):
        assert (await room.again(stored)).verdict is not None


@pytest.mark.parametrize(
    ("message", "trouble"),
    [
        (extend("unknown kind"), "RuntimeError"),
        (replan("a validator with a bug"), "ValueError"),
        (m.SetMandate(key="unreadable", author=AUTHOR, alias=DEMANDER), "RuntimeError"),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
async def test_an_answer_that_is_no_verdict_is_kept_and_tried_again(
    room: Room, message: m.Message, trouble: str
) -> None:
    async with working(room.client, room.process):
        stored = await room.send(message)
        assert (stored.verdict, stored.trouble, stored.failures, stored.set_aside_at) == (None, trouble, 1, None)
        stored = await room.again(stored)
    assert (stored.verdict, stored.failures, stored.attempts) == (None, 2, 2)


async def test_a_message_of_a_kind_that_an_old_worker_does_not_know_is_applied_by_the_next(room: Room) -> None:
    async with working(room.client, room.process):
        stored = await room.send(extend("k1"))
        later = await room.send(confirm("k2"), wait=0.3)
        assert stored.verdict is None and later.verdict is None, "the later one waits behind it"
    async with working(room.client, room.process, Repaired):
        assert (await room.again(stored)).verdict is not None
        await room.again(later)
        assert await room.applied() == ["k1", "k2"]


async def test_what_cannot_be_delivered_is_set_aside_and_told_to_operators(room: Room) -> None:
    async with working(room.client, room.process):
        stored = await room.set_aside(replan("k1"))
        assert stored.failures == SET_ASIDE_AFTER
        told = [one for one in await notifications_of(room.repositories.pool, room.process) if one.person == OPERATORS]
        assert [(one.source, one.about["what"]) for one in told] == [(f"message/{stored.id}", "set_aside")]
        later = await room.send(confirm("k2"))
        assert later.verdict is not None and later.verdict.accepted
        stored = await room.get(stored)
        assert stored.verdict is not None and stored.verdict.code == "overtaken"
    async with working(room.client, room.process, Repaired):
        assert await room.repositories.messages.take(stored.id) is None, "never sent again"
        assert await room.applied() == ["k2"]


async def test_what_was_set_aside_is_tried_again_while_nothing_later_was_applied(room: Room) -> None:
    async with working(room.client, room.process):
        stored = await room.set_aside(replan("k1"))
        refused = await room.send(m.Conclude(key="k2", author=AUTHOR))
        assert refused.verdict is not None, "a later one of its lane goes first"
        assert (await room.get(stored)).verdict is None, "a refusal overtakes nothing"
    async with working(room.client, room.process, Repaired):
        stored = await room.again(stored)
        assert stored.verdict is not None and stored.verdict.accepted
        assert await room.applied() == ["k1"]


async def test_what_was_applied_after_all_is_not_called_overtaken(room: Room) -> None:
    """Its last try came to nothing here, and reached the workflow: the answer was lost."""
    async with working(room.client, room.process):
        stored = await room.set_aside(replan("k1"))
    async with working(room.client, room.process, Repaired):
        handle = room.client.get_workflow_handle(room.process)
        await handle.execute_update(stored.kind, stored.message, id=stored.id)
        await room.send(confirm("k2"))
        assert await room.applied() == ["k1", "k2"]
        verdict = (await room.get(stored)).verdict
        assert verdict is not None and verdict.accepted


async def test_a_control_message_waits_behind_nothing(room: Room) -> None:
    async with working(room.client, room.process):
        await room.send(replan("stuck"))
        cancel = await room.send(m.Cancel(key="cancel", author=AUTHOR), wait=2.0)
    assert (cancel.lane, cancel.attempts) == ("P00/control", 1)


async def test_across_runs_a_message_is_applied_once(room: Room) -> None:
    async with working(room.client, room.process):
        first = await room.send(confirm("k1"))
        stored = await room.send(m.Upgrade(key="k2", author=AUTHOR))
        assert (stored.verdict, stored.trouble, stored.failures) == (None, "run_closed", 0)
        stored = await room.again(stored)
        assert stored.verdict is not None and stored.verdict.accepted
        repeated = await room.client.get_workflow_handle(room.process).execute_update(
            first.kind, first.message, id=first.id, result_type=type(stored.verdict)
        )
        assert repeated.repeated, "an update of the run before is known by its number"
        assert await room.applied() == ["k1", "k2"]


async def test_while_no_worker_answers_a_message_waits_and_is_never_set_aside(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_relay, "SET_ASIDE_AFTER", 1)
    stored = await room.send(confirm("k1"), wait=0.5)
    taken = await room.repositories.messages.take(stored.id)
    assert taken is not None
    stored = await room.relay.deliver(taken, wait=0.5)
    assert (stored.verdict, stored.trouble, stored.failures, stored.set_aside_at) == (None, "no_worker", 0, None)
    async with working(room.client, room.process):
        assert (await room.again(stored)).verdict is not None
        assert await room.applied() == ["k1"]


async def test_without_a_workflow_the_row_decides(room: Room, repositories: Repositories) -> None:
    announced_only = Room(repositories, room.client, await announced(repositories))
    stored = await announced_only.send(confirm("k1"))
    assert (stored.verdict, stored.trouble) == (None, "not_found")
    async with working(room.client, room.process):
        handle = room.client.get_workflow_handle(room.process)
        await handle.signal("end")
        await handle.result()
        stored = await room.send(confirm("k1"))
        assert (stored.verdict, stored.trouble) == (None, "not_found"), "a row that is open: its end is not known yet"
        await repositories.journal.set_ended(room.process, "failed")
        stored = await room.again(stored)
    assert stored.verdict is not None and stored.verdict.code == "ended"


async def test_in_a_wrong_namespace_nothing_is_refused(room: Room, temporal_server: LocalTemporal) -> None:
    elsewhere = await Client.connect(temporal_server.address, namespace="nowhere", plugins=[plugin()])
    lost = Room(room.repositories, elsewhere, room.process)
    stored = await lost.send(confirm("k1"))
    assert (stored.verdict, stored.trouble) == (None, "not_found")
    with pytest.raises(NamespaceUnknown, match=r"nowhere.*TEMPORAL_NAMESPACE"):
        await connect(Settings(temporal_address=temporal_server.address, temporal_namespace="nowhere"))
    async with working(room.client, room.process):
        assert (await room.again(stored)).verdict is not None


async def test_a_full_lane_is_refused_before_anything_is_stored(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongyao.records.process.messages.MAX_MESSAGES", 1)
    await room.send(confirm("k1"), wait=0.2)
    with pytest.raises(Refused, match="as many messages") as refused:
        await room.send(confirm("k2"))
    assert refused.value.code == "too_many_messages"
    assert [one.key for one in await pending_messages(room.repositories.pool, room.process)] == ["k1"]


async def test_a_relay_looks_when_it_is_notified_and_when_a_try_is_due(room: Room, temporal: Client) -> None:
    messages, stop = room.repositories.messages, asyncio.Event()
    stored = [await messages.put(room.process, confirm("k1"), author_id="somebody", via="test")]
    await messages.postpone(stored[0].id, 1.0, trouble="no_worker")
    running = asyncio.create_task(room.relay.run(stop, idle=3600))

    async def decided() -> bool:
        return (await room.get(stored[-1])).verdict is not None

    async with working(temporal, room.process):
        await until(decided, "the try that was due by itself")
        for number in (2, 3):  # the connection itself wakes the relay once when it listens
            key = confirm(f"k{number}")
            stored.append(await messages.put(room.process, key, author_id="somebody", via="test"))
            await until(decided, "what was notified")
    stop.set()
    await running


async def test_a_cancelled_relay_ends_its_deliveries_and_their_leases(room: Room) -> None:
    stored = await room.repositories.messages.put(room.process, confirm("k1"), author_id="somebody", via="test")
    running = asyncio.create_task(room.relay.run(asyncio.Event(), idle=0.05))

    async def leased() -> bool:
        return (await room.get(stored)).leased_until is not None

    await until(leased, "the relay delivers, and no worker answers")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert (await room.get(stored)).leased_until is None


@pytest.fixture
def own_postgres(short_home: Path) -> Iterator[LocalPostgres]:
    server = LocalPostgres(short_home / "away", durable=False)
    yield server
    server.stop()


async def test_while_postgresql_is_away_nothing_is_lost_and_the_relay_lives_on(
    own_postgres: LocalPostgres, temporal: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_relay, "_WITHOUT_RECORDS_SECONDS", 0.1)
    monkeypatch.setattr(message_relay, "BEAT_SECONDS", 0.1)
    url = await asyncio.to_thread(own_postgres.start)
    await asyncio.to_thread(migrate, url)
    pool = await open_pool(url)
    pool.timeout = 2.0
    repositories = Repositories(pool)
    process = await announced(repositories)
    await temporal.start_workflow(NAME, Heard(), id=process, task_queue=process)
    room, stop = Room(repositories, temporal, process), asyncio.Event()
    stored = await repositories.messages.put(process, confirm("k1"), author_id="somebody", via="test")
    await asyncio.to_thread(own_postgres.stop)
    with capture_logs() as logs:
        running = asyncio.create_task(room.relay.run(stop, idle=0.05))

        async def reported() -> bool:
            return any(line["event"] == "messages wait for the records" for line in logs)

        await until(reported)
    await asyncio.to_thread(own_postgres.start)
    async with working(temporal, process):

        async def decided() -> bool:
            return (await room.get(stored)).verdict is not None

        await until(decided)
        assert await room.applied() == ["k1"]
    assert not running.done()
    stop.set()
    await running
    await pool.close()
