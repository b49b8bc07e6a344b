"""Runs one duty of maintenance (docs/operations.md §11). Its schedule starts this workflow, which runs one step."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tongyao.protocol.contracts.maintenance import (
        MAINTAIN,
        MAINTENANCE,
        PURPOSES,
        DutyInput,
        DutyReport,
        duty_of,
    )
    from tongyao.protocol.contracts.process import Readable

BOUND = timedelta(minutes=30)
"""Timeout of one attempt. The next run does the remaining work."""


@workflow.defn(name=MAINTENANCE)
class Maintenance:
    """The workflow of all duties. Its id names the duty."""

    @workflow.run
    async def run(self) -> DutyReport:
        duty = duty_of(workflow.info().workflow_id)
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
