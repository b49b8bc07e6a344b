"""The workflows other than the process: maintenance duties (docs/operations.md §11), recitation (docs/highway.md),
re-indexing (docs/field.md). A duty's schedule starts its workflow, which runs one step."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tongyao.protocol.contracts.maintenance import (
        BATCH,
        FILL_INDEX,
        MAINTAIN,
        MAINTENANCE,
        OPEN_INDEX,
        PURPOSES,
        RECITATION,
        RECITATION_PROGRESS,
        RECITE_LEVEL,
        REINDEX,
        REINDEX_PROGRESS,
        SWITCH_INDEX,
        DutyInput,
        DutyReport,
        FillInput,
        RecitationInput,
        RecitationProgress,
        ReindexInput,
        ReindexProgress,
        duty_of,
    )
    from tongyao.protocol.contracts.process import ActivityContract, Readable

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


MOST_LEVELS = 12
"""Maximum number of executed levels: more than twice the number of levels, because a retry can repeat levels."""


@workflow.defn(name=RECITATION)
class Recitation:
    """Indexes a profile. Start it with the id `RecitationInput.workflow_id`, which permits one workflow per profile
    version."""

    def __init__(self) -> None:
        self._progress = RecitationProgress()

    @workflow.run
    async def run(self, what: RecitationInput) -> RecitationProgress:
        for _ in range(MOST_LEVELS):
            self._progress = await workflow.execute_activity(
                RECITE_LEVEL,
                what,
                result_type=RecitationProgress,
                start_to_close_timeout=timedelta(hours=1),  # time for the vectors of a long profile, on one core
                heartbeat_timeout=timedelta(seconds=30),
                retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1), maximum_attempts=20),
                summary=Readable(f"after {self._progress.level.lower() or 'nothing'}"),
            )
            workflow.set_current_details(f"recited: {self._progress.level.lower()}")
            if self._progress.done:
                break
        return self._progress

    @workflow.query(name=RECITATION_PROGRESS)
    def progress(self) -> RecitationProgress:
        return self._progress


@workflow.defn(name=REINDEX)
class Reindex:
    """Re-indexes a scene. Start it with the id `ReindexInput.workflow_id`. A new run continues from the records."""

    def __init__(self) -> None:
        self._progress = ReindexProgress()

    @workflow.run
    async def run(self, what: ReindexInput) -> ReindexProgress:
        await self._do(OPEN_INDEX, what)
        batch = FillInput(index=self._progress.index, most=BATCH[what.kind])
        await self._fill(what, batch)
        await self._do(SWITCH_INDEX, batch)
        await self._fill(what, batch)  # people who were added during the switch
        return self._progress

    async def _fill(self, what: ReindexInput, batch: FillInput) -> None:
        while True:
            begun = workflow.now()
            await self._do(FILL_INDEX, batch)
            if self._progress.batch == 0:
                return
            if what.per_second is not None:
                rest = timedelta(seconds=self._progress.batch / what.per_second) - (workflow.now() - begun)
                if rest > timedelta(0):
                    await workflow.sleep(rest, summary=Readable(f"at most {what.per_second:g} people a second"))
            if workflow.info().is_continue_as_new_suggested():
                # A live index is filled further. Without `refit`, no new index is made.
                workflow.continue_as_new(what.model_copy(update={"refit": False}) if self._progress.live else what)

    async def _do(self, step: ActivityContract[ReindexInput, ReindexProgress] | ActivityContract[FillInput, ReindexProgress],
                  what: ReindexInput | FillInput) -> None:  # fmt: skip
        self._progress = await workflow.execute_activity(
            step.name,
            what,
            result_type=ReindexProgress,
            start_to_close_timeout=timedelta(minutes=30),
            heartbeat_timeout=timedelta(seconds=60),
            retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1), maximum_attempts=20),
            summary=Readable(f"{self._progress.held} of {self._progress.people}"),
        )
        state = "searched" if self._progress.live else "being filled"
        workflow.set_current_details(
            f"{self._progress.encoder}: {self._progress.held} of {self._progress.people}, {state}"
        )

    @workflow.query(name=REINDEX_PROGRESS)
    def progress(self) -> ReindexProgress:
        return self._progress
