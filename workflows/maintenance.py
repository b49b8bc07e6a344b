"""One workflow for each duty of maintenance, started by its schedule (docs/operations.md §11). Each runs one step and ends."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tongyao.protocol.contracts.maintenance import MAINTAIN, PURPOSES, WORKFLOWS, Duty, DutyInput, DutyReport
    from tongyao.protocol.contracts.readable import Readable

BOUND = timedelta(minutes=30)
"""Time-out of one try. The next run finds what is left."""


async def _run(duty: Duty) -> DutyReport:
    workflow.set_current_details(PURPOSES[duty])
    report: DutyReport = await workflow.execute_activity(
        MAINTAIN.name,
        DutyInput(duty=duty),
        result_type=DutyReport,
        start_to_close_timeout=BOUND,
        heartbeat_timeout=timedelta(seconds=60),
        retry_policy=RetryPolicy(initial_interval=timedelta(seconds=10), maximum_attempts=3),
        summary=Readable(PURPOSES[duty]),
    )
    workflow.set_current_details(", ".join(f"{name}: {count}" for name, count in report.counts.items()))
    return report


@workflow.defn(name=WORKFLOWS[Duty.SWEEP])
class Sweep:
    @workflow.run
    async def run(self) -> DutyReport:
        return await _run(Duty.SWEEP)


@workflow.defn(name=WORKFLOWS[Duty.RECONCILE])
class Reconcile:
    @workflow.run
    async def run(self) -> DutyReport:
        return await _run(Duty.RECONCILE)


@workflow.defn(name=WORKFLOWS[Duty.ERASURES])
class FinishErasures:
    @workflow.run
    async def run(self) -> DutyReport:
        return await _run(Duty.ERASURES)


@workflow.defn(name=WORKFLOWS[Duty.RETENTION])
class Retention:
    @workflow.run
    async def run(self) -> DutyReport:
        return await _run(Duty.RETENTION)


@workflow.defn(name=WORKFLOWS[Duty.BACKUP])
class BackupCheck:
    @workflow.run
    async def run(self) -> DutyReport:
        return await _run(Duty.BACKUP)


@workflow.defn(name=WORKFLOWS[Duty.STANDING])
class HoldStandingTensions:
    @workflow.run
    async def run(self) -> DutyReport:
        return await _run(Duty.STANDING)


MAINTENANCE = [Sweep, Reconcile, FinishErasures, Retention, BackupCheck, HoldStandingTensions]
