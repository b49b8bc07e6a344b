"""Checks a deadline that has passed: undelivered messages, and times without a gateway (docs/protocol.md §3.3)."""

from __future__ import annotations

from temporalio import activity

from activities.record import write_outbox
from tongyao.protocol.contracts.process import CHECK_DEADLINE, CheckDeadlineInput, CheckDeadlineOutput
from tongyao.records.repositories import Repositories


class DeadlineChecks:
    def __init__(self, repositories: Repositories) -> None:
        self._library = repositories

    @activity.defn(name=CHECK_DEADLINE.name)
    async def check_deadline(self, what: CheckDeadlineInput) -> CheckDeadlineOutput:
        """Look for stored messages of these lanes without a verdict, and for how long no gateway was open since `since`.

        Messages that were set aside are not waited for. Writes nothing but the outbox.
        """
        repositories = self._library
        await write_outbox(repositories, what)
        return CheckDeadlineOutput(
            undelivered=await repositories.messages.undelivered(what.process_id, what.lanes),
            shut_seconds=await repositories.door.shut_seconds(what.process_id, what.since),
        )
