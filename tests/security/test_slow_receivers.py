"""Nobody's slow server delays what others are told, or whom else's agent is asked; nobody has webhooks of others called."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from tests.gateway.conftest import GatewayHarness
from tests.gateway.conftest import gateway as gateway  # the fixture
from tests.gateway.outbound.test_notifying import Kept
from tests.records.conftest import KEYS
from tests.records.process.test_journal import outbox
from tests.support.unchanged import UNCHANGED
from tests.support.until import until
from tongyao.app.notifications.notifier import Outgoing
from tongyao.gateway.outbound import deliveries as delivering
from tongyao.gateway.outbound import notifications as sending
from tongyao.gateway.outbound.deliveries import AT_ONCE, AT_ONCE_OF_ONE, Deliveries
from tongyao.gateway.outbound.notifications import NotificationSender
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.people.notifications import Channel, Notice
from tongyao.records.process.changes import Changes
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import NewProcess, Processes
from tongyao.records.repositories import Repositories


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url, max_size=4, application_name="tests", keys=KEYS)
    yield pool
    await pool.close()


class Receivers:
    """Webhooks by address: `slow` ones take until they are let go."""

    def __init__(self) -> None:
        self.took: list[str] = []
        self.waiting = 0
        self.let_go = asyncio.Event()

    async def send(self, outgoing: Outgoing) -> None:
        if "slow" in outgoing.address:
            self.waiting += 1
            await self.let_go.wait()
        self.took.append(outgoing.address)


async def waiting_notices(repositories: Repositories, people: dict[str, int]) -> None:
    """So many things to tell each of these people, in this order."""
    process = f"process-{uuid4().hex[:12]}"
    await Processes(repositories.pool).create(NewProcess(id=process, demander="d", language="en", intent_text_id=None))
    for person, count in people.items():
        url = f"https://{person}.example/hook"
        await repositories.notifications.set_channel(
            Channel(person=person, kind="webhook", address=url, secret="whsec_", confirmed=True)
        )
        for number in range(count):
            about = {"what": "process_ended", "alias": "P00", "round": number}
            await repositories.notifications.tell(
                Notice(source=f"test/{person}/{number}", person=person, process_id=process, about=about)
            )


async def test_a_receiver_that_never_answers_holds_up_nobody_else(pool: Pool) -> None:
    repositories, receivers = Repositories(pool), Receivers()
    await waiting_notices(repositories, {"slow-one": 60, "slow-two": 60, "quick": 5})
    sender, stop = NotificationSender(repositories, {"webhook": receivers}), asyncio.Event()
    running = asyncio.create_task(sender.run(stop, idle=0.05))
    try:
        await until(
            lambda: len(receivers.took) >= 5 and receivers.waiting >= 2 * AT_ONCE_OF_ONE,
            "the quick one has taken all, the slow ones hold theirs",
        )
        assert set(receivers.took) == {"https://quick.example/hook"}
        assert receivers.waiting == 2 * AT_ONCE_OF_ONE, "of one person so many at a time"
    finally:
        stop.set()
        await running


async def test_a_delivery_ends_when_its_time_is_over(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SECONDS", 0.05)
    repositories, receivers = Repositories(pool), Receivers()
    await waiting_notices(repositories, {"slow": 1})
    sender = NotificationSender(repositories, {"webhook": receivers})
    assert await sender.once() == 1
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT state, attempts, next_attempt_at > now() AS later FROM notifications")
        assert await cursor.fetchall() == [{"state": "pending", "attempts": 1, "later": True}]


async def test_everybodys_first_comes_before_anybodys_second(pool: Pool) -> None:
    repositories = Repositories(pool)
    await waiting_notices(repositories, {"many": 10, "few": 1, "other": 1})
    due = await repositories.notifications.due(4, of_one=2)
    assert sorted(one.person for one in due) == ["few", "many", "many", "other"]
    assert await repositories.notifications.due(4, of_one=2, running={"many": 2}) == []


async def test_deliveries_under_way_count_among_those_of_one_person(pool: Pool) -> None:
    repositories = Repositories(pool)
    await waiting_notices(repositories, {"many": 10})
    assert len(await repositories.notifications.due(4, of_one=2, running={"many": 1})) == 1


@dataclass(frozen=True)
class Parcel:
    person: str


class Parcels(Deliveries[Parcel]):
    """Of each person as many as there is room for; what `fails` raises at its delivery."""

    what = "tests"

    def __init__(self, changes: Changes, left: list[Parcel], *, fails: bool = False) -> None:
        super().__init__(changes)
        self.left, self.fails = left, fails
        self.let_go = asyncio.Event()
        self.looked = 0
        self.most: list[int] = []
        self.running = 0

    async def due(self, most: int, *, of_one: int, running: Counter[str]) -> list[Parcel]:
        self.looked += 1
        self.most.append(most)
        taken = [parcel for parcel in self.left if running[parcel.person] < of_one][:most]
        self.left = [parcel for parcel in self.left if parcel not in taken]
        return taken

    async def deliver(self, due: Parcel) -> None:
        self.running += 1
        if self.fails:
            raise OSError("the records are away")
        await self.let_go.wait()
        self.running -= 1


async def test_deliveries_at_a_time_are_bounded() -> None:
    deliveries, stop = (
        Parcels(UNCHANGED, [Parcel(f"person-{number}") for number in range(2 * AT_ONCE)]),
        asyncio.Event(),
    )
    running = asyncio.create_task(deliveries.run(stop, idle=0.01))
    await until(lambda: deliveries.most[-1:] == [0], "no place is free")
    assert deliveries.running == AT_ONCE
    deliveries.let_go.set()
    await until(lambda: not deliveries.left and not deliveries.running, "all are delivered")
    stop.set()
    await running


async def test_a_delivery_that_fails_is_logged_and_its_end_starts_the_next() -> None:
    deliveries, stop = Parcels(UNCHANGED, [Parcel("one"), Parcel("two")], fails=True), asyncio.Event()
    with capture_logs() as logs:
        running = asyncio.create_task(deliveries.run(stop, idle=3600))
        await until(lambda: deliveries.running == 2, "both deliveries have ended")
        await until(lambda: deliveries.looked >= 2, "their end is a look at what is due")
        stop.set()
        await running
    assert [(line["event"], line["error"]) for line in logs if line["event"].startswith("one of the tests")] == [
        ("one of the tests ended early", "OSError")
    ] * 2


async def test_it_is_looked_again_when_a_process_has_events(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "LEAST_SECONDS", 0.01)
    process = f"process-{uuid4().hex[:12]}"
    await Processes(pool).create(NewProcess(id=process, demander="d", language="en", intent_text_id=None))
    deliveries, stop = Parcels(Changes(pool), []), asyncio.Event()
    running = asyncio.create_task(deliveries.run(stop, idle=3600))
    for seq in range(1, 5):  # two looks at the beginning, and one when the connection listens, are of their own
        before = deliveries.looked
        await Journal(pool).write(outbox(process, seq, seq), "run")
        await until(lambda: deliveries.looked > before, "a look for each event")  # noqa: B023  # it ends before the next
    stop.set()
    await running


async def test_a_webhook_is_called_only_after_its_owner_has_shown_the_code(gateway: GatewayHarness) -> None:
    called = Kept()
    gateway = gateway.also(notifiers={"webhook": called})
    joined = await gateway.join(await gateway.scene())
    path, token = f"/profiles/{joined['profile_id']}/channels/webhook", joined["token"]
    made = await gateway.ask("PUT", path, token, json={"url": "https://victim.example/hook"})
    assert made.json()["confirmed"] is False
    assert [one.data["what"] for one in called.sent] == ["code"]
    guess = await gateway.ask("PUT", f"{path}/confirmation", token, json={"code": "guess"})
    assert (guess.status_code, guess.json()["code"]) == (422, "wrong_code")
    (channel,) = await gateway.context.repositories.notifications.channels(joined["profile_id"])
    assert not channel.confirmed
    shown = await gateway.ask("PUT", f"{path}/confirmation", token, json={"code": called.sent[0].data["code"]})
    assert shown.json()["confirmed"] is True
