"""A child's end is a message to its parent, in the transaction that closes the child's row; a cancelled branch has no more."""

from __future__ import annotations

import asyncio

import pytest

from tests.records.conftest import Announce, NewId
from tests.records.told import NOON
from tests.support.kept import pending_messages
from tests.support.until import until
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.messages import Cancel, ChildEnded
from tongyao.protocol.model.process import Phase
from tongyao.records.database import Pool, transaction
from tongyao.records.process.journal import Journal
from tongyao.records.process.lineage import cancel_children
from tongyao.records.process.process_rows import BranchCancelled, NewProcess, Processes, ProcessUnknown


async def child_of(pool: Pool, parent: str, name: str) -> str:
    new = NewProcess(id=f"{parent}.{name}", demander="d", language="en", intent_text_id=None, parent_id=parent, depth=1)
    return (await Processes(pool).create(new)).id


def last(process: str, phase: Phase, seq: int = 1) -> Outbox:
    event = Event(seq=seq, kind=EventKind.PROCESS_ENDED, at=NOON, data={"outcome": phase.value})
    snapshot = Snapshot(process_id=process, seq=seq, phase=phase, round=1, waiting=False)
    return Outbox(snapshot=snapshot, events=(event,) if phase.ended else ())


async def ends(pool: Pool, parent: str) -> list[tuple[str, str]]:
    """(child, outcome) of every end that the parent is told."""
    told = [one.message for one in await pending_messages(pool, parent)]
    return [(one.child, one.outcome) for one in told if isinstance(one, ChildEnded)]


async def test_a_childs_end_is_told_to_its_parent_once(pool: Pool, announce: Announce) -> None:
    parent, journal = await announce(), Journal(pool)
    child = await child_of(pool, parent, "1-1")
    await journal.write(last(child, Phase.CRYSTALLIZING), "run")
    assert await ends(pool, parent) == []
    for _ in range(2):
        await journal.write(last(child, Phase.COMPLETED, 2), "run")
    assert await ends(pool, parent) == [(child, "completed")]
    (message,) = await pending_messages(pool, parent)
    assert (message.lane, message.number, message.author.role) == (child, 1, "child")


async def test_an_end_that_the_child_could_not_tell_is_told_too(pool: Pool, announce: Announce) -> None:
    parent, journal = await announce(), Journal(pool)
    child = await child_of(pool, parent, "1-1")
    await asyncio.gather(*(journal.set_ended(child, "failed") for _ in range(3)))
    assert await ends(pool, parent) == [(child, "failed")]
    await journal.write(last(child, Phase.CRYSTALLIZING), "run")
    await journal.write(last(child, Phase.COMPLETED, 2), "run")
    assert await ends(pool, parent) == [(child, "failed"), (child, "completed")], "it was given up and went on"


async def test_a_process_without_a_parent_ends_by_itself(pool: Pool, announce: Announce) -> None:
    process = await announce()
    await Journal(pool).write(last(process, Phase.COMPLETED), "run")
    assert (await Processes(pool).get(process)).outcome == "completed"


async def test_a_cancelled_branch_takes_its_open_children_along(pool: Pool, announce: Announce) -> None:
    parent, journal = await announce(), Journal(pool)
    running, ended, never_started = [await child_of(pool, parent, name) for name in ("1-1", "1-2", "1-3")]
    await journal.write(last(running, Phase.DECIDING), "run")
    await journal.write(last(ended, Phase.COMPLETED), "run")
    for _ in range(2):
        assert await cancel_children(pool, parent) == (running, never_started)
    for child in (running, never_started):
        (sent,) = await pending_messages(pool, child)
        assert isinstance(sent.message, Cancel) and sent.message.branch
        assert (sent.lane, sent.author.role) == ("operator/control", "operator")
    assert await pending_messages(pool, ended) == []


async def test_after_its_branch_was_cancelled_a_process_announces_no_child(pool: Pool, announce: Announce) -> None:
    parent = await announce()
    await cancel_children(pool, parent)
    with pytest.raises(BranchCancelled, match=parent):
        await child_of(pool, parent, "1-1")


async def test_a_child_that_is_just_being_announced_is_cancelled_too(pool: Pool, announce: Announce) -> None:
    parent = await announce()
    async with transaction(pool) as announcing:
        await announcing.execute("SELECT 1 FROM processes WHERE id = %s FOR SHARE", [parent])
        cancelling = asyncio.create_task(cancel_children(pool, parent))
        await _until_waiting(pool)
        await announcing.execute(
            """INSERT INTO processes (id, demander, root_id, parent_id, phase, language)
               VALUES (%s, 'd', %s, %s, 'confirming', 'en')""",
            [f"{parent}.1-1", parent, parent],
        )
    assert await cancelling == (f"{parent}.1-1",)


async def test_children_of_nobody_cannot_be_cancelled(pool: Pool, new_id: NewId) -> None:
    with pytest.raises(ProcessUnknown):
        await cancel_children(pool, new_id("process"))


async def _until_waiting(pool: Pool) -> None:
    """Return when somebody waits for a lock on a process."""

    async def somebody_waits() -> int:
        async with pool.connection() as connection:
            found = await connection.execute(
                """SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%branch_cancelled%'
                       AND pid <> pg_backend_pid() AND datname = current_database()"""
            )
            return found.rowcount

    await until(somebody_waits)
