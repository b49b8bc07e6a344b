"""A workflow that is reset, restored, or continues as new: which of its events stand."""

from __future__ import annotations

from datetime import timedelta

from tests.records.conftest import Announce
from tests.records.told import event, standing, stated, superseded, told
from tongyao.protocol.model.process import Phase
from tongyao.records.database import Pool, session
from tongyao.records.people.notifications import Notifications
from tongyao.records.process.events import EventCursor, Events
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import Processes


async def test_a_run_that_continues_as_new_supersedes_nothing(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    # The step that wrote 3 was not known to have ended: the next run tells it once more.
    await journal.write(told(process, event(3), event(4)), "run-2")
    await journal.write(told(process, event(5)), "run-3")
    assert await standing(pool, process) == [(1, 1, "first"), (1, 2, "first"), (1, 3, "first"), (2, 4, "first"), (3, 5, "first")]  # fmt: skip
    assert await superseded(pool, process) == []
    row = await Processes(pool).get(process)
    assert (row.run_id, row.epoch, row.seq) == ("run-3", 3, 5)


async def test_what_a_reset_run_says_otherwise_supersedes_what_was_said_and_is_kept(
    pool: Pool, announce: Announce
) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, *(event(seq) for seq in range(1, 7))), "run-1")
    await journal.write(told(process, event(3), event(4, of="second")), "run-2")
    assert await standing(pool, process) == [(1, 1, "first"), (1, 2, "first"), (1, 3, "first"), (2, 4, "second")]
    assert await superseded(pool, process) == [(1, 4), (1, 5), (1, 6)]
    row = await Processes(pool).get(process)
    assert (row.epoch, row.seq) == (2, 4), "the row goes back with it"


async def test_that_a_run_went_back_is_known_until_its_state_was_asked_for(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    assert not await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    assert not await journal.write(told(process, event(4)), "run-2"), "it continued as new"
    assert await journal.write(told(process, event(3, of="second")), "run-3")
    assert await journal.write(told(process, event(4, of="second")), "run-3")
    await journal.project_again(stated(process, seq=4, outbox=[event(4, of="second")]), "run-3")
    assert not await journal.write(told(process, event(5, of="second")), "run-3")
    assert [(epoch, of) for epoch, _, of in await standing(pool, process)] == [
        (1, "first"),
        (1, "first"),
        (3, "second"),
        (3, "second"),
        (4, "second"),
    ], "what stands as the state has it is not told again"


async def test_a_reset_run_without_news_takes_back_what_came_after(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    await journal.write(told(process, seq=2), "run-2")
    assert [seq for _, seq, _ in await standing(pool, process)] == [1, 2]


async def test_what_an_older_run_still_writes_is_kept_and_stands_only_before_the_newer_one(
    pool: Pool, announce: Announce
) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1)), "run-1")
    await journal.write(told(process, event(4, of="second")), "run-2")
    late = told(process, event(2), event(3), event(4), event(5), phase=Phase.FAILED)
    await journal.write(late, "run-1")
    await journal.write(late, "run-1")
    assert await standing(pool, process) == [(1, 1, "first"), (1, 2, "first"), (1, 3, "first"), (2, 4, "second")]
    assert await superseded(pool, process) == [(1, 4), (1, 5)]
    row = await Processes(pool).get(process)
    assert (row.phase, row.seq, row.epoch) == ("crystallizing", 4, 2)


async def test_outboxes_of_a_reset_run_may_arrive_in_any_order(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, *(event(seq) for seq in range(1, 7))), "run-1")
    await journal.write(told(process, event(5, of="second")), "run-2")
    await journal.write(told(process, event(3), event(4, of="second")), "run-2")
    assert [of for _, _, of in await standing(pool, process)] == ["first", "first", "first", "second", "second"]


async def test_a_run_that_was_restored_from_a_backup_begins_a_new_epoch(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    await journal.write(told(process, event(2), event(3)), "run-1")
    assert (await Processes(pool).get(process)).epoch == 1, "to repeat oneself is to say nothing new"
    await journal.write(told(process, event(2, of="second")), "run-1")
    assert await standing(pool, process) == [(1, 1, "first"), (2, 2, "second")]
    row = await Processes(pool).get(process)
    assert (row.epoch, row.seq) == (2, 2)


async def test_a_reader_gets_what_stands_in_the_place_of_what_they_have_read(pool: Pool, announce: Announce) -> None:
    process, journal, events = await announce(), Journal(pool), Events(pool)
    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    cursor = (await events.events(process))[-1].cursor
    assert cursor == EventCursor(epoch=1, seq=3)
    await journal.write(told(process, event(2, of="second")), "run-2")
    (again,) = await events.events(process, cursor)
    assert (again.cursor, again.data["of"]) == (EventCursor(epoch=2, seq=2), "second")
    assert await events.events(process, again.cursor) == []
    await journal.write(told(process, event(3, of="second")), "run-2")
    assert [one.seq for one in await events.events(process, again.cursor)] == [3]
    assert [one.seq for one in await events.events(process, EventCursor(seq=3))] == [], (
        "by number alone nothing is told"
    )


async def test_people_are_told_of_what_happens_after_a_reset(pool: Pool, announce: Announce) -> None:
    process, journal, events, notifications = await announce(), Journal(pool), Events(pool), Notifications(pool)

    async def behind() -> EventCursor | None:
        return dict(await notifications.behind(10_000, within=timedelta(days=1))).get(process)

    async def look() -> list[int]:
        cursor = await behind()
        found = await events.events(process, cursor) if cursor else []
        await notifications.from_events(process, found, [])
        return [one.seq for one in found]

    await journal.write(told(process, event(1), event(2), event(3)), "run-1")
    assert (await look(), await look()) == ([1, 2, 3], [])
    await journal.write(told(process, event(3)), "run-2")
    assert await look() == [], "a run that goes on behind the last event brings nothing new"
    await journal.write(told(process, event(2, of="second")), "run-3")
    assert (await look(), await look()) == ([2], [])


async def test_nobody_is_told_of_a_process_that_was_last_written_long_ago(pool: Pool, announce: Announce) -> None:
    old, new = await announce(), await announce()
    for process in (old, new):
        await Journal(pool).write(told(process, event(1)), "run-1")
    async with session(pool) as connection:
        await connection.execute("UPDATE processes SET updated_at = now() - interval '2 days' WHERE id = %s", [old])
    behind = dict(await Notifications(pool).behind(10_000, within=timedelta(days=1)))
    assert new in behind and old not in behind


async def test_a_run_that_the_records_know_may_go_on_without_being_asked(pool: Pool, announce: Announce) -> None:
    process, journal = await announce(), Journal(pool)
    assert await journal.knows(process, "run-1"), "nobody has written yet"
    await journal.write(told(process, event(1)), "run-1")
    assert await journal.knows(process, "run-1") and not await journal.knows(process, "run-2")
    await journal.write(told(process, event(2)), "run-2")
    assert await journal.knows(process, "run-1") and await journal.knows(process, "run-2")
