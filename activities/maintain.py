"""Runs one maintenance duty (docs/operations.md §11). The implementations are passed in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from tongyao.protocol.contracts.maintenance import MAINTAIN, Duty, DutyInput, DutyReport
from tongyao.records.maintenance import DutyFailed, DutyLog

RunDuty = Callable[[], Awaitable[DutyReport]]


class Maintaining:
    """`duties`: the function of each duty. The result of a run is stored for metrics and the doctor."""

    def __init__(self, duties: Mapping[Duty, RunDuty], log: DutyLog) -> None:
        self._duties = duties
        self._log = log

    @activity.defn(name=MAINTAIN.name)
    async def maintain(self, what: DutyInput) -> DutyReport:
        """Raises `ApplicationError`, which is not retried, for a finding that only an operator can repair."""
        try:
            async with heartbeats():
                report = await self._duties[what.duty]()
        except DutyFailed as error:
            await self._log.failed(what.duty, error.code)
            raise ApplicationError(str(error), type=error.code, non_retryable=True) from None
        except Exception as error:
            await self._log.failed(what.duty, type(error).__name__)
            raise
        await self._log.succeeded(what.duty, report.counts)
        return report
