"""Builds a new index of a scene in the background: opens it, fills it in batches, makes it live. Can be resumed."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tongyao.protocol.contracts.process import ActivityContract, Readable
    from tongyao.protocol.contracts.reindex import (
        BATCH,
        FILL_INDEX,
        OPEN_INDEX,
        REINDEX,
        REINDEX_PROGRESS,
        SWITCH_INDEX,
        FillInput,
        ReindexInput,
        ReindexProgress,
    )


@workflow.defn(name=REINDEX)
class Reindex:
    """Start it with the id `ReindexInput.workflow_id`. The progress is in the records, so a new run continues."""

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
                workflow.continue_as_new(what)

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
        """Return the progress."""
        return self._progress
