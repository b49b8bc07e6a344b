"""Transitions reach the records once, in whatever order they come; readers miss none."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.records.conftest import Announce, NewId
from tongyao.protocol.model.events import AskName, Event, EventKind, Outbox, Snapshot, Waiting
from tongyao.protocol.model.process import Phase
from tongyao.records.database import Pool
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.process.events import START, EventCursor, Events
from tongyao.records.process.inbox import Inbox
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import Processes, ProcessUnknown
from tongyao.records.process.seats import SeatRow, Seats

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def outbox(
    process: str,
    first: int,
    last: int,
    *,
    phase: Phase = Phase.CRYSTALLIZING,
    round: int = 1,
    inbox: tuple[Waiting, ...] = (),
    kind: EventKind = EventKind.ROUND_OPENED,
) -> Outbox:
    """Transitions `first` to `last`; each event happens at `seq` minutes past noon."""
    events = tuple(
        Event(seq=seq, kind=kind, at=NOON + timedelta(minutes=seq), data={"round": round})
        for seq in range(first, last + 1)
    )
    snapshot = Snapshot(
        process_id=process,
        seq=last,
        phase=phase,
        round=round,
        waiting=bool(inbox),
        tokens=10 * last,
        inbox=inbox,
    )
    return Outbox(snapshot=snapshot, events=events)


async def test_a_transition_shows_in_the_row_and_among_the_events(pool: Pool, announce: Announce) -> None:
    process = await announce()
    await Journal(pool).write(outbox(process, 1, 2, round=3), "run")
    row = await Processes(pool).get(process)
    assert (row.seq, row.phase, row.round, row.tokens, row.started) == (2, "crystallizing", 3, 20, True)
    events = await Events(pool).events(process)
    assert [(event.seq, event.kind, event.data) for event in events] == [
        (1, EventKind.ROUND_OPENED, {"round": 3}),
        (2, EventKind.ROUND_OPENED, {"round": 3}),
    ]
    assert events[0].at == NOON + timedelta(minutes=1)


async def test_the_end_is_noted_with_its_time_and_outcome(pool: Pool, announce: Announce) -> None:
    process = await announce()
    await Journal(pool).write(outbox(process, 1, 1, phase=Phase.EXPIRED, kind=EventKind.PROCESS_ENDED), "run")
    row = await Processes(pool).get(process)
    assert (row.phase, row.outcome, row.ended_at) == ("expired", "expired", NOON + timedelta(minutes=1))


async def test_a_process_that_was_given_up_and_still_speaks_is_open_again(pool: Pool, announce: Announce) -> None:
    """What reconciliation notes is a guess; the workflow's own word stands."""
    process, processes = await announce(), Processes(pool)
    await Journal(pool).set_ended(process, "failed")
    await Journal(pool).write(outbox(process, 1, 1), "run")
    row = await processes.get(process)
    assert (row.phase, row.ended_at, row.outcome) == ("crystallizing", None, None)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_outboxes_in_any_order_and_repeated_leave_the_same_records(
    pool: Pool, announce: Announce, order: tuple[int, ...]
) -> None:
    process, journal = await announce(), Journal(pool)
    wait = Waiting(id="decide/1", ask=AskName.DECISION, alias="P00", round=3)
    boxes = (
        outbox(process, 1, 2, round=1),
        outbox(process, 3, 4, round=2, inbox=(wait,)),
        outbox(process, 5, 6, round=3),
    )
    for index in (*order, *order):
        await journal.write(boxes[index], "run")
    row = await Processes(pool).get(process)
    assert (row.seq, row.round, row.waiting) == (6, 3, False)
    assert [event.seq for event in await Events(pool).events(process)] == [1, 2, 3, 4, 5, 6]
    assert await Inbox(pool).of_process(process, open_only=True) == []


async def test_a_reader_who_goes_on_from_the_last_seen_misses_no_event(pool: Pool, announce: Announce) -> None:
    """Outboxes are written concurrently and out of order, while somebody reads all along."""
    process, journal, events = await announce(), Journal(pool), Events(pool)
    total = 40
    boxes = [outbox(process, seq, seq) for seq in range(1, total + 1)]
    boxes.sort(key=lambda box: (box.snapshot.seq * 7) % total)
    seen: list[int] = []

    async def read() -> None:
        cursor = START
        while len(seen) < total:
            new = await events.events(process, cursor, limit=7)
            seen.extend(event.seq for event in new)
            cursor = new[-1].cursor if new else cursor

    await asyncio.gather(read(), *(journal.write(box, "run") for box in boxes))
    assert seen == list(range(1, total + 1))


async def test_what_stands_behind_a_hole_waits_for_the_hole_to_be_filled(pool: Pool, announce: Announce) -> None:
    process, journal, events = await announce(), Journal(pool), Events(pool)
    await journal.write(outbox(process, 1, 1), "run")
    await journal.write(outbox(process, 4, 5), "run")
    assert [event.seq for event in await events.events(process)] == [1]
    await journal.write(outbox(process, 2, 3), "run")
    assert [event.seq for event in await events.events(process, EventCursor(seq=1), limit=3)] == [2, 3, 4]


async def test_what_waits_is_opened_once_closed_when_it_waits_no_longer_and_may_wait_again(
    pool: Pool, announce: Announce, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    process, journal, inbox, someone = await announce(), Journal(pool), Inbox(pool), await person()
    await Seats(pool).seat(process, [SeatRow.of(someone, alias="P01", endpoint="human", fallback="lapse")])
    turn = Waiting(id="say/1/P01", ask=AskName.PROJECTION, alias="P01", round=1, due=NOON + timedelta(days=3))
    resume = Waiting(id="resume", ask=AskName.RESUME, alias="P00")

    await journal.write(outbox(process, 1, 1, inbox=(turn,)), "run")
    later = turn.model_copy(update={"due": NOON + timedelta(days=4)})
    await journal.write(outbox(process, 2, 2, inbox=(later, resume)), "run")
    open_now = await inbox.of_process(process, open_only=True)
    assert [(row.ask, row.alias, row.person) for row in open_now] == [
        ("projection", "P01", someone.profile_id),
        ("resume", "P00", "somebody"),
    ]
    assert open_now[0].opened_at == NOON + timedelta(minutes=1)
    assert open_now[0].due_at == NOON + timedelta(days=4)
    assert [row.process_id for row in await inbox.of_person(someone.profile_id)] == [process]

    await journal.write(outbox(process, 3, 3), "run")
    assert await inbox.of_process(process, open_only=True) == []
    assert await inbox.of_person(someone.profile_id) == []

    await journal.write(outbox(process, 4, 4, inbox=(resume,)), "run")
    (again,) = await inbox.of_process(process, open_only=True)
    assert (again.ask, again.opened_at, again.closed_at) == ("resume", NOON + timedelta(minutes=4), None)
    assert len(await inbox.of_process(process)) == 2


async def test_a_process_that_was_never_announced_is_refused_and_leaves_no_trace(pool: Pool, new_id: NewId) -> None:
    process = new_id("process")
    with pytest.raises(ProcessUnknown, match=process):
        await Journal(pool).write(outbox(process, 1, 1), "run")
    assert await Events(pool).events(process) == []
