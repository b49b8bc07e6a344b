"""Where records and workflows came apart is found from the records alone."""

from __future__ import annotations

from tests.records.conftest import Announce
from tests.records.process.test_journal import outbox
from tests.records.test_ledger import claim
from tongyao.llm.engine import CallKey
from tongyao.records.database import Pool, session
from tongyao.records.model_calls import Ledger
from tongyao.records.process.journal import Journal
from tongyao.records.process.process_rows import Processes
from tongyao.records.reconcile import Drift, Reconciliation


def ids(drifts: list[Drift]) -> set[str]:
    return {drift.id for drift in drifts}


async def test_what_was_announced_and_never_started_is_found(pool: Pool, announce: Announce) -> None:
    look, waiting, marked, wrote, ended = Reconciliation(pool), *[await announce() for _ in range(4)]
    await Processes(pool).mark_started(marked)
    await Journal(pool).write(outbox(wrote, 1, 1), "run")
    await Journal(pool).set_ended(ended, "failed")
    assert ids(await look.never_started()) & {waiting, marked, wrote, ended} == {waiting}
    assert ids(await look.never_started(older_than=3600)) & {waiting} == set()


async def test_what_started_and_went_silent_is_found_by_age(pool: Pool, announce: Announce) -> None:
    look, old, young = Reconciliation(pool), await announce(), await announce()
    for process in (old, young):
        await Journal(pool).write(outbox(process, 1, 2), "run")
    async with session(pool) as connection:
        await connection.execute("UPDATE processes SET updated_at = now() - interval '2 hours' WHERE id = %s", [old])
    silent = await look.silent(older_than=3600)
    assert ids(silent) & {old, young} == {old}
    (drift,) = [drift for drift in silent if drift.id == old]
    assert (drift.seq, drift.events) == (2, 2)
    assert 7200 <= drift.idle_seconds < 7300


async def test_transitions_that_never_arrived_are_found(pool: Pool, announce: Announce) -> None:
    look, whole, holed = Reconciliation(pool), await announce(), await announce()
    await Journal(pool).write(outbox(whole, 1, 3), "run")
    await Journal(pool).write(outbox(holed, 1, 1), "run")
    await Journal(pool).write(outbox(holed, 3, 3), "run")
    assert ids(await look.with_holes()) & {whole, holed} == {holed}
    await Journal(pool).write(outbox(holed, 2, 2), "run")
    assert ids(await look.with_holes()) & {whole, holed} == set()


async def test_calls_that_nobody_will_come_back_for_are_orphaned(pool: Pool, announce: Announce) -> None:
    ledger, ended, running = Ledger(pool), await announce(), await announce()
    await Journal(pool).set_ended(ended, "failed")
    for process in (ended, running):  # a step that had not heard of the end claims its call after it
        await claim(ledger, CallKey(process, "plan"))
    assert await Reconciliation(pool).orphaned_calls() >= 1
    assert [call.state for call in await ledger.calls(ended)] == ["orphaned"]
    assert [call.state for call in await ledger.calls(running)] == ["claimed"]
