"""Builds the Highway index of a profile version, level by level. A retry continues where an attempt stopped."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tongyao.protocol.contracts.process import Readable
    from tongyao.protocol.contracts.recitation import (
        RECITATION,
        RECITATION_PROGRESS,
        RECITE_LEVEL,
        RecitationInput,
        RecitationProgress,
    )

MOST_LEVELS = 12
"""Limit of executed levels, more than twice the number of levels, because a retry can repeat levels."""


@workflow.defn(name=RECITATION)
class Recitation:
    """Start it with the id `RecitationInput.workflow_id`, so that there is one workflow per profile version."""

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
        """Return the progress."""
        return self._progress
