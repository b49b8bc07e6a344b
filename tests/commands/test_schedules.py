"""Duties of maintenance run by Temporal Schedules on a real server, payloads encrypted (docs/operations.md §11)."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, ScheduleActionExecutionStartWorkflow, ScheduleOverlapPolicy
from temporalio.service import RPCError, RPCStatusCode

from tests.commands.command_line import room, tongyao
from tests.commands.conftest import MASTER_KEY, encrypting
from tests.records.test_ledger import claim
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tongyao.app.operators.maintenance import delete_duty_histories
from tongyao.app.operators.schedules import ensure_schedules
from tongyao.llm.engine import CallKey
from tongyao.protocol.contracts.maintenance import MAINTENANCE, PURPOSES, Duty, schedule_id
from tongyao.records.database import session
from tongyao.records.maintenance import Backups, DutyLog, DutyRow
from tongyao.records.privacy.erasure import Erasing
from tongyao.records.privacy.keys import Keyring
from tongyao.runtime.observability import metrics
from tongyao.runtime.settings import MaintenanceSettings
from tongyao.runtime.temporal.payload_codec import ENCODING


@pytest.fixture
async def prepared(
    temporal: Client, fresh_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stack]:
    """An installation as `tongyao prepare` leaves it, whose backups may be an hour old."""
    for name, value in {
        "DATABASE_URL": fresh_database_url,
        "TEMPORAL_ADDRESS": temporal.service_client.config.target_host,
        "TONGYAO_HOME": str(tmp_path),
        "TONGYAO_MASTER_KEY": MASTER_KEY,
    }.items():
        monkeypatch.setenv(name, value)
    client, keys = await encrypting(temporal), Keyring.read(MASTER_KEY)
    done = await tongyao("prepare")
    assert done.exit_code == 0, done.output
    assert "schedules: sweep, reconcile, erasures, retention, backup" in done.stdout
    try:
        async with open_stack(
            client,
            fresh_database_url,
            ScriptedEngine(Script()),
            keys=keys,
            maintenance=MaintenanceSettings(backup_hours=1),
        ) as here:
            yield here
    finally:
        await ensure_schedules(client, {})


async def listed() -> dict[str, dict[str, Any]]:
    done = await tongyao("schedules", "--json")
    assert done.exit_code == 0, done.output
    return {line["duty"]: line for line in json.loads(done.stdout)}


async def run_now(here: Stack, duty: Duty) -> DutyRow:
    """Trigger the schedule, and return how the run ended, once Temporal says that it did."""
    before = (await row_of(here, duty)) or DutyRow(
        duty=duty, succeeded_at=None, failed_at=None, failures=0, error="", counts={}, success_age=None
    )
    handle = here.client.get_schedule_handle(schedule_id(duty))
    taken = (await handle.describe()).info.num_actions

    async def ended() -> bool:
        row, described = await row_of(here, duty), await handle.describe()
        changed = row is not None and (row.succeeded_at, row.failed_at) != (before.succeeded_at, before.failed_at)
        return changed and described.info.num_actions > taken and not described.info.running_actions

    for _ in range(3):  # Temporal takes two triggers within one second for one
        await handle.trigger(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
        with suppress(AssertionError):
            await until(ended, seconds=20)
            break
    row = await row_of(here, duty)
    assert row is not None
    return row


async def row_of(here: Stack, duty: Duty) -> DutyRow | None:
    rows = {row.duty: row for row in await DutyLog(here.repositories.pool).rows()}
    return rows.get(duty.value)


async def test_a_schedule_skips_what_overlaps_catches_up_shortly_and_says_what_it_is_for(prepared: Stack) -> None:
    assert set(await listed()) == {duty.value for duty in Duty}
    for duty in Duty:
        schedule = (await prepared.client.get_schedule_handle(schedule_id(duty)).describe()).schedule
        assert schedule.policy.overlap is ScheduleOverlapPolicy.SKIP
        assert schedule.policy.catchup_window == timedelta(minutes=10)
        assert schedule.spec.jitter
        assert schedule.state.note == PURPOSES[duty]
        assert getattr(schedule.action, "args", None) == [], (
            "an encrypted input could not be read after its key was retired"
        )


async def test_what_an_operator_paused_stays_paused_and_what_is_turned_off_goes(
    prepared: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    await DutyLog(prepared.repositories.pool).succeeded(Duty.ERASURES, {})
    paused = await tongyao("schedules", "--pause", "sweep", "--json")
    assert paused.exit_code == 0, paused.output
    monkeypatch.setenv("TONGYAO_MAINTENANCE__ERASURES_MINUTES", "0")
    monkeypatch.setenv("TONGYAO_MAINTENANCE__SWEEP_MINUTES", "7")
    again = await tongyao("prepare")
    assert again.exit_code == 0, again.output

    lines = await listed()
    assert "erasures" not in lines
    assert await row_of(prepared, Duty.ERASURES) is None, "nothing watches for its next run"
    assert lines["sweep"]["paused"] and "paused by" in lines["sweep"]["note"] and lines["sweep"]["next"] is None
    assert lines["sweep"]["every_seconds"] == 7 * 60

    resumed = await tongyao("schedules", "--resume", "sweep")
    assert resumed.exit_code == 0, resumed.output
    assert not (await listed())["sweep"]["paused"]
    unknown = await tongyao("schedules", "--pause", "erasures")
    assert unknown.exit_code != 0


async def test_reconcile_closes_what_ended_behind_the_records_and_its_history_is_encrypted(
    prepared: Stack, temporal: Client
) -> None:
    process, _ = await room(prepared)
    await prepared.handle(process).terminate()
    async with session(prepared.repositories.pool) as connection:
        await connection.execute("UPDATE processes SET updated_at = now() - interval '1 hour'")

    row = await run_now(prepared, Duty.RECONCILE)

    assert row.counts["ended_outside"] == 1 and row.failures == 0
    assert (await prepared.repositories.processes.get(process)).phase == "cancelled"
    line = (await listed())["reconcile"]
    assert line["result"] == "completed" and line["counts"]["ended_outside"] == 1
    action = (await prepared.client.get_schedule_handle(schedule_id(Duty.RECONCILE)).describe()).info.recent_actions[-1]
    assert isinstance(action.action, ScheduleActionExecutionStartWorkflow)
    history = await temporal.get_workflow_handle(action.action.workflow_id).fetch_history()
    result = history.events[-1].workflow_execution_completed_event_attributes.result.payloads[0]
    assert result.metadata["encoding"] == ENCODING
    metrics.show_duties(await DutyLog(prepared.repositories.pool).rows(), None)
    labels = {"duty": "reconcile", "what": "ended_outside"}
    assert metrics.REGISTRY.get_sample_value("tongyao_duty_found", labels) == 1


async def test_sweep_orphans_calls_that_nobody_comes_back_for(prepared: Stack) -> None:
    process, _ = await room(prepared)
    await prepared.say(process, "cancel")
    await prepared.until(process, "cancelled")
    await claim(prepared.repositories.ledger, CallKey(process, "plan"))
    assert (await run_now(prepared, Duty.SWEEP)).counts["orphaned_calls"] == 1
    [call] = [one for one in await prepared.repositories.ledger.calls(process) if one.step == "plan"]
    assert call.state == "orphaned"


async def test_an_interrupted_erasure_is_finished(prepared: Stack) -> None:
    [person] = await prepared.people({"ada": "I repair tide gauges. I can lend a workshop."})
    erasing = Erasing(prepared.repositories.pool)
    await erasing.begin(person)
    assert (await run_now(prepared, Duty.ERASURES)).counts == {"people": 1, "histories_deleted": 0}
    assert await erasing.unfinished() == []


async def test_retention_deletes_old_rows_and_leaves_the_rest(prepared: Stack) -> None:
    pool = prepared.repositories.pool
    async with session(pool) as connection:
        for days in (1, 200):
            await connection.execute(
                """INSERT INTO tokens (id, sha256, kind, role, person, expires_at)
                   VALUES (%(id)s, %(id)s, 'session', 'person', 'ada', now() - make_interval(days => %(days)s))""",
                {"id": f"session-{days}", "days": days},
            )
            await connection.execute(
                """INSERT INTO notifications (id, source, person, channel, about, state, ended_at)
                   VALUES (%s, %s, 'ada', 'log', '{}', 'sent', now() - make_interval(days => %s))""",
                [uuid.uuid4(), f"test/{days}", days],
            )
        await connection.execute(
            """INSERT INTO tokens (id, sha256, kind, role, person, label, revoked_at)
               VALUES ('owner', 'owner', 'bearer', 'person', 'ada', 'owner', now() - interval '200 days'),
                      ('phone', 'phone', 'bearer', 'person', 'ada', 'phone', now() - interval '200 days')"""
        )
    counts = (await run_now(prepared, Duty.RETENTION)).counts
    assert (counts["sessions"], counts["tokens"], counts["notifications"], counts["drafts"]) == (1, 1, 1, 0)
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT id FROM tokens ORDER BY id")
        assert [row["id"] for row in await cursor.fetchall()] == ["owner", "session-1"]


async def test_a_backup_that_is_missing_or_too_old_fails_its_duty_until_one_is_noted(
    prepared: Stack, tmp_path: Path
) -> None:
    missing = await run_now(prepared, Duty.BACKUP)
    assert (missing.failures, missing.error) == (1, "no_backup")
    line = (await listed())["backup"]
    assert line["result"] == "failed" and line["error"] == "no_backup"

    (tmp_path / "notes.dump").write_text("not a dump")
    refused = await tongyao("note-backup", str(tmp_path / "notes.dump"))
    assert refused.exit_code == 2 and "pg_dump" in refused.stderr
    (tmp_path / "tongyao.dump").write_bytes(b"PGDMP" + bytes(100))
    noted = await tongyao("note-backup", str(tmp_path / "tongyao.dump"))
    assert noted.exit_code == 0, noted.output
    fresh = await run_now(prepared, Duty.BACKUP)
    assert (fresh.failures, fresh.counts) == (0, {"noted": 1, "hours": 0})

    async with session(prepared.repositories.pool) as connection:
        await connection.execute("UPDATE backups SET at = now() - interval '2 hours'")
    old = await run_now(prepared, Duty.BACKUP)
    assert (old.failures, old.error) == (1, "backup_too_old")
    last = await Backups(prepared.repositories.pool).last()
    assert last is not None and last.bytes == 105


async def test_histories_of_duties_are_deleted_and_those_of_processes_stay(prepared: Stack) -> None:
    process, _ = await room(prepared)
    await run_now(prepared, Duty.SWEEP)
    query = f'WorkflowType = "{MAINTENANCE}" AND ExecutionStatus != "Running"'

    async def seen() -> bool:
        return (await prepared.client.count_workflows(query)).count > 0

    await until(seen)
    found = [one async for one in prepared.client.list_workflows(query)]
    assert await delete_duty_histories(prepared.client, days=-1) >= len(found)

    async def gone() -> bool:
        try:
            await prepared.client.get_workflow_handle(found[0].id, run_id=found[0].run_id).describe()
        except RPCError as error:
            return error.status is RPCStatusCode.NOT_FOUND
        return False

    await until(gone)
    assert (await prepared.handle(process).describe()).id == process
