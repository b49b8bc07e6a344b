"""What people are told: made once per thing, person and channel; leased to one sender at a time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.records.conftest import Announce, NewId
from tests.support.kept import notifications_of
from tongyao.protocol.model.events import AskName, Event, EventKind, Outbox, Snapshot, Waiting
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.records.database import Pool, session
from tongyao.records.people.notifications import Channel, Notice, Notification, Notifications, WrongCode
from tongyao.records.process.events import START, Events
from tongyao.records.process.journal import Journal

REMINDER = {"what": "reminder", "alias": "P01", "round": 1}
"""Complete, since senders of other tests may meet these rows in the shared database."""


@pytest.fixture
def notifications(pool: Pool) -> Notifications:
    return Notifications(pool)


def event(seq: int, kind: EventKind = EventKind.PHASE_CHANGED, **data: Any) -> Event:
    return Event(seq=seq, kind=kind, at=datetime.now(UTC), data=data)


async def write(pool: Pool, process: str, seq: int, *events: Event, waiting: tuple[Waiting, ...] = ()) -> None:
    snapshot = Snapshot(process_id=process, seq=seq, phase=Phase.CONFIRMING, round=0, waiting=True, inbox=waiting)
    await Journal(pool).write(Outbox(snapshot=snapshot, events=events), "run")


async def due(notifications: Notifications, process: str) -> list[Notification]:
    return [one for one in await notifications.due(1_000) if one.process_id == process]


async def test_what_waits_is_told_once_however_often_it_is_looked_at(
    pool: Pool, notifications: Notifications, announce: Announce
) -> None:
    process, asks = await announce(), (Waiting(id="confirm/1", ask=AskName.CONFIRM_TENSION, alias=DEMANDER),)
    await write(pool, process, 1, event(1), waiting=asks)
    await asyncio.gather(*(notifications.from_inbox(1_000) for _ in range(3)))
    await write(pool, process, 2, event(2), waiting=asks)
    await notifications.from_inbox(1_000)
    (told,) = await notifications_of(pool, process)
    assert (told.person, told.channel, told.about["what"]) == ("somebody", "log", "confirm_tension")


async def test_what_was_answered_and_waits_again_is_told_again(
    pool: Pool, notifications: Notifications, announce: Announce
) -> None:
    process, asks = await announce(), (Waiting(id="confirm/1", ask=AskName.CONFIRM_TENSION, alias=DEMANDER),)
    for seq, waiting in enumerate((asks, (), asks), 1):
        await write(pool, process, seq, event(seq), waiting=waiting)
        await notifications.from_inbox(1_000)
    assert len(await notifications_of(pool, process)) == 2


async def test_a_date_that_moved_by_more_than_an_hour_is_told_again(
    pool: Pool, notifications: Notifications, announce: Announce
) -> None:
    process, noon = await announce(), datetime(2026, 1, 5, 12, tzinfo=UTC)

    async def told(seq: int, due: datetime | None, remaining: int | None = None) -> list[str | None]:
        ask = Waiting(id="decide/1", ask=AskName.DECISION, alias=DEMANDER, due=due, remaining_seconds=remaining)
        await write(pool, process, seq, event(seq), waiting=(ask,))
        await asyncio.gather(notifications.from_inbox(1_000), notifications.from_inbox(1_000))
        return [one.about["due"] for one in await notifications_of(pool, process)]

    first = noon.isoformat()
    assert await told(1, noon) == [first]
    assert await told(2, noon + timedelta(minutes=50)) == [first]
    assert await told(3, None, 3_000) == [first], "while it is suspended there is no date to tell"
    later = noon + timedelta(days=1)
    assert await told(4, later) == [first, later.isoformat()]
    assert await told(5, later + timedelta(minutes=59)) == [first, later.isoformat()]
    assert await told(6, noon) == [first, later.isoformat(), first], "an earlier date as well"


async def test_each_confirmed_channel_is_told_and_no_other(
    pool: Pool, notifications: Notifications, announce: Announce, new_id: NewId
) -> None:
    process, person = await announce(), new_id("person")
    await notifications.set_channel(Channel(person=person, kind="mail", address="a@example.org"), code="c0de")
    hook = Channel(person=person, kind="webhook", address="https://example.org", secret="s", confirmed=True)
    await notifications.set_channel(hook)

    async def tell(seq: int) -> list[str]:
        await write(pool, process, seq, event(seq))
        notice = Notice(source=f"event/{process}/{seq}", person=person, process_id=process, about=REMINDER)
        await notifications.from_events(process, await Events(pool).events(process), [notice])
        return sorted(one.channel for one in await notifications_of(pool, process) if one.source == notice.source)

    assert await tell(1) == ["webhook"]
    with pytest.raises(WrongCode):
        await notifications.confirm(person, "mail", "guess")
    await notifications.confirm(person, "mail", "c0de")
    assert await tell(2) == ["mail", "webhook"]
    with pytest.raises(WrongCode):
        await notifications.confirm(person, "mail", "c0de")
    await notifications.set_channel(Channel(person=person, kind="mail", address="b@example.org"), code="new")
    assert await tell(3) == ["webhook"], "another address has to be confirmed anew"
    await notifications.remove_channel(person, "webhook")
    assert await tell(4) == ["log"]


async def test_events_are_looked_at_once(pool: Pool, notifications: Notifications, announce: Announce) -> None:
    process = await announce()
    await write(pool, process, 2, event(1), event(2))
    assert (process, START) in await notifications.behind(10_000, within=timedelta(days=1))
    events = await Events(pool).events(process, START, 10)
    notice = Notice(source=f"event/{process}/1", person="p", process_id=process, about=REMINDER)
    assert await notifications.from_events(process, events, [notice]) == 1
    assert await notifications.from_events(process, events, [notice]) == 0
    assert process not in {one for one, _ in await notifications.behind(10_000, within=timedelta(days=1))}


async def test_two_senders_never_get_the_same_and_a_dead_ones_come_back(
    pool: Pool, notifications: Notifications, announce: Announce
) -> None:
    process = await announce()
    for seq in range(1, 7):
        await write(pool, process, seq, event(seq))
        notice = Notice(source=f"event/{process}/{seq}", person="p", process_id=process, about=REMINDER)
        await notifications.from_events(process, await Events(pool).events(process), [notice])
    taken = await asyncio.gather(due(notifications, process), due(notifications, process))
    assert sum(map(len, taken)) == 6 and {one.attempts for one in taken[0] + taken[1]} == {1}
    async with session(pool) as connection:  # a minute passes
        await connection.execute(
            "UPDATE notifications SET next_attempt_at = now() WHERE process_id = %s AND state = 'pending'", [process]
        )
    again = await due(notifications, process)
    assert len(again) == 6 and {one.attempts for one in again} == {2}
    for one in again:
        await notifications.ended(one.id, "sent")
    await notifications.ended(again[0].id, "failed")
    assert {one.state for one in await notifications_of(pool, process)} == {"sent"}, "an end is an end"
